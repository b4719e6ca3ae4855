#!/bin/sh
# All of `make bench-scaling`: training steps in two processes of one thread, compared with one process, and with PyTorch.
#
# usage: scaling.sh <bench_scaling> <mpirun> [python with PyTorch]     (in the repository's root)
# Nothing else should run meanwhile.
program=$1
mpirun=$2
python=$3
# Open MPI refuses root unless it is told; others do not read these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
set -e
two() { $mpirun -np 2 -bind-to core "$program" "$@" --threads 1; }
two reverse --rounds 9 --steps 20
two multi30k char
two paper_base --rounds 2  # steps of ten seconds
if [ -n "$python" ]; then
    echo 'The same work in PyTorch: two processes under torchrun, gloo, DistributedDataParallel'
    "$python" tests/bench/peers/scaling.py --program "$program" --mpirun "$mpirun"
fi
