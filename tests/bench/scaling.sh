#!/bin/sh
# All of `make bench-scaling`: measures training in 1, 2 and 4 processes, writes down what the simulation needs, simulates
# many machines, and compares with PyTorch.
#
# usage: scaling.sh <bench_scaling> <mpirun> <file to write> [python with PyTorch [folder of Multi30k]]
#        (in the repository's root)
# Of 4 processes on fewer cores only bits and bytes count. Nothing else should run meanwhile.
program=$1
mpirun=$2
file=$3
python=$4
data=$5
# Open MPI refuses root, and more processes than cores, unless it is told; others do not read these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
one() { $mpirun -np 1 -bind-to core "$program" "$@" --threads 1; }
two() { $mpirun -np 2 -bind-to core "$program" "$@" --threads 1; }
four() { $mpirun -np 4 -bind-to none "$program" "$@" --threads 1; }
title() { printf '\n== %s\n\n' "$1"; }

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
: >"$file.new" || exit 1
set -e

title 'One process: a plain loop, and nn::DataParallel'
one overhead toy reverse char_small multi30k --pairs 60

title 'Two processes of one thread, through shared memory'
for workload in reverse multi30k char paper_base; do
    case $workload in
        reverse) n='--rounds 9 --steps 20' ;;
        paper_base) n='--rounds 2 --steps 4 --quick' ;;  # steps of ten seconds
        *) n='--rounds 5' ;;
    esac
    # shellcheck disable=SC2086
    two steps --workload $workload $n --record "$file.new"
done

title 'Four processes: bits and bytes'
for workload in reverse multi30k char; do four steps --workload $workload --rounds 1 --steps 2 --quick; done

title 'Two processes, and a slow network'
# By the kernel where that is possible (a status of 69: it is not), else by software.
slowed() {
    set -- "$1" "$2" steps --workload multi30k --rounds 3 --threads 1 --record "$file.new"
    gbit=$1
    latency=$2
    shift 2
    status=0
    sh tests/bench/network.sh "$gbit" "$latency" "$mpirun" "$program" "$@" --network "$gbit" || status=$?
    [ $status = 69 ] || return $status
    echo "slowed down by software (tests/bench/wire.h):"
    two "$@" --bandwidth "$gbit" --latency "$latency"
}
for link in '1 20' '1 1000' '10 20' '10 1000'; do
    # shellcheck disable=SC2086
    slowed $link
    echo
done

title 'Parts of real sentences: how unequal they are'
set --
[ ! -e "$data/train.lc.norm.tok.en" ] || set -- "$data/train.lc.norm.tok.en" "$data/train.lc.norm.tok.de"
"$program" imbalance "$@"

title "What the simulation needs, into $file"
two messages --record "$file.new" --machine "${processor:-unknown processor}"
for workload in reverse multi30k char classifier; do two profile $workload --steps 7 --record "$file.new"; done
for workload in paper_base paper_base_37k paper_big_37k; do two profile $workload --steps 2 --record "$file.new"; done
mv "$file.new" "$file"

title 'Simulated'
"$program" simulate "$file"

if [ -n "$python" ]; then
    title 'The same work in PyTorch: two processes under torchrun, gloo, DistributedDataParallel'
    "$python" tests/bench/peers/scaling.py --program "$program" --mpirun "$mpirun"
fi
