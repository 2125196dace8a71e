#!/bin/sh
# Lists local branches that are merged into a base branch, and what the repository takes on disk.
# With HOUSEKEEPING=delete it deletes those branches and packs the repository.
# Never touches: the base branch, the branch that is checked out anywhere, a branch that is not merged.
set -eu

repository=
base=
limit=50

while [ $# -gt 0 ]; do
  case $1 in
    --repository) repository=$2; shift 2 ;;
    --base) base=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    *) printf 'unknown argument: %s\n' "$1" >&2; exit 2 ;;
  esac
done

if ! command -v git >/dev/null 2>&1; then
  printf 'git is not installed: nothing was done\n' >&2
  exit 69
fi
if [ -z "$repository" ]; then
  printf -- '--repository is missing\n' >&2
  exit 2
fi
if ! git -C "$repository" rev-parse --git-dir >/dev/null 2>&1; then
  printf 'not a git repository: %s\n' "$repository" >&2
  exit 2
fi
if [ -z "$base" ]; then
  base=$(git -C "$repository" symbolic-ref --quiet --short HEAD) || {
    printf 'HEAD is detached: name a base branch\n' >&2
    exit 2
  }
fi
if ! git -C "$repository" show-ref --verify --quiet "refs/heads/$base"; then
  printf 'no such branch: %s\n' "$base" >&2
  exit 2
fi

size() {
  git -C "$repository" count-objects -v | awk '
    $1 == "count:" { loose = $2 }
    $1 == "size:" { kib += $2 }
    $1 == "size-pack:" { kib += $2 }
    END { printf "%d loose object(s), %.1f MiB in all", loose, kib / 1024 }
  '
}

# A line for each merged branch that is checked out nowhere: %(worktreepath) is empty then.
merged=$(git -C "$repository" for-each-ref --merged "refs/heads/$base" \
  --format '%(refname:lstrip=2)%09%(worktreepath)' refs/heads |
  awk -F '\t' -v base="$base" '$1 != base && $2 == "" { print $1 }' | head -n "$limit")

printf 'Repository: %s\nBase branch: %s\nObjects: %s\n' "$repository" "$base" "$(size)"
if [ -z "$merged" ]; then
  printf 'Merged branches: none\n'
else
  printf 'Merged branches:\n'
  printf '%s\n' "$merged" | sed 's/^/  /'
fi

if [ "${HOUSEKEEPING:-report}" != delete ]; then
  printf 'Nothing was changed.\n'
  exit 0
fi

# -d, not -D: git itself refuses a branch that is not merged into HEAD or its upstream.
failed=0
if [ -n "$merged" ]; then
  while IFS= read -r branch; do
    git -C "$repository" branch -d -- "$branch" || failed=$((failed + 1))
  done <<END
$merged
END
fi
git -C "$repository" gc --quiet
printf 'Objects now: %s\n' "$(size)"
if [ "$failed" -gt 0 ]; then
  printf '%s branch(es) were kept by git\n' "$failed" >&2
  exit 1
fi
