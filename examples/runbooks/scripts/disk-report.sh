#!/bin/sh
# Shows which file systems are how full, and what is largest below a directory.
# Ends with 1 if --fail-at is given and a file system is that full.
set -eu

min_percent=0
fail_at=
directory=
entries=10

while [ $# -gt 0 ]; do
  case $1 in
    --min-percent) min_percent=$2; shift 2 ;;
    --fail-at) fail_at=$2; shift 2 ;;
    --directory) directory=$2; shift 2 ;;
    --entries) entries=$2; shift 2 ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

if [ -n "$directory" ] && [ ! -d "$directory" ]; then
  printf 'not a directory: %s\n' "$directory" >&2
  exit 2
fi

# df(1) ends with an error if one file system cannot be asked; the others still count.
if ! table=$(df -Pk 2>/dev/null) && [ -z "$table" ]; then
  printf 'df does not answer\n' >&2
  exit 1
fi

printf 'File systems at %s%% or more:\n' "$min_percent"
printf '%s\n' "$table" | awk -v min="$min_percent" '
  NR == 1 { next }
  {
    used = $5; sub(/%/, "", used)
    if (used !~ /^[0-9]+$/ || $2 == 0 || used + 0 < min) next
    mount = $6; for (i = 7; i <= NF; i++) mount = mount " " $i
    printf "  %3d%%  %8.1f GiB free  %s\n", used, $4 / 1048576, mount
    shown++
  }
  END { if (!shown) print "  none" }
'

if [ -n "$directory" ]; then
  printf '\nLargest below %s (same file system):\n' "$directory"
  # What may not be read is left out by du(1), which says so on standard error and in its exit code.
  sizes=$(du -xk -d 1 "$directory") || printf 'some of it could not be read\n' >&2
  printf '%s\n' "$sizes" | sort -rn | awk -F '\t' -v entries="$entries" '
    NR <= entries + 1 { printf "  %9.1f MiB  %s\n", $1 / 1024, $2 }
  '
fi

if [ -n "$fail_at" ]; then
  full=$(printf '%s\n' "$table" | awk -v limit="$fail_at" '
    NR > 1 { used = $5; sub(/%/, "", used); if (used ~ /^[0-9]+$/ && $2 > 0 && used + 0 >= limit) count++ }
    END { print count + 0 }
  ')
  if [ "$full" -gt 0 ]; then
    printf '\n%s file system(s) at %s%% or more\n' "$full" "$fail_at" >&2
    exit 1
  fi
fi
