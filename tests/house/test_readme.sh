#!/bin/sh
# The lines of C in README.md compile against the public header as it is.
#
#   test_readme.sh SOURCE_DIR COMPILER
set -eu
program=$(mktemp --suffix=.c)
trap 'rm -f "$program"' EXIT
{
    echo '#include "sundog/sundog.h"'
    echo 'void compute_inside(double (*x)[3], sundog_idx n_owned);'
    echo 'void compute_border(double (*x)[3], sundog_idx first_ghost, sundog_idx n_ghost);'
    echo 'void snippet(sundog_team *team, double (*x)[3], sundog_idx n_owned, int left, int right,'
    echo '             sundog_idx n, const sundog_idx *rows, int n_steps);'
    echo 'void snippet(sundog_team *team, double (*x)[3], sundog_idx n_owned, int left, int right,'
    echo '             sundog_idx n, const sundog_idx *rows, int n_steps)'
    echo '{ sundog_plan *plan; sundog_exchange *exchange; sundog_idx first_ghost, n_ghost;'
    sed -n '/^```c$/,/^```$/{/^```/d;p;}' "$1/README.md"
    echo '}'
} >"$program"
grep -q sundog_forward_begin "$program" || { echo 'README.md has no lines of C'; exit 1; }
"$2" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$1/include" "$program"
