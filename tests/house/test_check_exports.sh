#!/bin/sh
# tools/check_exports passes a library that exports what its header declares, and names a function
# that is missing and one that is too many.
#
#   test_check_exports.sh PATH_OF_check_exports CC
set -eu
check=$1
CC=$2
export CC
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
status=0

mkdir -p "$house/tools" "$house/include/sundog"
cp "$check" "$house/tools/check_exports"
cd "$house"
cat >include/sundog/sundog.h <<'END'
int sundog_one(void);           /* sundog_comment() is no declaration */
int sundog_two(int
               a);
END
library() {     # the functions to export
    for name in "$@"; do echo "int $name(void); int $name(void) { return 0; }"; done >lib.c
    "$CC" -shared -fPIC -o lib.so lib.c
}
expect() {      # exit code, what is printed
    code=0
    found=$(tools/check_exports lib.so 2>&1) || code=$?
    [ "$code" -eq "$1" ] && [ "$found" = "$2" ] && return
    printf 'failed: expected %s and\n%s\ngot %s and\n%s\n' "$1" "$2" "$code" "$found"
    status=1
}

library sundog_one sundog_two
expect 0 ''
library sundog_one
expect 1 'lib.so lacks sundog_two'
library sundog_one sundog_two base_fail
expect 1 'lib.so exports undeclared base_fail'
library sundog_two sundog_three
expect 1 'lib.so lacks sundog_one
lib.so exports undeclared sundog_three'
echo 'int x;' >include/sundog/sundog.h
library sundog_one
code=0
tools/check_exports lib.so >/dev/null 2>&1 || code=$?
[ "$code" -ne 0 ] || { echo 'failed: passed a header without functions'; status=1; }
exit $status
