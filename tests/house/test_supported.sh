#!/bin/sh
# The table of what is supported in README.md says what the program says: the rows that the tables
# of the readers make (`sundog info -formats`), the options of `sundog run`, the files it writes.
#
#   test_supported.sh SUNDOG README [-write]
#
# -write puts the rows as they are now in place of those that differ.
set -eu
sundog=$1
readme=$2
write=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$sundog" info -formats >"$work/rows"
"$sundog" run --help | grep -oE '^  -[A-Za-z]+' | awk '
    { list = list (NR > 1 ? ", " : "") $1 }
    END { print "| options of `sundog run` | " list " |" }' >>"$work/rows"
[ "$(wc -l <"$work/rows")" -eq 4 ] || { echo 'failed: not 4 rows'; cat "$work/rows"; exit 1; }
status=0
while IFS= read -r row; do
    grep -qxF -e "$row" "$readme" && continue
    label=${row#| }
    label="| ${label%% | *} | "
    if [ "$write" = -write ]; then
        awk -v row="$row" -v label="$label" '
            index($0, label) == 1 { $0 = row } { print }' "$readme" >"$work/readme"
        cp "$work/readme" "$readme"
        continue
    fi
    printf 'README.md differs from the program (%s -write puts it right), which says:\n%s\n' \
        "$0 $sundog $readme" "$row"
    status=1
done <"$work/rows"
exit $status
