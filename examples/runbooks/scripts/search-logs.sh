#!/bin/sh
# Finds a word in the log files of one folder. The word is a plain text, not a pattern.
# Ends with 0 whether something was found or not; the last line says how much.
set -eu

folder=fixtures/logs
word=
level=
lines=50
context=0

while [ $# -gt 0 ]; do
  case $1 in
    --folder) folder=$2; shift 2 ;;
    --word) word=$2; shift 2 ;;
    --level) level=$2; shift 2 ;;
    --lines) lines=$2; shift 2 ;;
    --context) context=$2; shift 2 ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

if [ -z "$word" ]; then
  printf -- '--word is missing\n' >&2
  exit 2
fi
if [ ! -d "$folder" ]; then
  printf 'not a directory: %s\n' "$folder" >&2
  exit 2
fi

files=0
found=0
for file in "$folder"/*.log; do
  [ -f "$file" ] || continue
  files=$((files + 1))
  count=$(grep -F -i -- "$word" "$file" | grep -c -F -- "$level" || true)
  [ "$count" -gt 0 ] || continue
  found=$((found + count))
  printf '%s: %s line(s), the last %s at most:\n' "$file" "$count" "$lines"
  if [ "$context" -gt 0 ] && [ -z "$level" ]; then
    grep -n -F -i -C "$context" -- "$word" "$file" | tail -n "$lines"
  else
    grep -n -F -i -- "$word" "$file" | grep -F -- "$level" | tail -n "$lines"
  fi
  printf '\n'
done

if [ "$files" -eq 0 ]; then
  printf 'no .log files in %s\n' "$folder" >&2
  exit 2
fi
printf '%s matching line(s) in %s file(s)\n' "$found" "$files"
