#!/bin/sh
# Runs in several processes, over MPI: the same bytes as threads of the same grid, restarts across
# grids, one message a failure, one process killed.
#
#   MPIRUN=... test_processes.sh SUNDOG SOURCE_DIR [CASE...]
. "${0%/*}/common.sh"
mpirun=${MPIRUN:-mpirun}

# ranks N command...: in N processes, their numbers in pid.RANK
cat >numbered <<'END'
#!/bin/sh
echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
exec "$@"
END
chmod +x numbered
ranks() {
    n=$1
    shift
    rm -f pid.*
    timeout -k 5 120 "$mpirun" -n "$n" ./numbered "$@" </dev/null
}

# once TEXT: one line of the program's own, and it has TEXT
once() {
    [ "$(grep -c '^sundog run: ' out.txt)" -eq 1 ] || { fail 'not one line'; cat out.txt >&2; }
    grep -q "^sundog run: .*$1" out.txt || { fail "no '$1'"; cat out.txt >&2; }
}

# by_threads GRID ARGUMENTS...: in the folder of that name, once
by_threads() {
    dir=threads_$(echo "$1" | tr ' ' _)
    grid=$1
    shift
    # shellcheck disable=SC2086
    [ -d "$dir" ] || expect 0 'ns/day' $run -dd $grid "$@" -o "$dir"
}

# shape N T GRID
shape() {
    by_threads "$3" -nsteps 40
    # shellcheck disable=SC2086
    expect 0 'ns/day' ranks "$1" $run -dd $3 -nt "$2" -mpi yes -nsteps 40 -o "ranks_$1x$2"
    same "$dir" "ranks_$1x$2"
    [ "$(grep -c 'atoms.*domains' out.txt)" -eq 1 ] || fail 'not one result'
}

case_ranks() {
    shape 1 1 '1 1 1'
    shape 2 1 '2 1 1'
    shape 3 1 '1 3 1'
    shape 4 1 '2 2 1'
    shape 6 1 '1 2 3'
    shape 8 1 '2 2 2'
    grep -q '^Processes: 8, domains in each: 1,' ranks_8x1/md.log || fail 'md.log has no processes'
    # without a grid
    expect 0 '2 x 1 x 1 domains' ranks 2 $run -nsteps 5 -nt 1 -o chosen
}

case_mixes() {
    shape 2 2 '2 2 1'
    shape 3 2 '1 2 3'
    shape 2 4 '2 2 2'
    shape 4 2 '2 2 2'
    expect 0 '2 x 2 x 1 domains' ranks 2 $run -nsteps 5 -nt 2 -o chosen
    grep -q '^Processes: 2, domains in each: 2,' chosen/md.log || fail 'md.log has no processes'
}

# Whichever fabric carries them: all rungs of a route add in one order.
case_exchanges() {
    for way in '-exchange reference -route staged' '-exchange pulse -route staged' \
        '-exchange fused -route staged' '-exchange direct -route direct' \
        '-scheme shell -exchange fused -route staged' '-scheme shell -exchange direct'; do
        # shellcheck disable=SC2086
        expect 0 'ns/day' $run -dd 2 1 2 $way -nsteps 20 -o "t $way"
        # shellcheck disable=SC2086
        expect 0 'ns/day' ranks 2 $run -dd 2 1 2 $way -nsteps 20 -o "p $way"
        same "t $way" "p $way"
    done
}

# What else a run can do: everything that is decided in one place must reach all.
case_settings() {
    {
        sed 's/tc-grps = .*/tc-grps = ETH SOL/; s/tau-t = .*/tau-t = 0.1 0.4/
             s/ref-t = .*/ref-t = 300 300/' md.mdp
        printf 'nsttcouple = 5\ncomm-grps = ETH SOL\nnstcomm = 20\ncompressed-x-grps = ETH\n'
        printf 'gen-vel = yes\ngen-temp = 300\ngen-seed = 7\nDispCorr = EnerPres\n'
        printf 'pcoupl = C-rescale\npcoupltype = semiisotropic\ntau-p = 1\nref-p = 1 1\n'
        printf 'compressibility = 4.5e-5 4.5e-5\nnstpcouple = 10\n'
    } >npt.mdp
    { cat nve.mdp; printf 'freezegrps = ETH\nfreezedim = Y Y Y\n'; } >frozen.mdp
    { cat md.mdp; printf 'define = -DPOSRES\ncomm-mode = none\n'; } >restrained.mdp
    sed 's/integrator.*/integrator = steep/; s/nstcalc.*//; s/constraints.*/constraints = none/' \
        nve.mdp >steep.mdp
    peptide=$source/systems/peptide/ala_dipeptide
    for setting in npt frozen restrained steep copies; do
        inputs="-f $setting.mdp $water -nsteps 30"
        [ $setting = restrained ] && inputs="-f $setting.mdp -c $peptide/conf.gro \
            -p $peptide/topol.top -r $peptide/restraints.gro -nsteps 20"
        [ $setting = copies ] && inputs="-f md.mdp $water -nsteps 10 -replicate 2 1 1"
        one="$sundog run $inputs -reproducible -device cpu -dd 2 1 1"
        # shellcheck disable=SC2086
        expect 0 'domains' $one -o "t_$setting"
        # shellcheck disable=SC2086
        expect 0 'domains' ranks 2 $one -o "p_$setting"
        same "t_$setting" "p_$setting"
    done
}

# close A B: positions of two .gro files differ by 0.003 nm at most
close() {
    awk 'FNR == 1 { file++ }
         FNR > 2 && NF > 3 && file == 1 { x[FNR] = substr($0, 21, 24) }
         FNR > 2 && NF > 3 && file == 2 {
             split(x[FNR], a); split(substr($0, 21, 24), b); n++
             for (k = 1; k <= 3; k++) {
                 d = a[k] - b[k]
                 if (d < 0) d = -d
                 if (d > 1.2) d -= 2.4734
                 if (d < 0) d = -d
                 if (d <= 0.0031) continue
                 print "line " FNR ": " x[FNR] " and " substr($0, 21, 24)
                 exit 1
             }
         }
         END { exit n < 1500 }' "$1" "$2" >&2 || fail "$1 and $2 are apart"
}

case_restarts() {
    expect 0 'ns/day' $run -dd 2 2 1 -nsteps 80 -o whole
    # threads, processes, both, threads: as if never stopped
    expect 0 'ns/day' $run -dd 2 2 1 -o parts -nsteps 20
    cp -r parts other
    expect 0 'ns/day' ranks 4 $run -dd 2 2 1 -o parts -nsteps 40 -cpi parts/state.cpt
    expect 0 'ns/day' ranks 2 $run -dd 2 2 1 -o parts -nsteps 60 -cpi parts/state.cpt
    expect 0 'ns/day' $run -dd 2 2 1 -o parts -nsteps 80 -cpi parts/state.cpt
    same whole parts
    # another grid at each start: the same simulation, rounded otherwise
    expect 0 'ns/day' ranks 3 $run -dd 3 1 1 -o other -nsteps 40 -cpi other/state.cpt
    expect 0 'ns/day' $run -dd 1 1 1 -o other -nsteps 50 -cpi other/state.cpt
    expect 0 'ns/day' ranks 2 $run -dd 1 2 2 -o other -nsteps 60 -cpi other/state.cpt
    expect 0 'ns/day' $run -dd 2 1 1 -o other -nsteps 80 -cpi other/state.cpt
    close whole/confout.gro other/confout.gro
    # a restart that is refused says so once
    expect 1 'holds 1500 atoms' ranks 2 "$sundog" run -f md.mdp -c "$box/conf.gro" \
        -p "$source/systems/grappa-like/0001.5/topol.top" -replicate 1 1 2 -cpi parts/state.cpt \
        -o parts -device cpu
    once 'holds 1500 atoms'
}

case_errors() {
    expect 1 'cannot open none.mdp' ranks 3 "$sundog" run -f none.mdp -c a.gro -p b.top
    once 'none.mdp'
    expect 2 'missing after -dd' ranks 3 $run -dd 3
    once 'missing after -dd'
    expect 2 'shared evenly' ranks 2 $run -dd 3 1 1 -o bad
    once '3 x 1 x 1 domains cannot be shared evenly by 2 processes'
    expect 2 '4 domains' ranks 2 $run -dd 3 1 1 -nt 2 -o bad
    once 'is not the 4 domains of 2 processes'
    expect 1 'cannot make the output folder' ranks 2 $run -dd 2 1 1 -o /proc/nowhere
    once '/proc/nowhere'
    echo 'SOL x' >broken.top
    expect 1 'broken.top' ranks 2 "$sundog" run -f md.mdp -c "$box/conf.gro" -p broken.top
    once 'broken.top'
    # the start of the last atom is no position: found by the first process, for all
    awk -v last="$(wc -l <"$box/conf.gro")" \
        'NR == last - 1 { $0 = substr($0, 1, 20) "     nan     nan     nan" } { print }' \
        "$box/conf.gro" >nan.gro
    expect 1 'sundog run: error' ranks 2 "$sundog" run -f md.mdp -c nan.gro -p "$box/topol.top"
    once error
}

# A run that fails in its steps: one message, and what threads write of it.
case_broken() {
    sed 's/dt = .*/dt = 0.03/' nve.mdp >wild.mdp
    printf 'verlet-buffer-tolerance = -1\nrlist = 1\ncontinuation = yes\n' >>wild.mdp
    one="$sundog run -f wild.mdp $water -dd 1 2 2 -reproducible -device cpu"
    # shellcheck disable=SC2086
    expect 1 'step0b.gro, .*step0c.gro' $one -o wild_t
    # shellcheck disable=SC2086
    expect 1 'step0b.gro, .*step0c.gro' ranks 4 $one -o wild_p
    once 'step 0, domain ('
    cmp wild_t/step0b.gro wild_p/step0b.gro >&2 || fail 'positions before'
    [ "$(wc -l <wild_p/step0c.gro)" -eq 1503 ] || fail 'positions after'
    grep -q '^Error: step ' wild_p/md.log || fail 'md.log does not say why the run ended'
}

# TERM to all, and to one that is not the first: all stop at the end of a list interval.
case_signals() {
    by_threads '2 1 1' -nsteps 400
    for whom in all one; do
        ranks 2 $run -dd 2 1 1 -nsteps 400 -o "stop_$whom" >out.txt 2>&1 &
        job=$!
        wait_lines "stop_$whom/energy.csv" 4
        if [ $whom = all ]; then
            kill -TERM "$(cat pid.0)" "$(cat pid.1)"
        else
            kill -TERM "$(cat pid.1)"
        fi
        wait $job
        grep -q 'Stopped after' out.txt || { fail "$whom: not stopped"; cat out.txt >&2; }
        expect 0 'ns/day' ranks 2 $run -dd 2 1 1 -nsteps 400 -o "stop_$whom" \
            -cpi "stop_$whom/state.cpt"
        same "$dir" "stop_$whom"
    done
}

# To mpirun, which passes it on, and kills what is left some seconds later.
case_launcher() {
    by_threads '2 1 1' -nsteps 400
    OMPI_MCA_odls_base_sigkill_timeout=3
    export OMPI_MCA_odls_base_sigkill_timeout
    # shellcheck disable=SC2086
    "$mpirun" -n 2 $run -dd 2 1 1 -nstlist 10 -nsteps 100000 -o passed >out.txt 2>&1 </dev/null &
    job=$!
    wait_lines passed/energy.csv 4
    kill -TERM $job
    wait $job
    grep -q 'Stopped after' out.txt || { fail 'not stopped'; cat out.txt >&2; }
    step=$(awk '/^Stopped after/ { print $3 }' out.txt)
    expect 0 'ns/day' ranks 2 $run -dd 2 1 1 -nstlist 10 -nsteps "$step" -o passed \
        -cpi passed/state.cpt
}

# One process is killed, another time stopped, which no launcher sees: the others end in time, and
# the last checkpoint goes on.
case_lost() {
    by_threads '2 1 1' -nsteps 400
    SUNDOG_PEER_TIMEOUT=4
    export SUNDOG_PEER_TIMEOUT
    for rank in 0 1; do
        for signal in KILL STOP; do
            lost=lost_${rank}_$signal
            ranks 2 $run -dd 2 1 1 -nsteps 400 -cpt 0.0002 -o $lost >out.txt 2>&1 &
            job=$!
            wait_lines $lost/energy.csv 10
            begin=$(date +%s)
            kill -$signal "$(cat pid.$rank)"
            wait $job && fail "$lost: ended with 0"
            [ $(($(date +%s) - begin)) -le 25 ] || fail "$lost: took too long"
            kill -KILL "$(cat pid.$rank)" 2>/dev/null
            [ -s $lost/state.cpt ] || fail "$lost: no checkpoint"
            expect 0 'ns/day' ranks 2 $run -dd 2 1 1 -nsteps 400 -o $lost -cpi $lost/state.cpt
            same "$dir" $lost
        done
    done
}

# Copies that know nothing of each other: refused, unless asked for.
case_copies() {
    expect 1 'another run is writing' ranks 2 $run -dd 1 1 1 -mpi no -nsteps 400 -o copies
    [ "$(grep -c 'ns/day' out.txt)" -eq 1 ] || fail 'not one of the copies ran'
    # a launcher of another MPI: each process is alone
    stranger="env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 $run"
    expect 1 'finds itself alone' $stranger -dd 1 1 1 -nsteps 5 -o copies
    expect 0 'ns/day' $stranger -dd 1 1 1 -mpi no -nsteps 5 -o copies
}

run_cases 'ranks mixes exchanges settings restarts errors broken signals launcher lost
    copies' -- "$@"
