#!/bin/sh
# The program as people use it: exit codes, messages, files, restarts, kills.
#
#   test_program.sh SUNDOG SOURCE_DIR [CASE...]
. "${0%/*}/common.sh"

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
    expect 2 'go with -trace' $run -tracesteps 5
    expect 2 'go with -trace' $run -tracefrom 0
    expect 2 '-tracesteps 1 or more' $run -tracesteps 0
    expect 2 '-tracefrom must be 0 or more' $run -tracefrom -1 -trace t.json
    expect 2 'not x' $run -dd 1 1 x
    expect 1 '4096 is the most' $run -nd 5000 -o most
    echo 'integrator = steep' >steep.mdp
    sed '/integrator/d; /tcoupl/,/ld-seed/d' md.mdp >>steep.mdp
    expect 1 'integrator = md alone' "$sundog" run -f steep.mdp $water -device cpu -trace t.json
    # what was there stays as it is
    expect 0 '5 steps' $run -device cpu -nsteps 5 -o kept
    expect 1 'cannot be created' $run -device cpu -nsteps 5 -o kept -trace nowhere/t.json
    expect 1 'a folder, not a file' $run -device cpu -nsteps 5 -o kept -trace kept
    expect 1 'name of a file' $run -device cpu -nsteps 5 -o kept -trace ''
    expect 1 'cannot be created' $run -device cpu -nsteps 5 -o fresh -trace fresh/below/t.json
    expect 1 'cannot be created' $run -device cpu -nsteps 5 -o fresh -trace freshly/t.json
    [ -e fresh ] && fail 'a folder made for a trace that cannot be'
    expect 0 '5 steps' $run -device cpu -nsteps 5 -o fresh/ -trace fresh/t.json
    [ -s fresh/t.json ] || fail 'no trace in a folder that the run made'
    [ "$(find kept -name '#*' | wc -l)" -eq 0 ] || fail 'outputs moved for a trace that cannot be'
    expect 2 'halo: -device is cpu or gpu, not tpu$' "$sundog" bench halo -device tpu
    expect 2 'halo: -nd must be 1 or more, not 0$' "$sundog" bench halo -nd 0
    expect 2 'halo: -ngpus must be 1 or more, not -1$' "$sundog" bench halo -ngpus -1
    if "$sundog" info | grep -q '^  avx512 .* lacks' && "$sundog" info | grep -q '^  avx2 .* runs'
    then expect 1 "runs here is 'avx2'" $run -device cpu -kernel avx512 -o lacking
    fi
    # the variables of a launcher; the others say nothing
    for command in 'bench halo' 'plot energy kept'; do
        # shellcheck disable=SC2086
        expect 2 'start sundog [a-z]* once$' env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 \
            "$sundog" $command
        [ "$(wc -l <out.txt)" -eq 1 ] || fail "more than one line: $command"
        # shellcheck disable=SC2086
        OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$sundog" $command >out.txt 2>&1
        [ $? -eq 2 ] && [ ! -s out.txt ] || fail "the second process speaks: $command"
    done
    expect 2 'what is meant by' "$sundog" run md.mdp
    expect 0 'Pair-force kernels' "$sundog" info
    expect 0 'domains  *2 x 1 x 1' "$sundog" info -f md.mdp $water -dd 2 1 1
}

# As on a machine without GPUs (common.sh).
case_devices() {
    expect 2 '-device is' $run -device abacus
    expect 2 '-gpus is' $run -gpus 0,
    expect 2 '-gpus is' $run -gpus one
    expect 2 'does not go with -device cpu' $run -gpus 0,1 -device cpu
    # only the benchmark of a build without CUDA says so
    why='this process sees no GPU'
    "$sundog" bench halo -device gpu 2>&1 | grep -q 'no support for GPUs' &&
        why='built without support for GPUs.*-DSUNDOG_CUDA=ON'
    expect 1 "-device gpu: .*$why" $run -device gpu -o gpu
    expect 1 "-gpus: .*$why" $run -gpus 1,0 -o gpu
    expect 0 "none: .*$why" "$sundog" info
    expect 1 '-ghosts is for GPUs' $run -device cpu -ghosts near -o gpu
    [ -e gpu ] && fail 'a run that could not start left files'
    for device in auto cpu; do
        expect 0 '5 steps' $run -device $device -nsteps 5 -o $device
        grep -i gpu out.txt && fail "-device $device speaks of GPUs"
        sed '/^Command line/d' $device/md.log | grep -i gpu && fail "md.log speaks of GPUs"
    done
    same auto cpu
}

# Pictures of the results in the repository, and of what is none.
case_plots() {
    results=$source/bench/results
    expect 2 'say what to draw' "$sundog" plot speed
    expect 1 'nowhere.json: cannot be opened' "$sundog" plot speed nowhere.json
    echo '{"bench": "halo"' >bad.json
    expect 1 'bad.json, line 1: not a JSON object' "$sundog" plot halo bad.json
    echo '{"bench": "other"}' >other.json
    expect 1 'other.json has no new result of .sundog bench md' "$sundog" plot speed other.json
    expect 1 'ends in .svg or .png' "$sundog" plot speed other.json -o speed.jpg
    echo '{"bench": "md", "atoms": 10, "us_per_step": 5, "ns_per_day": 1}' >one.json
    expect 1 'no curve' "$sundog" plot speed one.json
    [ -e speed.svg ] && fail 'a picture of nothing'
    command -v gnuplot >/dev/null || return
    sed 's/"atoms": 10/"atoms": 20, "program": "It'"'"'s `x`"/; p' one.json >two.json
    expect 0 'speed.svg' "$sundog" plot speed two.json one.json "$results/md-h200.jsonl" \
        "$results/gromacs-h200.jsonl"
    for text in 'GROMACS, 2 GPUs' 'GROMACS, 45000 atoms' 'Sundog, 1 GPU, shell' 'ns/day'; do
        grep -q "$text" speed.svg || fail "no '$text' in speed.svg"
    done
    expect 0 'h.svg' "$sundog" plot halo "$results/halo-h200x2-2026-11-30.json" -o h.svg
    for text in 'One way, 2 domains on 2 GPUs' 'flit direct' 'mpi staged'; do
        grep -q "$text" h.svg || fail "no '$text' in h.svg"
    done
}

# The timeline: the steps that were asked for, of every domain, without gaps; the run is the same.
case_trace() {
    expect 2 '-tracesteps 1 or more' $run -trace t.json -tracesteps -1
    expect 0 'ns/day' $run -dd 3 1 1 -o plain
    expect 0 'ns/day' $run -dd 3 1 1 -o traced -trace t.json -tracefrom 19 -tracesteps 3
    same plain traced
    [ "$(sed -n 's/.*"step": \([0-9]*\).*/\1/p' t.json | sort -nu | tr '\n' ' ')" = '19 20 21 ' ] ||
        fail 'steps of the timeline'
    tr -d ',' <t.json | awk '/"ph": "X"/ {
            for (k = 1; k <= NF; k++) {
                if ($k == "\"ts\":") begin = $(k + 1)
                if ($k == "\"dur\":") length_ = $(k + 1)
                if ($k == "\"tid\":") thread = $(k + 1)
            }
            if (thread in end && (begin - end[thread]) ^ 2 > 1e-4) { print; bad = 1 }
            end[thread] = begin + length_
        }
        END { for (t in end) n++; exit bad || n != 3 }' >&2 || fail 'gaps in the timeline'
    for what in 'Pair forces local' 'Forward exchange' Repartition; do
        tr -d ',' <t.json | grep -q "$what" || fail "no $what in the timeline"
    done
    # from the first step on; a run that is over before the last of them
    expect 0 'ns/day' $run -dd 2 1 1 -o short -nsteps 5 -trace short.json
    grep -q '"step": 0' short.json && grep -q '"step": 5' short.json || fail 'a short timeline'
    expect 1 'nowhere/t.json' $run -dd 2 1 1 -o none -trace nowhere/t.json -tracefrom 3
    echo '{"traceEvents": []}' >none.json
    expect 1 'none.json: the trace has no events' "$sundog" plot trace none.json
    expect 1 'md.mdp: no trace' "$sundog" plot trace md.mdp
    command -v gnuplot >/dev/null || return
    expect 0 't.svg' "$sundog" plot trace t.json -o t.svg
    grep -q 'Pair forces, local' t.svg || fail 'no pair forces in t.svg'
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

# The first list is made of constrained positions, ghosts included: a list without any buffer misses
# no pair. With plain cut-off Coulomb every missed pair shows in the kinetic energy.
# A pair that is missed is off by kJ/mol. The reference adds up the same pairs in the same order,
# whatever the radius; single precision with AVX-512 is off by up to 6e-3.
case_start() {
    start_with 2e-3 -kernel reference
    start_with 2e-2
}
start_with() {      # limit, options ...
    limit=$1
    shift
    for radius in 0.9 1.1; do
        sed "s/reaction-field/cut-off/; /epsilon-rf/d" nve.mdp >list.mdp
        printf 'verlet-buffer-tolerance = -1\nrlist = %s\n' $radius >>list.mdp
        expect 0 'ns/day' "$sundog" run -f list.mdp $water -dd 2 1 1 -nsteps 0 \
            -o list$radius "$@"
    done
    awk -F, -v limit="$limit" '
             FNR == 1 { for (k = 1; k <= NF; k++) if ($k ~ /^(Potential|Kinetic)/) is[k] = 1 }
             FNR == 2 && !file++ { split($0, short) }
             FNR == 2 { split($0, long) }
             END {
                 for (k in is) {
                     compared++
                     off = short[k] - long[k]
                     if (off > limit || off < -limit) { print short[k], "and", long[k]; exit 1 }
                 }
                 exit compared != 2
             }' list0.9/energy.csv list1.1/energy.csv >&2 || fail 'the first list misses pairs'
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
    sleep 0.4
    wait_lines impatient/energy.csv 6
    kill -INT $pid
    wait $pid
    got=$?
    [ $got -eq 130 ] || fail "exit code $got after SIGTERM and SIGINT, not 130"
}

# While input is read there is nothing to save: the first signal ends at once.
case_impatient_start() {
    mkfifo conf.gro
    timeout -k 20 1 "$sundog" run -f md.mdp -c conf.gro -p "$box/topol.top" -o o 2>out.txt
    [ $? -eq 124 ] || fail 'a signal while input is read did not end the run'
    [ -e o ] && fail 'a folder for a run that did not start'
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

run_cases 'usage devices plots trace input_errors grids start minimise files first_and_last
    restart signals impatient impatient_start endless two_runs suspended killed replicate' -- "$@"
