#!/bin/sh
# Runs a program in two processes as on two machines, with a slow network between them: two network namespaces of Linux,
# joined by a pair of virtual network devices (veth), which tc slows down. Each process sees a host name and addresses of
# its own, so MPI sends by TCP.
#
# usage: network.sh <Gbit/s> <microseconds> <mpirun> <program> [argument...]
#        (0 microseconds: the devices' own latency, some 5 to 20)
# tc's netem slows both down; where the kernel has no netem, tbf slows the bandwidth alone.
# Exit status 69 (EX_UNAVAILABLE) and one line: this machine or this user can't.
gbit=$1
latency=$2
mpirun=$3
shift 3

cannot() {
    echo "network.sh: $*" >&2
    exit 69
}
[ "$(id -u 2>/dev/null)" = 0 ] || cannot 'network namespaces need root'
for tool in ip tc unshare hostname; do
    command -v $tool >/dev/null || cannot "there is no '$tool' (iproute2, util-linux)"
done

# Named after this process: several may run at once. The device has the same name in both.
device=eth0
space() { echo "plaingrad$$-$1"; }
address() { echo "192.0.2.$(($1 + 1))"; }  # RFC 5737: for documentation, so no real network has it
agent=
running=
# shellcheck disable=SC2317  # the trap calls it
clean() {
    trap '' INT TERM HUP
    if [ -n "$running" ]; then
        kill "$running" 2>/dev/null
        wait "$running" 2>/dev/null
    fi
    for n in 0 1; do
        ip netns pids "$(space $n)" 2>/dev/null | xargs -r kill -9
        ip netns del "$(space $n)" 2>/dev/null  # and its device
    done
    rm -f "$agent"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

for n in 0 1; do ip netns add "$(space $n)" 2>/dev/null || cannot 'network namespaces are not permitted here'; done
ip -n "$(space 0)" link add $device type veth peer name $device netns "$(space 1)" 2>/dev/null ||
    cannot 'the kernel has no virtual network devices (veth)'
for n in 0 1; do
    ip -n "$(space $n)" addr add "$(address $n)/24" dev $device
    ip -n "$(space $n)" link set lo up
    ip -n "$(space $n)" link set $device up
done
# Devices come up a moment later, and MPICH looks only once.
is_up() { ip -n "$(space "$1")" -brief link show $device | grep -q ' UP '; }
tries=50
until is_up 0 && is_up 1; do
    [ $((tries -= 1)) -gt 0 ] || cannot 'the virtual network devices do not come up'
    sleep 0.1
done
# slow <discipline> <its arguments>
slow() {
    for n in 0 1; do
        # shellcheck disable=SC2086  # several words
        tc -n "$(space $n)" qdisc add dev $device root $1 2>/dev/null || return
    done
}
if slow "netem delay ${latency}us rate ${gbit}gbit limit 100000"; then
    by="netem: $gbit Gbit/s, $latency us besides the device's own"
elif [ "$latency" -gt 20 ]; then
    cannot "the kernel has no netem, and tbf can't slow the latency down to $latency us"
elif slow "tbf rate ${gbit}gbit burst 128k latency 50ms"; then
    by="tbf: $gbit Gbit/s, and the device's own latency"
else
    cannot 'the kernel has neither netem nor tbf (tc)'
fi
echo "two network namespaces, slowed down by tc $by"

# Starts a command on the other machine, as ssh does. Each machine has a core, if there are enough of them.
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then bind='taskset -cp'; else bind=':'; fi
agent=$(mktemp) || exit 1
cat >"$agent" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
n=\$((\${1##*.} - 1))
shift
[ '$bind' = : ] || $bind \$n \$\$ >/dev/null
exec ip netns exec plaingrad$$-\$n unshare --uts sh -c "hostname node\$n; \$*"
END
chmod +x "$agent"
hosts=$(address 0),$(address 1)
case $($mpirun --version 2>/dev/null | head -n 1) in
    *'Open MPI'* | *OpenRTE*)
        set -- --mca plm_rsh_agent "$agent" --mca btl tcp,self --mca pml ob1 --bind-to none -np 2 --host "$hosts" "$@" ;;
    *)  # MPICH and what descends from it
        set -- -iface $device -genv UCX_TLS tcp,self -genv MPIR_CVAR_NOLOCAL 1 -bind-to none -launcher ssh \
            -launcher-exec "$agent" -np 2 -hosts "$hosts" "$@" ;;
esac
[ "$bind" = : ] || $bind 0 $$ >/dev/null
# shellcheck disable=SC2016  # for the inner shell
ip netns exec "$(space 0)" unshare --uts sh -c 'hostname node0; exec "$@"' - $mpirun "$@" &
running=$!
wait "$running"
status=$?
running=
exit $status
