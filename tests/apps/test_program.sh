#!/bin/sh
# The program as people use it: exit codes, messages, files, restarts, kills.
#
#   test_program.sh SUNDOG SOURCE_DIR [CASE...]
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
run="$sundog run -f md.mdp $water -reproducible"

case_usage() {
    expect 2 'usage: sundog' "$sundog"
    expect 2 'unknown command frobnicate' "$sundog" frobnicate
    for command in run info plot 'bench md' 'bench halo'; do
        # shellcheck disable=SC2086
        expect 0 'usage: sundog' "$sundog" $command --help
        # shellcheck disable=SC2086
        expect 2 'unknown option -frob' "$sundog" $command -frob
    done
    expect 0 'usage: sundog' "$sundog" --help
    expect 0 'sundog [0-9]' "$sundog" --version
    expect 2 'are needed' "$sundog" run -f md.mdp
    expect 2 'missing after -dd' $run -dd 2 2
    expect 2 '-nsteps takes' $run -nsteps 1e3
    expect 2 'not both' $run -dd 1 1 1 -nd 2
    expect 2 '-scheme is' $run -scheme quarter
    expect 2 '-exchange is' $run -exchange pigeon
    expect 2 '-exchange direct goes with' $run -exchange direct -route staged
    expect 2 '-kernel is' $run -kernel abacus
    expect 2 '-maxh must' $run -maxh nan
    expect 2 '-nstlist must' $run -nstlist 0
    expect 2 'given twice' $run -nd 2 -nd 3
    expect 2 '-route is' $run -route scenic
    expect 2 'what is meant by' "$sundog" run md.mdp
    expect 0 'Pair-force kernels' "$sundog" info
    expect 0 'domains  *2 x 1 x 1' "$sundog" info -f md.mdp $water -dd 2 1 1
}

case_input_errors() {
    expect 1 'nowhere.mdp' "$sundog" run -f nowhere.mdp $water
    echo 'rcuolomb = 1' >bad.mdp
    expect 1 'bad.mdp:1.*rcoulomb' "$sundog" run -f bad.mdp $water
    expect 1 'atoms' "$sundog" run -f md.mdp -c "$source/systems/water/spce_3k/conf.gro" \
        -p "$source/systems/grappa-like/0001.5/topol.top"
    sed '3s/^\(.\{10\}\).\{5\}/\1   XX/' "$box/conf.gro" >renamed.gro
    expect 0 ' 1 atom name in renamed.gro not as in' "$sundog" run -f md.mdp -c renamed.gro \
        -p "$box/topol.top" -nsteps 0 -o renamed
    echo 'define = -DFLEXIBEL' | cat md.mdp - >bad.mdp
    expect 1 'sets FLEXIBEL, but .*topol.top never asks' "$sundog" run -f bad.mdp $water
    touch file
    expect 1 'file' $run -o file/deeper
    expect 1 'file' $run -o file
    expect 2 'folder is empty' $run -o ''
    expect 2 'too many copies' $run -replicate 641 6700417 1 -nsteps 0     # 2^32 + 1
    [ -e md.log ] && fail 'a failed start left md.log'
}

case_grids() {
    expect 1 'largest' $run -dd 40 1 1 -o grids
    expect 1 'largest' $run -nd 5000 -o grids
    expect 0 '3 domains\|3 x 1 x 1\|1 x 3 x 1\|1 x 1 x 3' $run -nd 3 -nsteps 5 -o grids
    expect 0 '2 x 3 x 2' $run -dd 2 3 2 -ddcsy '1 2 1' -nsteps 5 -o grids
    expect 2 'ddcsx' $run -dd 2 1 1 -ddcsx '1 1 1' -o grids
    expect 2 'ddcsx' $run -dd 2 1 1 -ddcsx '1' -o grids
    expect 1 'at most 4096' $run -dd 32 16 16 -replicate 2 1 1 -o grids
    expect 1 'at most' $run -nd 5000 -o grids
}

# One domain fails while the others wait for it: all end at once, with its words and the step.
case_blow_up() {
    sed 's/dt = .*/dt = 0.03/' nve.mdp >wild.mdp
    printf 'verlet-buffer-tolerance = -1\nrlist = 1\ncontinuation = yes\n' >>wild.mdp
    for scheme in return shell; do
        for rung in reference pulse fused direct; do
            expect 1 'step [0-9]*, domain ([01] [01] [01]): [A-Z]*: .* atoms [0-9]' timeout 60 \
                "$sundog" run -f wild.mdp $water -dd 2 2 2 -scheme $scheme -exchange $rung -o wild
        done
    done
    grep -q '^Error: step ' wild/md.log || fail 'md.log does not say why the run ended'
    # positions before and after, older ones kept; those before the first step are the start's
    expect 1 'wild/step0b.gro, wild/step0c.gro' "$sundog" run -f wild.mdp $water -dd 1 2 2 -o wild
    [ -s 'wild/#step0b.gro.8#' ] && [ -s 'wild/#step0c.gro.8#' ] || fail 'old dumps were not kept'
    sed 's/dt = .*/dt = 0.0001/' wild.mdp >calm.mdp
    expect 0 'ns/day' "$sundog" run -f calm.mdp $water -nsteps 0 -o start
    cut -c1-44 start/confout.gro | tail -n +2 >want.gro
    cut -c1-44 wild/step0b.gro | tail -n +2 | cmp want.gro - >&2 || fail 'positions before'
    [ "$(wc -l <wild/step0c.gro)" -eq 1503 ] || fail 'positions after'
}

# A good run, then a change that breaks it: its checkpoint stays, and so does what was written.
case_broken_restart() {
    expect 0 'ns/day' "$sundog" run -f nve.mdp $water -dd 2 2 1 -o broken -nsteps 20
    cp broken/state.cpt good.cpt
    cp broken/traj.trr good.trr
    # forces of two atoms on one spot: the energy is not finite in the first step
    argon=$source/systems/lj/argon_4k
    awk 'NR == 3 { x = substr($0, 21) } NR == 12 { $0 = substr($0, 1, 20) x } { print }' \
        "$argon/conf.gro" >spot.gro
    expect 1 'step 0, .*not finite.* on atom 1*[01] (AR of AR 1*[01]*) in domain (' \
        "$sundog" run -f nve.mdp -c spot.gro -p "$argon/topol.top" -dd 2 2 1 -o spot
    [ -s spot/step0b.gro ] || fail 'no dump of a system with two atoms on one spot'
    [ -e spot/state.cpt ] && fail 'a broken run left a checkpoint'
    cmp good.cpt broken/state.cpt >&2 || fail 'a checkpoint changed'
    cmp good.trr broken/traj.trr >&2 || fail 'a trajectory changed'
}

# LINCS warns with atoms and angle, counts, and stops when there are too many.
case_lincs_warnings() {
    { cat md.mdp; echo 'lincs-warnangle = 2'; } >strict.mdp
    strict="$sundog run -f strict.mdp $water -dd 2 1 1"
    GMX_MAXCONSTRWARN=-1 expect 0 'LINCS WARNING: .* bonds* turned by more than 2 degrees' $strict \
        -o warned
    grep -q '^Step [0-9]*, domain ([01] 0 0): LINCS WARNING' warned/md.log ||
        fail 'no warning in md.log'
    grep -q '^  atom [0-9]* (.* of ETH [0-9]*) and atom [0-9]* .*: [0-9.]* degrees' warned/md.log ||
        fail 'no atoms in the warning'
    [ "$(grep -c 'LINCS WARNING' warned/md.log)" -eq \
        "$(awk '/LINCS warnings, see above/ { print $1 }' warned/md.log)" ] ||
        fail 'warnings are not all in md.log'
    grep -q 'md.log alone' out.txt || fail 'the terminal is flooded'
    GMX_MAXCONSTRWARN=7 expect 1 'more than 7 LINCS warnings' $strict -o stopped
    [ -s stopped/step0b.gro ] || ls stopped/step*b.gro >/dev/null || fail 'no dump'
    expect 0 'ns/day' $run -dd 2 1 1 -o unwarned
    grep -q WARNING unwarned/md.log && fail 'a warning without a reason'
}

# minimise, then run from the result
case_minimise() {
    sed 's/integrator = md/integrator = steep/; s/nsteps = .*/nsteps = 40/' md.mdp >em.mdp
    printf 'emtol = 10\nemstep = 0.01\n' >>em.mdp
    em="$sundog run -f em.mdp $water"
    expect 0 'ran out of steps before it reached Fmax < 10 .*40 steps' $em -dd 2 2 1 -o em
    for file in $files md.log; do [ -s "em/$file" ] || fail "no em/$file"; done
    [ -e em/state.cpt ] && fail 'a minimiser wrote a checkpoint'
    head -1 em/energy.csv | grep -q 'Potential' || fail 'no potential in energy.csv'
    head -1 em/energy.csv | grep -q 'Temperature' && fail 'a temperature without motion'
    [ "$(sed -n 3p em/confout.gro | wc -c)" -eq 45 ] || fail 'velocities in confout.gro'
    grep -q '^ *12 .* atom [0-9]* (' em/md.log || fail 'no line of step 12 in md.log'
    expect 0 'step 40 of 40, Epot\|step 0 of 40, Epot' $em -dd 2 2 1 -o em_v -v
    expect 0 'ns/day' "$sundog" run -f md.mdp -c em/confout.gro -p "$box/topol.top" -o after
    # no checkpoints: none read, none needed
    expect 1 'integrator = steep .* no checkpoints' $em -o em2 -cpi after/state.cpt
    expect 0 'no checkpoint' $em -o em2 -cpi em2/state.cpt -nsteps 3
    for other in cg l-bfgs; do
        sed "s/integrator = .*/integrator = $other/" em.mdp >other.mdp
        expect 1 "integrator = $other is not supported; supported: md, steep" "$sundog" run \
            -f other.mdp $water -o em3
    done
    sed 's/emtol = .*/emtol = 0/' em.mdp >other.mdp
    expect 1 'emtol = 0: must be positive' "$sundog" run -f other.mdp $water -o em3
    # stopped by a signal: the lowest energy so far
    sed 's/emtol = .*/emtol = 1e-6/' em.mdp >long.mdp
    $sundog run -f long.mdp $water -nsteps -1 -dd 2 1 1 -o em4 >out.txt 2>&1 &
    pid=$!
    wait_lines em4/energy.csv 4
    kill -TERM $pid
    wait $pid || fail 'exit code of a minimiser after SIGTERM'
    grep -q 'was stopped' out.txt && [ -s em4/confout.gro ] || fail 'a stopped minimiser'
}

files='energy.csv ener.edr traj_comp.xtc traj.trr confout.gro'

# The first list is made of constrained positions, ghosts included: a list without any buffer misses
# no pair. With plain cut-off Coulomb every missed pair shows in the kinetic energy.
case_start() {
    for radius in 0.9 1.1; do
        sed "s/reaction-field/cut-off/; /epsilon-rf/d" nve.mdp >list.mdp
        printf 'verlet-buffer-tolerance = -1\nrlist = %s\n' $radius >>list.mdp
        expect 0 'ns/day' "$sundog" run -f list.mdp $water -dd 2 1 1 -nsteps 0 -o list$radius
    done
    awk -F, 'FNR == 1 { for (k = 1; k <= NF; k++) if ($k ~ /^(Potential|Kinetic)/) is[k] = 1 }
             FNR == 2 && !file++ { split($0, short) }
             FNR == 2 { split($0, long) }
             END {
                 for (k in is) {
                     compared++
                     off = short[k] - long[k]
                     if (off > 2e-3 || off < -2e-3) { print short[k], "and", long[k]; exit 1 }
                 }
                 exit compared != 2
             }' list0.9/energy.csv list1.1/energy.csv >&2 || fail 'the first list misses pairs'
}

# same DIR DIR: all results are the same bytes
same() {
    for file in $files; do
        cmp "$1/$file" "$2/$file" >&2 || fail "$1/$file and $2/$file differ"
    done
}

case_files() {
    expect 0 'ns/day' $run -dd 2 2 2 -o first
    for file in $files md.log state.cpt; do [ -s "first/$file" ] || fail "no first/$file"; done
    [ "$(wc -l <first/energy.csv)" -eq 8 ] ||
        fail 'energy.csv must have a header and steps 0, 10, .. 60'
    head -1 first/energy.csv | grep -q 'Time (ps),Bond (kJ/mol)' || fail 'header of energy.csv'
    grep -q 'Finished at step 60' first/md.log || fail 'no last line in md.log'
    expect 0 'ns/day' $run -dd 2 2 2 -o second
    same first second
    # a new run keeps the old files
    expect 0 'ns/day' $run -dd 2 2 2 -o second -nsteps 0
    [ -s 'second/#energy.csv.1#' ] && [ -s 'second/#state.cpt.1#' ] ||
        fail 'old files were not kept'
    cmp -s first/energy.csv 'second/#energy.csv.1#' || fail 'the kept file changed'
}

# Energies of the first and the last step come whatever the intervals, and once, restart or not.
case_first_and_last() {
    sed 's/nstenergy = .*/nstenergy = 0/; s/nstlog = .*/nstlog = 0/' md.mdp >ends.mdp
    echo 'init-step = 3' >>ends.mdp
    ends="$sundog run -f ends.mdp $water -dd 2 1 1 -o ends"
    expect 0 'ns/day' $ends -nsteps 17
    [ "$(cut -d, -f1 ends/energy.csv | tr '\n' ' ')" = 'Time (ps) 0.006 0.04 ' ] ||
        fail "rows of energy.csv: $(cut -d, -f1 ends/energy.csv)"
    steps=$(grep -A1 '  Step  ' ends/md.log | awk '$1 ~ /^[0-9]+$/ { printf "%s ", $1 }')
    [ "$steps" = '3 20 ' ] || fail 'energies in md.log are not those of steps 3 and 20'
    expect 0 'ns/day' $ends -nsteps 20 -cpi ends/state.cpt
    [ "$(cut -d, -f1 ends/energy.csv | tr '\n' ' ')" = 'Time (ps) 0.006 0.046 ' ] ||
        fail "rows of energy.csv after a restart: $(cut -d, -f1 ends/energy.csv)"
}

case_restart() {
    expect 0 'ns/day' $run -dd 2 2 2 -o whole
    expect 0 'ns/day' $run -dd 2 2 2 -o parts -nsteps 20
    expect 0 'ns/day' $run -dd 2 2 2 -o parts -nsteps 60 -cpi parts/state.cpt
    same whole parts
    # without a thermostat the pair lists depend on the start velocities: still those of the .gro
    nve="$sundog run -f nve.mdp $water -reproducible"
    expect 0 'ns/day' $nve -dd 2 1 1 -o whole_nve
    expect 0 'ns/day' $nve -dd 2 1 1 -o parts_nve -nsteps 20
    expect 0 'ns/day' $nve -dd 2 1 1 -o parts_nve -nsteps 60 -cpi parts_nve/state.cpt
    same whole_nve parts_nve
    # no checkpoint yet: starts, and says so
    expect 0 'no checkpoint' $run -o fresh -nsteps 5 -cpi fresh/state.cpt
    # what the first part measured is still in the log, and the energies of the second follow
    [ "$(grep -c 'Where the time went' parts/md.log)" -eq 2 ] || fail 'md.log lost a table'
    [ "$(grep -A1 '  Step  ' parts/md.log | awk '$1 ~ /^[0-9]+$/ { printf "%s ", $1 }')" = \
        '0 20 20 40 60 ' ] || fail 'energies in md.log after a restart'
    # another grid goes on from the same checkpoint
    expect 0 'ns/day' $run -dd 2 2 2 -o other -nsteps 20
    expect 0 'ns/day' $run -dd 3 1 1 -o other -nsteps 60 -cpi other/state.cpt
    [ "$(wc -l <other/energy.csv)" -eq 8 ] || fail 'energy.csv after a restart on another grid'
}

case_restart_refused() {
    expect 0 'ns/day' $run -o refused -nsteps 20
    cp refused/energy.csv before.csv
    sed 's/ref-t = 300/ref-t = 310/' md.mdp >hot.mdp
    expect 1 'run parameters' "$sundog" run -f hot.mdp $water -o refused -cpi refused/state.cpt
    expect 1 'topology\|atoms' "$sundog" run -f md.mdp -c "$source/systems/water/spce_3k/conf.gro" \
        -p "$source/systems/water/spce_3k/topol.top" -o refused -cpi refused/state.cpt
    head -c 3000 refused/state.cpt >short.cpt
    expect 1 'short.cpt' $run -o refused -cpi short.cpt
    expect 1 'md.mdp' $run -o refused -cpi md.mdp
    for file in energy.csv ener.edr md.log; do cp "refused/$file" .; done
    LC_ALL=C tr k K <ener.edr >refused/ener.edr
    expect 1 'ener.edr is not the file' $run -o refused -cpi refused/state.cpt -nsteps 60
    for file in energy.csv md.log; do
        cmp "$file" "refused/$file" >&2 || fail "a foreign ener.edr changed $file"
    done
    mv ener.edr refused/ener.edr
    # files of another run that are long enough
    sed 's/dt = .*/dt = 0.001/' md.mdp >slow.mdp
    expect 0 'ns/day' "$sundog" run -f slow.mdp $water -o foreign -nsteps 60
    mkdir own
    for file in $files; do cp "refused/$file" own; done
    for file in energy.csv traj_comp.xtc traj.trr ener.edr; do
        cp "foreign/$file" refused
        expect 1 "$file is not the file that the checkpoint belongs to" $run -o refused \
            -cpi refused/state.cpt -nsteps 60
        cmp "foreign/$file" "refused/$file" >&2 || fail "a foreign $file was changed"
        cp "own/$file" refused
    done
    same own refused
    rm refused/traj.trr
    expect 1 'traj.trr' $run -o refused -cpi refused/state.cpt -nsteps 60
    cmp -s before.csv refused/energy.csv || fail 'a refused restart changed energy.csv'
}

case_memory() {
    expect 1 '12000000000 atoms would take about [0-9.e+]* GB of memory, .* GB are available' \
        $run -replicate 200 200 200 -nsteps 0 -o memory
    # sanitizers do not start under such a limit
    ( ulimit -v 300000
      "$sundog" --version >/dev/null 2>&1 || exit 0
      expect 1 "as ulimit -v has it" $run -replicate 9 9 9 -nd 1 -nsteps 0 -o memory
      exit $failed ) || fail 'a limit of ulimit -v'
    [ -e memory ] && fail 'a folder for a run without memory'
}

# wait until a file of a running program has some lines
wait_lines() {
    for _ in $(seq 600); do
        [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ] && return
        sleep 0.05
    done
    fail "nothing came in $1"
}

case_signals() {
    expect 0 'ns/day' $run -dd 2 1 1 -o calm -nsteps 400
    for signal in INT TERM HUP; do
        $run -dd 2 1 1 -o "stopped$signal" -nsteps 400 >out.txt 2>&1 &
        pid=$!
        wait_lines "stopped$signal/energy.csv" 4
        kill -$signal $pid
        wait $pid || fail "exit code after SIG$signal"
        grep -q -- '-cpi' out.txt || fail "SIG$signal: does not say how to go on"
        [ -s "stopped$signal/state.cpt" ] || fail "SIG$signal: no checkpoint"
        expect 0 'ns/day' $run -dd 2 1 1 -o "stopped$signal" -nsteps 400 \
            -cpi "stopped$signal/state.cpt"
        same calm "stopped$signal"
    done
}

# Whoever cannot wait for the end of a list interval sends a second signal, of either kind. (Argon
# with a list so long that it lasts.)
case_impatient() {
    { cat nve.mdp; printf 'verlet-buffer-tolerance = -1\nrlist = 2\n'; } >long.mdp
    argon=$source/systems/lj/argon_4k
    "$sundog" run -f long.mdp -c "$argon/conf.gro" -p "$argon/topol.top" -dd 2 1 1 -o impatient \
        -nsteps -1 -nstlist 1000000 >out.txt 2>&1 &
    pid=$!
    wait_lines impatient/energy.csv 3
    kill -TERM $pid
    wait_lines impatient/energy.csv 6
    kill -INT $pid
    wait $pid
    got=$?
    [ $got -eq 130 ] || fail "exit code $got after SIGTERM and SIGINT, not 130"
}

# More steps than a 64-bit step number can count are no end, not none.
case_endless() {
    { cat md.mdp; echo 'init-step = 5'; } >late.mdp
    expect 0 '-cpi' timeout --preserve-status -s INT 2 "$sundog" run -f late.mdp $water \
        -nsteps 9223372036854775807 -o endless
}

# Two runs in one folder: the second is refused and changes nothing.
case_two_runs() {
    $run -dd 2 1 1 -o two -nsteps 4000 >out1.txt 2>&1 &
    pid=$!
    wait_lines two/energy.csv 3
    expect 1 'another run is writing' $run -o two -nsteps 5
    expect 1 'another run is writing' $run -o two -nsteps 5 -cpi two/state.cpt
    [ -e 'two/#energy.csv.1#' ] && fail 'a refused run moved files'
    kill -TERM $pid
    wait $pid || fail "the first of two runs ended badly: $(cat out1.txt)"
}

# A run that is stopped for longer than ranks wait for each other goes on unharmed.
case_suspended() {
    expect 0 'ns/day' $run -dd 2 1 1 -o awake -nsteps 400
    SUNDOG_PEER_TIMEOUT=4 $run -dd 2 1 1 -o asleep -nsteps 400 >out.txt 2>&1 &
    pid=$!
    wait_lines asleep/energy.csv 4
    kill -STOP $pid
    sleep 5
    kill -CONT $pid
    wait $pid || fail "a suspended run ended badly: $(cat out.txt)"
    same awake asleep
}

case_killed() {
    expect 0 'ns/day' $run -dd 2 1 1 -o alive -nsteps 400
    $run -dd 2 1 1 -o killed -nsteps 400 -cpt 0.0002 >out.txt 2>&1 &
    pid=$!
    wait_lines killed/energy.csv 15
    kill -KILL $pid
    wait $pid 2>/dev/null
    [ -s killed/state.cpt ] || fail 'no checkpoint before the kill'
    expect 0 'ns/day' $run -dd 2 1 1 -o killed -nsteps 400 -cpi killed/state.cpt
    same alive killed
}

case_replicate() {
    { cat nve.mdp; echo 'continuation = yes'; } >still.mdp
    expect 0 '1500 atoms' "$sundog" run -f still.mdp $water -nsteps 0 -o single
    expect 0 '9000 atoms' "$sundog" run -f still.mdp $water -nsteps 0 -o multiple -replicate 3 1 2
    # every energy term of six copies is six times that of one
    awk -F, 'FNR == 1 { file++; n = NF; split($0, name, ",") }
             FNR == 2 { for (k = 1; k <= n; k++) value[file, k] = $k }
             END {
                 for (k = 1; k <= n; k++) {
                     if (name[k] !~ /\(kJ\/mol\)/) continue
                     compared++
                     off = value[2, k] - 6 * value[1, k]
                     size = value[1, k] < 0 ? -value[1, k] : value[1, k]
                     if (off < 0) off = -off
                     if (!(off <= 12e-6 * size + 0.05)) {
                         print name[k] ": " value[1, k] " times 6 is not " value[2, k]
                         exit 1
                     }
                 }
                 exit compared < 10
             }' single/energy.csv multiple/energy.csv >&2 || fail 'replicated energies'
}

[ $# -gt 0 ] || set -- usage input_errors grids start blow_up broken_restart lincs_warnings \
    minimise memory files first_and_last restart \
    restart_refused signals impatient endless two_runs suspended killed replicate
for name in "$@"; do
    "case_$name"
    echo "$name done"
done
[ $failed -eq 0 ] && echo 'all cases passed'
exit $failed
