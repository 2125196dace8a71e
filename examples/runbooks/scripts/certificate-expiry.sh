#!/bin/sh
# Shows when the certificates in a PEM file expire: all of them, a chain has several.
# Ends with 0: all are good for longer than --warn-days. 1: at least one is not. 2: wrong arguments or no
# certificate. 69: openssl is missing.
set -eu
umask 077

file=
warn_days=30

while [ $# -gt 0 ]; do
  case $1 in
    --file) file=$2; shift 2 ;;
    --warn-days) warn_days=$2; shift 2 ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

if ! command -v openssl >/dev/null 2>&1; then
  printf 'openssl is not installed: nothing was checked\n' >&2
  exit 69
fi
if [ ! -r "$file" ]; then
  printf 'cannot read: %s\n' "$file" >&2
  exit 2
fi

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# Only certificates are copied: a key in the same file is left where it is.
awk -v folder="$folder" '
  /^-----BEGIN (TRUSTED )?CERTIFICATE-----/ { count++; inside = 1 }
  inside { print > (folder "/" sprintf("%03d", count) ".pem") }
  /^-----END (TRUSTED )?CERTIFICATE-----/ { inside = 0; close(folder "/" sprintf("%03d", count) ".pem") }
' "$file"

all=0
bad=0
for certificate in "$folder"/*.pem; do
  if [ ! -e "$certificate" ]; then
    printf 'no certificate in %s\n' "$file" >&2
    exit 2
  fi
  all=$((all + 1))
  if ! subject=$(openssl x509 -in "$certificate" -noout -subject 2>/dev/null); then
    printf 'certificate %s of %s cannot be read\n' "$all" "$file" >&2
    exit 2
  fi
  end=$(openssl x509 -in "$certificate" -noout -enddate)
  if ! openssl x509 -in "$certificate" -noout -checkend 0 >/dev/null; then
    state=EXPIRED
    bad=$((bad + 1))
  elif ! openssl x509 -in "$certificate" -noout -checkend "$((warn_days * 86400))" >/dev/null; then
    state=SOON
    bad=$((bad + 1))
  else
    state=GOOD
  fi
  printf '%-8s until %s  %s\n' "$state" "${end#notAfter=}" "$subject"
done
printf '%s of %s certificate(s) expire within %s day(s)\n' "$bad" "$all" "$warn_days"
[ "$bad" -eq 0 ]
