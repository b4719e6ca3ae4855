#!/bin/sh
# Builds what the tests of tests/mpi run, for each MPI that is there, and runs them. It exists because each MPI has an
# mpicc and an mpirun of its own, which Debian tells apart by name; elsewhere there is one of each.
#
# usage: test_mpi.sh <folder> <Catch2 filter> <program...>
# <folder>/tests are the tests.
# MAKE builds the programs: without MPI into <folder>/none/apps, and with it into <folder>/NAME/apps.
folder=$1 filter=$2
shift 2

build() {  # <name> <settings...>
    name=$1
    shift
    # shellcheck disable=SC2086  # names of programs
    $MAKE "$@" LIB="$folder/$name/libplaingrad.a" APPS_IN="$folder/$name/apps" $(printf "$folder/$name/apps/%s " $programs) || exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }
programs=$*
mpis=
for name in openmpi mpich; do
    if have mpicc.$name && have mpirun.$name; then
        mpis="$mpis $name=$(command -v mpirun.$name)"
        build $name MPI=1 MPICC=mpicc.$name
    fi
done
if [ -z "$mpis" ] && have mpicc && have mpirun; then
    mpis="mpi=$(command -v mpirun)"
    build mpi MPI=1 MPICC=mpicc
fi
if [ -z "$mpis" ]; then
    echo 'make test-mpi: there is no MPI here (mpicc and mpirun); make deps-mpi installs two'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
build none MPI=
PLAINGRAD_MPIS=$mpis PLAINGRAD_MPI=$folder sh tests/tools/run_tests.sh "$folder/tests" "$filter"
