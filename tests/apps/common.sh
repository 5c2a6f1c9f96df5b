#!/bin/sh
# What the tests of the program share; sourced by them with their arguments:
#
#   test_....sh SUNDOG SOURCE_DIR [CASE...]
set -u
sundog=$1
source=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
box=$source/systems/grappa-like/0001.5
water="-c $box/conf.gro -p $box/topol.top"

fail() { echo "FAILED: $*" >&2; failed=1; }

# expect CODE TEXT command...: exit code, and TEXT (basic regular expression) in what it says
expect() {
    code=$1 text=$2
    shift 2
    "$@" >out.txt 2>&1
    got=$?
    [ $got -eq "$code" ] || { fail "exit code $got, not $code: $*"; cat out.txt >&2; }
    grep -q -e "$text" out.txt || { fail "no '$text' in the output of: $*"; cat out.txt >&2; }
}

# The mdp of the tests: everything is written, often.
cat >md.mdp <<END
integrator = md
dt = 0.002
nsteps = 60
nstlist = 10
nstcalcenergy = 10
nstenergy = 10
nstlog = 20
nstxout = 20
nstvout = 20
nstfout = 20
nstxout-compressed = 10
cutoff-scheme = Verlet
coulombtype = reaction-field
rcoulomb = 0.9
epsilon-rf = 0
rvdw = 0.9
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
ld-seed = 1993
constraints = h-bonds
END
sed 's/tcoupl = .*/tcoupl = no/; /tc-grps/d; /tau-t/d; /ref-t/d; /ld-seed/d' md.mdp >nve.mdp
# On the CPU, whatever the machine has; SUNDOG_TEST_DEVICE=gpu: on GPUs (cases that do not count on
# how long a run takes, or where it may be cut).
if [ "${SUNDOG_TEST_DEVICE:-cpu}" = cpu ]; then
    CUDA_VISIBLE_DEVICES=
    export CUDA_VISIBLE_DEVICES
fi
run="$sundog run -f md.mdp $water -reproducible ${SUNDOG_TEST_DEVICE:+-device $SUNDOG_TEST_DEVICE}"

files='energy.csv ener.edr traj_comp.xtc traj.trr confout.gro'

# same DIR DIR: all results are the same bytes
same() {
    for file in $files; do
        cmp "$1/$file" "$2/$file" >&2 || fail "$1/$file and $2/$file differ"
    done
}

# wait until a file of a running program has some lines
wait_lines() {
    for _ in $(seq 600); do
        [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ] && return
        sleep 0.05
    done
    fail "nothing came in $1"
}

# run_cases DEFAULT -- GIVEN...: the given ones, or all
run_cases() {
    all=$1
    shift 2
    # shellcheck disable=SC2086
    [ $# -gt 0 ] || set -- $all
    for name in "$@"; do
        "case_$name"
        echo "$name done"
    done
    [ $failed -eq 0 ] && echo 'all cases passed'
    exit $failed
}
