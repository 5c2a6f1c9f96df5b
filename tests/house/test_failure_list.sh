#!/bin/sh
# docs/failures.md: each test named there exists, and holds the words of the message.
#
#   test_failure_list.sh SOURCE_DIR
set -eu
cd "$1"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
grep '^| ' docs/failures.md | grep -v '^| what ' >"$list"
[ "$(wc -l <"$list")" -gt 30 ] || { echo 'docs/failures.md has no table'; exit 1; }
status=0
fail() { echo "docs/failures.md: $*"; status=1; }

# source of a ctest test: a C file or script of that name, or a case of the program's tests
source_of() {
    case $1 in
    program_*) grep -l "^case_${1#program_}()" tests/apps/*.sh ;;
    processes_*) grep -l "^case_${1#processes_}()" tests/apps/test_processes.sh ;;
    tests/*) [ -d "$1" ] && echo "$1" ;;
    *) find tests -name "$1.c" -o -name "$1.sh" ;;
    esac
}
while IFS='|' read -r _ what message tests _; do
    words=$(echo "$message" | sed -n 's/^ `\(.*\)` $/\1/p')
    for name in $(echo "$tests" | tr -d '`,'); do
        source=$(source_of "$name") || true
        [ -n "$source" ] || { fail "there is no test $name ($what)"; continue; }
        [ -z "$words" ] || sed 's/\\"/"/g' "$source" | grep -qF -e "$words" ||
            fail "$name does not expect \"$words\" ($what)"
    done
done <"$list"
exit $status
