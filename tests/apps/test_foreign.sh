#!/bin/sh
# The files that other programs open: gmx check and gmx energy, MDAnalysis and pyedr read what a run
# wrote, on 9, 1500 and 135,000 atoms, with three precisions of the compressed positions.
#
#   test_foreign.sh SUNDOG SOURCE_DIR gmx|python
#
# Skipped, with the reason, where the programs are not installed. python3 is that of PATH, or
# SUNDOG_PYTHON, say of a virtual environment: python3 -m venv V; V/bin/pip install MDAnalysis pyedr
set -u
sundog=$1
source=$2
with=$3
python=${SUNDOG_PYTHON:-python3}
case $with in
gmx) command -v gmx >/dev/null || { echo 'skipped: no gmx on PATH'; exit 77; } ;;
python) "$python" -c 'import MDAnalysis, pyedr' 2>/dev/null ||
    { echo "skipped: $python has no MDAnalysis and pyedr (SUNDOG_PYTHON=...)"; exit 77; } ;;
*) echo "say gmx or python" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*" >&2; exit 1; }

# NAME PRECISION SYSTEM [OPTIONS]: a run with a frame of everything every 4 steps, energies every 2
run() {
    name=$1 precision=$2 system=$source/systems/$3
    shift 3
    cat >md.mdp <<END
dt = 0.001
nsteps = 10
nstcalcenergy = 1
nstenergy = 2
nstxout = 4
nstvout = 4
nstfout = 4
nstxout-compressed = 4
compressed-x-precision = $precision
coulombtype = reaction-field
rcoulomb = 1.0
rvdw = 1.0
epsilon-rf = 0
constraints = h-bonds
DispCorr = EnerPres
END
    "$sundog" run -f md.mdp -c "$system/conf.gro" -p "$system/topol.top" -o "$name" "$@" \
        >run.txt 2>&1 || { cat run.txt >&2; fail "the run $name"; }
}

# gmx energy prints six significant digits of every term; energy.csv has ten.
compare_energies() {
    n=$(head -n 1 energy.csv | tr ',' '\n' | wc -l)
    seq 1 $((n - 1)) | gmx energy -f ener.edr -o all.xvg -xvg none >energy.txt 2>&1 ||
        { tail -n 20 energy.txt >&2; fail 'gmx energy'; }
    tail -n +2 energy.csv | tr ',' ' ' >csv.txt
    paste -d ' ' csv.txt all.xvg | awk -v n="$n" '
        NF != 2 * n { print "row " NR ": " NF " numbers, not twice " n; bad = 1; exit 1 }
        { for (k = 1; k <= n; k++) {
              d = $k - $(n + k); a = $k < 0 ? -$k : $k
              if (d < 0) d = -d
              if (d > 2e-6 * a + 2e-6) { print "row " NR ", column " k ": " $k, $(n + k); bad = 1 }
          } }
        END { exit bad || NR < 2 }' >&2 || fail "gmx energy and energy.csv differ"
}

check() {       # NAME PRECISION ATOMS
    case $with in
    python) "$python" "$source/tests/apps/foreign.py" "$1" "$2" || exit 1 ;;
    gmx)
        for file in traj_comp.xtc traj.trr; do
            gmx check -f "$1/$file" >check.txt 2>&1 ||
                { cat check.txt >&2; fail "gmx check -f $1/$file"; }
            grep -q '^Coords  *3  *0.004' check.txt ||
                { cat check.txt >&2; fail "$1/$file: not 3 frames, 0.004 ps apart"; }
            grep -q "^# Atoms  $3\$" check.txt ||
                { cat check.txt >&2; fail "$1/$file: not $3 atoms"; }
            case $3,$file in
            9,* | *.trr) ;;
            *) grep -q "^Precision $(echo "$2" | sed 's/^1/0./; s/0$/1/') (nm)" check.txt ||
                { cat check.txt >&2; fail "$1/$file: not 1/$2 nm"; } ;;
            esac
        done
        gmx check -e "$1/ener.edr" >check.txt 2>&1 || { cat check.txt >&2; fail 'gmx check -e'; }
        (cd "$1" && compare_energies) || exit 1
        echo "gmx: $1, $3 atoms" ;;
    esac
}

run single 1000 ethanol/single
check single 1000 9
for precision in 100 1000 10000; do
    run p$precision $precision grappa-like/0001.5
    check p$precision $precision 1500
done
run large 1000 grappa-like/0045 -replicate 3 1 1
check large 1000 135000
