#!/bin/sh
# tools/check_floors finds planted faults, names file and line, and passes a house without them.
#
#   test_check_floors.sh PATH_OF_check_floors
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
status=0

put() {         # file, its lines
    mkdir -p "$house/$(dirname "$1")"
    file=$house/$1
    shift
    printf '%s\n' "$@" >"$file"
}
expect_clean() {
    "$check" "$house" || { echo "failed: faults where there are none ($1)"; status=1; }
}
expect() {      # the line that check_floors must print, as a fixed string; and nothing else
    if found=$("$check" "$house"); then echo "failed: passed in spite of: $1"; status=1; fi
    [ "$found" = "$1" ] && return
    printf 'failed: expected\n %s\nfound\n %s\n' "$1" "$found"
    status=1
}

put docs/floors.txt '# floor folder' '0 src/base' '1 src/team' '2 src/halo' '3 src/md/core' \
    '4 src/md/in' '4 src/md/out' '8 apps' 'closed src/team 2' 'closed src/halo 2'
put include/sundog/sundog.h '#include <stdint.h>'
put src/base/status.h '#include "sundog/sundog.h"'
put src/team/team.h '#include "base/status.h"'
put src/halo/plan.h '#include "team/team.h"' '#include "plan_inner.h"'
put src/halo/plan_inner.h ''
put src/halo/fabric/fabric.h '#include "halo/plan.h"'
put src/md/core/box.h '#include "base/status.h"' '#include "sundog/sundog.h"'
put src/md/in/gro.h '#include "md/core/box.h"'
put src/md/out/conf.h '#include "md/core/box.h"'
put apps/run.c '#include "md/in/gro.h"' '#include "run.h"'
put apps/run.h ''
put tests/check.h '#include "sundog/sundog.h"'
put tests/halo/test_plan.c '#include "check.h"' '#include "halo/plan.h"' '#include "team/team.h"'
put tests/md/in/test_gro.c '#include "check.h"' '#include "md/in/gro.h"' '#include "md/core/box.h"'
put tests/apps/test_run.c '#include "check.h"' '#include "md/out/conf.h"'
put examples/ring/ring.c '#include "sundog/sundog.h"'
expect_clean 'the house as built'

plant() {       # file, its lines, then after -- what must be found; the file goes again
    planted=$1
    put "$1" '/* planted */' "$2"
    expect "$3"
    rm "$house/$planted"
}
shut='src/halo is closed above floor 2: use include/sundog instead of'
plant src/md/core/up.c '#include "md/in/gro.h"' \
    'src/md/core/up.c:2: src/md/core (floor 3) may not include src/md/in/gro.h (floor 4)'
plant src/md/in/side.c '  #  include "md/out/conf.h"' \
    'src/md/in/side.c:2: src/md/in (floor 4) may not include src/md/out/conf.h (floor 4)'
plant src/md/core/closed.c '#include "halo/plan.h"' \
    "src/md/core/closed.c:2: $shut src/halo/plan.h"
plant src/team/sees_halo.c '#include "halo/fabric/fabric.h"' \
    'src/team/sees_halo.c:2: src/team (floor 1) may not include src/halo/fabric/fabric.h (floor 2)'
plant apps/team.c '#include "team/team.h"' \
    "apps/team.c:2: src/team${shut#src/halo} src/team/team.h"
plant examples/ring/deep.c '#include "md/core/box.h"' \
    'examples/ring/deep.c:2: examples/ may include only include/, not src/md/core/box.h'
plant tests/md/core/test_up.c '#include "md/in/gro.h"' \
    'tests/md/core/test_up.c:2: src/md/core (floor 3) may not include src/md/in/gro.h (floor 4)'
plant tests/md/in/test_team.c '#include "team/team.h"' \
    "tests/md/in/test_team.c:2: src/team${shut#src/halo} src/team/team.h"
plant include/sundog/inner.h '#include "base/status.h"' \
    'include/sundog/inner.h:2: include/ may include only include/, not src/base/status.h'
plant src/base/dots.c '#include "../team/team.h"' \
    'src/base/dots.c:2: no .. in includes: ../team/team.h'
plant src/base/lost.c '#include "md/nowhere.h"' 'src/base/lost.c:2: found nowhere: md/nowhere.h'
plant src/attic/old.c 'int old;' 'src/attic/old.c:1: its folder is on no floor of docs/floors.txt'
expect_clean 'after the last planted file went'
exit $status
