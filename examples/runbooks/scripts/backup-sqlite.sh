#!/bin/sh
# Makes a consistent copy of an SQLite database while it is in use, checks the copy, and keeps the newest
# few. Ends with 0: there is a new backup. 1: it failed. 2: wrong arguments. 69: no program that can do it.
set -eu
umask 077

database=
directory=
keep=7

while [ $# -gt 0 ]; do
  case $1 in
    --database) database=$2; shift 2 ;;
    --directory) directory=$2; shift 2 ;;
    --keep) keep=$2; shift 2 ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

if [ -z "$database" ] || [ -z "$directory" ]; then
  printf -- '--database and --directory are needed\n' >&2
  exit 2
fi
# Without this, an SQLite program would make an empty database and back that up.
if [ ! -f "$database" ]; then
  printf 'no such file: %s\n' "$database" >&2
  exit 2
fi

backup_with_sqlite3() {
  # In the directory, so that no path stands inside the program's own command language.
  (cd "$directory" && sqlite3 -bail -cmd '.timeout 5000' "$database" ".backup '$partial'")
  (cd "$directory" && sqlite3 -bail "$partial" 'PRAGMA integrity_check')
}

backup_with_python() {
  python3 - "$database" "$directory/$partial" <<'PYTHON'
import sqlite3, sys, urllib.parse
source = sqlite3.connect("file:" + urllib.parse.quote(sys.argv[1]) + "?mode=rw", uri=True, timeout=5)
copy = sqlite3.connect(sys.argv[2])
with copy:
    source.backup(copy)
print(copy.execute("PRAGMA integrity_check").fetchone()[0])
copy.close()
PYTHON
}

if command -v sqlite3 >/dev/null 2>&1; then
  way=sqlite3
elif command -v python3 >/dev/null 2>&1 && python3 -c 'import sqlite3' 2>/dev/null; then
  way=python
else
  printf 'neither the program sqlite3 nor python3 with its sqlite3 module is installed: nothing was done\n' >&2
  exit 69
fi

mkdir -p -- "$directory"
name=$(basename -- "$database")
stamp=$(date -u +%Y%m%dT%H%M%SZ)
partial=.$stamp.$$.partial
trap 'rm -f -- "$directory/$partial" "$directory/$partial-journal" "$directory/$partial-wal" "$directory/$partial-shm"' EXIT

if ! verdict=$("backup_with_$way"); then
  printf 'the backup of %s failed; no file was left\n' "$database" >&2
  exit 1
fi
if [ "$verdict" != ok ]; then
  printf 'the copy of %s is damaged: %s\n' "$database" "$verdict" >&2
  exit 1
fi
backup=$name.$stamp.backup
if [ -e "$directory/$backup" ]; then
  printf 'there is a backup of this second already: %s\n' "$directory/$backup" >&2
  exit 1
fi
mv -- "$directory/$partial" "$directory/$backup"
printf 'Backup: %s (%s bytes, integrity ok, made with %s)\n' \
  "$directory/$backup" "$(wc -c <"$directory/$backup" | tr -d ' ')" "$way"

# The names sort by time. Only what this script named so is ever deleted.
set -- "$directory/$name".????????T??????Z.backup
while [ $# -gt "$keep" ]; do
  rm -f -- "$1"
  printf 'Deleted: %s\n' "$1"
  shift
done
printf 'Backups kept: %s\n' "$#"
