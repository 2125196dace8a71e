#!/bin/sh
# Says hello, and where it says so. The manifest decides which arguments an agent may send.
set -eu

name=world
shout=no

while [ $# -gt 0 ]; do
  case $1 in
    --name) name=$2; shift 2 ;;
    --shout) shout=yes; shift ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

greeting="Hello, $name!"
if [ "$shout" = yes ]; then
  greeting=$(printf '%s' "$greeting" | tr '[:lower:]' '[:upper:]')
fi
printf '%s\n' "$greeting"
printf 'This is %s, process %s, in %s.\n' "$(uname -s)" "$$" "$(pwd)"
