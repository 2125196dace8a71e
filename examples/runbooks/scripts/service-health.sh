#!/usr/bin/env bash
# Asks whether a service answers: an HTTP URL (needs curl) or a TCP port (bash alone).
# Ends with 0: healthy. 1: not healthy. 2: wrong arguments. 69: it could not be checked at all.
set -eu

url=
host=127.0.0.1
port=
seconds=5
status=200

while [ $# -gt 0 ]; do
  case $1 in
    --url) url=$2; shift 2 ;;
    --host) host=$2; shift 2 ;;
    --port) port=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --status) status=$2; shift 2 ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

if [ -n "$url" ] && [ -n "$port" ]; then
  printf 'give url or port, not both\n' >&2
  exit 2
fi

check_http() {
  if ! command -v curl >/dev/null 2>&1; then
    printf 'curl is not installed: HTTP cannot be checked (a TCP port can)\n' >&2
    exit 69
  fi
  local answer code time
  # Redirects are not followed: they could lead anywhere.
  if ! answer=$(curl --silent --show-error --output /dev/null --proto '=http,https' \
    --max-time "$seconds" --write-out '%{http_code} %{time_total}' -- "$url"); then
    printf 'DOWN  %s\n' "$url"
    exit 1
  fi
  code=${answer%% *}
  time=${answer#* }
  if [ "$code" = "$status" ]; then
    printf 'UP    %s  status %s  %s s\n' "$url" "$code" "$time"
  else
    printf 'DOWN  %s  status %s instead of %s  %s s\n' "$url" "$code" "$status" "$time"
    exit 1
  fi
}

check_tcp() {
  # Opening the port may take for ever, so it has a process of its own that can be given up.
  (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null &
  local probe=$! waited=0
  while kill -0 "$probe" 2>/dev/null; do
    if [ "$waited" -ge $((seconds * 10)) ]; then
      kill -KILL "$probe" 2>/dev/null || true
      wait "$probe" 2>/dev/null || true
      printf 'DOWN  %s:%s  no answer within %s s\n' "$host" "$port" "$seconds"
      exit 1
    fi
    sleep 0.1
    waited=$((waited + 1))
  done
  if wait "$probe"; then
    printf 'UP    %s:%s  accepts connections\n' "$host" "$port"
  else
    printf 'DOWN  %s:%s  refuses connections\n' "$host" "$port"
    exit 1
  fi
}

if [ -n "$url" ]; then
  check_http
elif [ -n "$port" ]; then
  check_tcp
else
  printf 'give url or port\n' >&2
  exit 2
fi
