#!/bin/sh
# Two and four hosts with TCP between them, made of network namespaces, each with a host name of its
# own: the same bytes as threads, and a host that is lost in mid-run. Needs root and Open MPI, whose
# daemons are started through a script in place of ssh; 77 (skipped) without.
#
#   MPIRUN=... test_hosts.sh SUNDOG SOURCE_DIR [CASE...]
skip() { echo "skipped: $*"; exit 77; }
mpirun=${MPIRUN:-mpirun}
[ "$(id -u)" -eq 0 ] || skip 'network namespaces need root'
command -v ip >/dev/null && command -v unshare >/dev/null || skip 'no ip or unshare'
"$mpirun" --version 2>&1 | grep -qE 'Open MPI|OpenRTE' || skip "$mpirun is not Open MPI's"
ip netns add "sd$$" 2>/dev/null || skip 'network namespaces cannot be made here'

. "${0%/*}/common.sh"

# sd1234 is the switch, sd1234h0 ... the hosts, 10.77.0.1 ...
n_hosts=4
in_host() { host=$1; shift; ip netns exec "sd${$}h$host" "$@"; }
clean_up() {
    for i in $(seq 0 $((n_hosts - 1))); do
        kill_in "$i" 2>/dev/null
        ip netns del "sd${$}h$i" 2>/dev/null
    done
    ip netns del "sd$$" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
ip -n "sd$$" link add switch type bridge && ip -n "sd$$" link set switch up ||
    skip 'no bridges here'
for i in $(seq 0 $((n_hosts - 1))); do
    ip netns add "sd${$}h$i"
    ip -n "sd$$" link add "port$i" type veth peer name eth0 netns "sd${$}h$i"
    ip -n "sd$$" link set "port$i" master switch up
    ip -n "sd${$}h$i" link set lo up
    ip -n "sd${$}h$i" addr add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "sd${$}h$i" link set eth0 up
done

# What mpirun calls in place of ssh.
cat >agent <<END
#!/bin/sh
address=\$1
shift
host=sd${$}h\$((\${address##*.} - 1))
exec ip netns exec \$host unshare -u sh -c "hostname \$host; \$*"
END
chmod +x agent

# on_hosts N T command...: a process on each of N hosts
on_hosts() {
    n=$1
    shift
    hosts=$(seq -s, -f '10.77.0.%g:1' 1 "$n")
    in_host 0 unshare -u sh -c "hostname sd${$}h0; exec \"\$@\"" - \
        timeout -k 5 100 "$mpirun" -n "$n" --host "$hosts" \
        --mca plm_rsh_agent "$work/agent" --mca plm_rsh_no_tree_spawn 1 \
        --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca btl tcp,self --mca pml ob1 -x SUNDOG_PEER_TIMEOUT "$@" </dev/null
}

# bytes that came to a host
traffic() { in_host "$1" cat /sys/class/net/eth0/statistics/rx_bytes; }

case_hosts() {
    for way in '2 1 2_1_1' '2 2 2_2_1' '4 1 2_2_1'; do
        # shellcheck disable=SC2086
        set -- $way
        grid=$(echo "$3" | tr _ ' ')
        # shellcheck disable=SC2086
        [ -d "threads_$3" ] || expect 0 'ns/day' $run -dd $grid -nsteps 100 -o "threads_$3"
        before=$(traffic 1)
        # shellcheck disable=SC2086
        expect 0 'ns/day' on_hosts "$1" $run -dd $grid -nt "$2" -nsteps 100 -o "hosts_$1x$2"
        same "threads_$3" "hosts_$1x$2"
        # half of the ghosts, 100 steps: some megabytes
        [ $(($(traffic 1) - before)) -gt 1000000 ] || fail "$way: the exchange was not by network"
    done
}

# Our processes in a host
programs_in() {
    for pid in $(ip netns pids "sd${$}h$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = sundog ] && echo "$pid"
    done
}
kill_in() { for pid in $(ip netns pids "sd${$}h$1"); do kill -KILL "$pid" 2>/dev/null; done; }

# The last host is lost: its processes are killed, or its cable is cut. Then those of the others,
# and its own, must end in time; mpirun itself may wait for the host for ever.
lose() {
    n=$1 how=$2 lost=lost_$1_$2
    on_hosts "$n" $run -dd "$n" 1 1 -nsteps 400 -cpt 0.0002 -o "$lost" >out.txt 2>&1 &
    job=$!
    wait_lines "$lost/energy.csv" 10
    if [ "$how" = killed ]; then
        kill_in $((n - 1))
    else
        ip -n "sd$$" link set "port$((n - 1))" down
    fi
    for _ in $(seq 300); do
        left=$(for i in $(seq 0 $((n - 1))); do programs_in "$i"; done)
        [ -z "$left" ] && break
        sleep 0.1
    done
    [ -z "$left" ] || fail "$lost: $left did not end"
    if [ "$how" = cut ]; then
        grep -q '^sundog run: error: .*gave up after' out.txt || fail "$lost: nothing said"
        for i in $(seq 0 $((n - 1))); do kill_in "$i"; done
    fi
    wait $job && fail "$lost: ended with 0"
    ip -n "sd$$" link set "port$((n - 1))" up
    [ -s "$lost/state.cpt" ] || fail "$lost: no checkpoint"
    expect 0 'ns/day' on_hosts "$n" $run -dd "$n" 1 1 -nsteps 400 -o "$lost" -cpi "$lost/state.cpt"
    same "threads_$n" "$lost"
}

case_lost() {
    SUNDOG_PEER_TIMEOUT=4
    export SUNDOG_PEER_TIMEOUT
    for n in 2 4; do
        expect 0 'ns/day' $run -dd $n 1 1 -nsteps 400 -o threads_$n
        lose $n killed
    done
    lose 2 cut
}

run_cases 'hosts lost' -- "$@"
