#!/bin/sh
# kill -9 at random moments, start-up and restart included, three times or more in one run; then the
# run goes on to its end. All results must be the bytes of the run that nobody killed.
#
#   test_kills.sh SUNDOG SOURCE_DIR [KILLS_A_SETTING [SEED [SETTING...]]]
sundog_and_source="$1 $2"
kills=${3:-6} seed=${4:-1}
[ $# -le 4 ] && set -- "$1" "$2" "$kills" "$seed" nve nvt groups shell npt restrained
shift 4
settings=$*
# shellcheck disable=SC2086
set -- $sundog_and_source
. "${0%/*}/common.sh"

sed 's/nstxout = .*/nstxout = 10/; s/nsteps = .*/nsteps = 300/' md.mdp >nvt.mdp
sed 's/nstxout = .*/nstxout = 10/; s/nsteps = .*/nsteps = 300/' nve.mdp >long.mdp
mv long.mdp nve.mdp
cp nvt.mdp shell.mdp
{
    sed 's/tc-grps = .*/tc-grps = ETH SOL/; s/tau-t = .*/tau-t = 0.1 0.4/
         s/ref-t = .*/ref-t = 310 290/' nvt.mdp
    printf 'nsttcouple = 5\ncomm-grps = ETH SOL\nnstcomm = 20\ncompressed-x-grps = ETH\n'
    printf 'gen-vel = yes\ngen-temp = 300\ngen-seed = 7\n'
} >groups.mdp
{
    sed 's/ref-t = .*/ref-t = 300 300/' groups.mdp
    printf 'pcoupl = C-rescale\npcoupltype = semiisotropic\ntau-p = 1\nref-p = 1 1\n'
    printf 'compressibility = 4.5e-5 4.5e-5\nnstpcouple = 10\n'
} >npt.mdp

# random LEAST MOST: seconds
random() {
    seed=$(awk -v s="$seed" 'BEGIN { print (s * 1103515245 + 12345) % 2147483648 }')
    awk -v s="$seed" -v lo="$1" -v hi="$2" 'BEGIN { print lo + (hi - lo) * s / 2147483648 }'
}

# kill_run DIR SECONDS ARGUMENTS: start, kill; fails when the run ended in error by itself
kill_run() {
    dir=$1 seconds=$2
    shift 2
    "$@" -o "$dir" -cpi "$dir/state.cpt" -cpt 0.0003 >killed.txt 2>&1 &
    pid=$!
    sleep "$seconds"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    grep -q 'error' killed.txt && { fail "$dir: $(cat killed.txt)"; return 1; }
    return 0
}

sed '/^tau-p/d; /^ref-p/d; /^compress/d; /^pcoupltype/d; /^comm-grps/d; /^compressed-x-grps/d
     s/tc-grps = .*/tc-grps = System/; s/tau-t = .*/tau-t = 0.5/; s/ref-t = .*/ref-t = 300/' \
    npt.mdp >restrained.mdp
printf 'define = -DPOSRES\nrefcoord-scaling = com\n' >>restrained.mdp
printf 'tau-p = 1\nref-p = 1\ncompressibility = 4.5e-5\n' >>restrained.mdp
peptide=$source/systems/peptide/ala_dipeptide

for setting in $settings; do
    grid="-dd 2 1 1" inputs=$water
    [ "$setting" = restrained ] &&
        inputs="-c $peptide/conf.gro -p $peptide/topol.top -r $peptide/restraints.gro"
    [ "$setting" = shell ] && grid="-dd 1 2 1 -scheme shell"
    one="$sundog run -f $setting.mdp $inputs -reproducible $grid"
    # shellcheck disable=SC2086
    expect 0 'ns/day' $one -o "calm_$setting"
    longest=$(awk '/ steps in / { t = $4 + 0.2 } END { print t }' "calm_$setting/md.log")
    n=0 trial=0
    while [ $n -lt "$kills" ] && [ $failed -eq 0 ]; do
        trial=$((trial + 1))
        dir="${setting}_$trial"
        for _ in 1 2 3; do
            kill_run "$dir" "$(random 0.02 "$longest")" $one || break
            n=$((n + 1))
        done
        # shellcheck disable=SC2086
        expect 0 'ns/day' $one -o "$dir" -cpi "$dir/state.cpt"
        same "calm_$setting" "$dir"
        [ $failed -eq 0 ] && rm -r "$dir"
    done
    echo "$setting: $n kills"
done
exit $failed
