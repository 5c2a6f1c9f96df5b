#!/bin/sh
# When something goes wrong: what the program says, and that nothing is lost.
#
#   test_failures.sh SUNDOG SOURCE_DIR [CASE...]
. "${0%/*}/common.sh"

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
    # a start that its constraints cannot hold is named, and what helps
    awk 'NR == 13 { $0 = substr($0, 1, 20) "   1.000   1.000   1.000" substr($0, 45) } { print }' \
        "$box/conf.gro" >torn.gro
    expect 1 'the start structure: .*FLEXIBLE' "$sundog" run -f md.mdp -c torn.gro \
        -p "$box/topol.top" -o torn
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
      expect 1 'most of it for domains' $run -nd 512 -nsteps 0 -o memory
      exit $failed ) || fail 'a limit of ulimit -v'
    [ -e memory ] && fail 'a folder for a run without memory'
}

# The disk is full (a limit on the size of files) in the middle of a run: it says which file, that
# file ends with a whole frame, the checkpoint is the last good one, and with room again the run
# goes on to the same end.
case_disk_full() {
    expect 0 'ns/day' $run -dd 2 2 1 -o roomy
    expect 0 'ns/day' $run -dd 2 2 1 -o full -nsteps 20
    cp full/state.cpt good.cpt
    size=$(wc -c <full/traj.trr)
    # room for one more frame of the .trr, not for two; sh counts blocks of 512 bytes, or of 1024
    ( ulimit -f $((size / 512 + 100))
      expect 1 'full/traj.trr: writing failed: File too large' $run -dd 2 2 1 -o full \
          -cpi full/state.cpt
      exit $failed ) || fail 'a full disk'
    cmp good.cpt full/state.cpt >&2 || fail 'a full disk changed the checkpoint'
    grep -q '^Error: .*traj.trr' full/md.log || fail 'md.log does not say that the disk was full'
    [ $(($(wc -c <full/traj.trr) % (size / 2))) -eq 0 ] || fail 'a part of a frame stayed'
    expect 0 'ns/day' $run -dd 2 2 1 -o full -cpi full/state.cpt
    same roomy full
    # no room for the checkpoint: the one of before stays, and with it a way to go on
    expect 0 'ns/day' $run -dd 2 2 1 -o tight -nsteps 20
    sed '/^nst[xvf]out/d; /compressed/d' md.mdp >few.mdp
    expect 0 'ns/day' "$sundog" run -f few.mdp $water -o tight2 -nsteps 20
    cp tight2/state.cpt good.cpt
    ( ulimit -f 80
      expect 1 'state.cpt: writing failed\|confout.gro: writing failed' "$sundog" run -f few.mdp \
          $water -o tight2 -nsteps 40 -cpi tight2/state.cpt
      exit $failed ) || fail 'no room for a checkpoint'
    cmp good.cpt tight2/state.cpt >&2 || fail 'a checkpoint was overwritten by a part of one'
    for file in tight2/*.tmp; do [ -e "$file" ] && fail "$file was left behind"; done
}

# Folders that cannot be made or written to.
case_no_folder() {
    expect 1 'cannot make the output folder' $run -o /proc/nowhere -nsteps 5
    touch plain
    expect 1 'cannot make the output folder plain' $run -o plain/deeper -nsteps 5
    expect 0 'ns/day' $run -o sealed -nsteps 20
    cp -r sealed before
    chmod a-w sealed sealed/*
    if ( : >sealed/probe ) 2>/dev/null; then
        rm sealed/probe # root may write anywhere
    else
        expect 1 'cannot write to the output folder sealed' $run -o sealed -nsteps 5
        chmod u+w sealed
        expect 1 'cannot write to sealed/' $run -o sealed -cpi sealed/state.cpt -nsteps 40
    fi
    chmod -R u+w sealed
    diff -r before sealed >&2 || fail 'a folder that is not to be written to has changed'
}

# A checkpoint that is cut, damaged or something else is named, and the one before goes on.
case_damaged_checkpoint() {
    expect 0 'ns/day' $run -dd 2 2 1 -o well
    expect 0 'ns/day' $run -dd 2 2 1 -o hurt -nsteps 20
    expect 0 'ns/day' $run -dd 2 2 1 -o hurt -nsteps 40 -cpi hurt/state.cpt
    cp -r hurt before
    bytes=$(wc -c <hurt/state.cpt)
    for at in 3 30 300 $((bytes / 2)) $((bytes - 4)); do
        { head -c $at hurt/state.cpt; printf '\252'; tail -c +$((at + 2)) hurt/state.cpt; } >bad.cpt
        expect 1 'bad.cpt is damaged (.*); try the previous\|bad.cpt is not a checkpoint' $run \
            -dd 2 2 1 -o hurt -cpi bad.cpt
        head -c $at hurt/state.cpt >bad.cpt
        expect 1 'bad.cpt is cut short' $run -dd 2 2 1 -o hurt -cpi bad.cpt
    done
    : >bad.cpt
    expect 1 'bad.cpt is cut short: it is empty' $run -dd 2 2 1 -o hurt -cpi bad.cpt
    expect 1 'conf.gro is not a checkpoint' $run -dd 2 2 1 -o hurt -cpi "$box/conf.gro"
    expect 1 'reading failed' $run -dd 2 2 1 -o hurt -cpi hurt
    diff -r before hurt >&2 || fail 'a refused checkpoint changed the folder'
    # gone, as a kill may leave it where there are no hard links: not a run that has not begun
    mv hurt/state.cpt bad.cpt
    expect 1 'there is no hurt/state.cpt, but .*: go on with -cpi hurt/state_prev.cpt' $run \
        -dd 2 2 1 -o hurt -cpi hurt/state.cpt
    mv bad.cpt hurt/state.cpt
    diff -r before hurt >&2 || fail 'a refused checkpoint changed the folder'
    expect 0 'ns/day' $run -dd 2 2 1 -o hurt -cpi hurt/state_prev.cpt
    same well hurt
}

# Going on from the previous checkpoint because the last is damaged: the damaged one is kept aside
# and does not push the good one out.
case_previous_checkpoint() {
    expect 0 'ns/day' $run -dd 2 2 1 -o o -nsteps 20
    expect 0 'ns/day' $run -dd 2 2 1 -o o -cpi o/state.cpt -nsteps 40
    [ -e o/state_prev.cpt ] || fail 'no previous checkpoint'
    cp o/state_prev.cpt good.cpt
    truncate -s 5000 o/state.cpt
    expect 0 'ns/day' $run -dd 2 2 1 -o o -cpi o/state_prev.cpt -nsteps 60
    [ "$(wc -c <'o/#state.cpt.1#')" -eq 5000 ] || fail 'the damaged checkpoint is not kept'
    cmp good.cpt o/state_prev.cpt >&2 || fail 'the good checkpoint was pushed out'
    expect 0 'ns/day' $run -dd 2 2 1 -o calm -nsteps 60
    same calm o
}

# Restarts with other inputs than the run began with.
case_changed_inputs() {
    expect 0 'ns/day' $run -dd 2 2 1 -o steady
    expect 0 'ns/day' $run -dd 2 2 1 -o changed -nsteps 20
    cp -r changed before
    again="-o changed -dd 2 2 1 -cpi changed/state.cpt"
    for change in 's/dt = .*/dt = 0.001/' 's/\(rvdw\|rcoulomb\) = .*/\1 = 0.8/' \
        's/tau-t = .*/tau-t = 0.1/' 's/constraints = .*/constraints = none/' \
        's/ld-seed = .*/ld-seed = 7/'; do
        sed "$change" md.mdp >other.mdp
        expect 1 'other run parameters than other.mdp\|another topology' "$sundog" run \
            -f other.mdp $water -reproducible $again
    done
    for file in topol.top ../grappa.itp; do cp "$box/$file" .; done
    sed -i 's/\.\.\/grappa/grappa/' topol.top
    expect 0 'ns/day' "$sundog" run -f md.mdp -c "$box/conf.gro" -p topol.top -nsteps 0 -o probe
    sed -i 's/15\.99[0-9]*/16.1/' grappa.itp
    expect 1 'another topology than topol.top' "$sundog" run -f md.mdp -c "$box/conf.gro" \
        -p topol.top -reproducible $again
    sed '2s/.*/ 1497/; 3,5d' "$box/conf.gro" >fewer.gro
    expect 1 '1497.*1500\|1500.*1497' "$sundog" run -f md.mdp -c fewer.gro \
        -p "$box/topol.top" $again
    diff -r before changed >&2 || fail 'a refused restart changed the folder'
    # other positions are no other inputs: the checkpoint has its own
    expect 0 'ns/day' "$sundog" run -f md.mdp -c changed/confout.gro -p "$box/topol.top" \
        -reproducible $again
    same steady changed
}

run_cases 'blow_up broken_restart lincs_warnings memory restart_refused disk_full no_folder
    damaged_checkpoint previous_checkpoint changed_inputs' -- "$@"
