#!/bin/sh
# tools/check_text finds planted faults, each under its rule with file and line, and passes a house
# without them.
#
#   test_check_text.sh PATH_OF_check_text
set -eu
check=$1
command -v git >/dev/null || { echo 'skipped: no git'; exit 77; }
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
status=0
tab=$(printf '\t')
cr=$(printf '\r')

mkdir -p "$house/tools" "$house/src" "$house/docs" "$house/systems"
cp "$check" "$house/tools/check_text"
cd "$house"
git init -q .

expect_clean() {
    git add -A
    found=$(tools/check_text) || { printf 'failed: faults (%s):\n%s\n' "$1" "$found"; status=1; }
}
plant() {       # file, contents (for printf), the rule, the line with its place
    mkdir -p "$(dirname "$1")"
    # shellcheck disable=SC2059
    printf "$2" >"$1"
    git add -A
    if found=$(tools/check_text); then
        echo "failed: passed in spite of $3 in $1"
        status=1
    fi
    wanted=$(printf '%s:\n%s' "$3" "$4")
    [ "$found" = "$wanted" ] ||
        { printf 'failed: expected\n%s\nfound\n%s\n' "$wanted" "$found"; status=1; }
    rm "$1"
}

row50='12345678901234567890123456789012345678901234567890'
printf 'int a;\n' >src/a.c
printf '# Title\n\n[a](src/a.c) [web](https://example.org) [here](#title)\n' >README.md
printf '[up](../README.md)\n' >docs/more.md
printf 'all:\n\techo\n' >Makefile
printf 'x %s%s%s\t\n' "$row50" "$row50" "$row50" >systems/conf.gro
printf '%s%s\n' "$row50" "$row50" >src/just_100.c
expect_clean 'the house as built'

plant src/b.c 'int b;\nint c; \n' 'trailing blanks' 'src/b.c:2:int c; '
plant docs/b.md "a$tab\\n" 'trailing blanks' "docs/b.md:1:a$tab"
plant src/b.h "int${tab}b;\\n" 'tabs' "src/b.h:1:int${tab}b;"
plant src/b.c "$row50${row50}1\\n" 'more than 100 columns' "src/b.c:1:$row50${row50}1"
plant src/b.txt "a${cr}b\\n" 'carriage returns' 'src/b.txt'
plant src/b.c '/* TO''DO: write */\n' 'unfinished marks' 'src/b.c:1:/* TO''DO: write */'
plant docs/b.txt 'a FIX''ME\n' 'unfinished marks' 'docs/b.txt:1:a FIX''ME'
plant docs/b.md 'in /ro''ot/x\n' 'machine paths' 'docs/b.md:1:in /ro''ot/x'
plant src/b.c '// "/ho''me/me"\n' 'machine paths' 'src/b.c:1:// "/ho''me/me"'
plant docs/b.md 'see [this](gone.md) now\n' 'links to nothing' 'docs/b.md: gone.md'
plant src/b.c 'int b;' 'no newline at the end' 'src/b.c'
expect_clean 'after the last planted file went'
exit $status
