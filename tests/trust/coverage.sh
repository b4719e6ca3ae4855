#!/bin/sh
# How much of the sources the tests run: clang's source-based coverage, in a build of its own. The programs that tests
# start count as well, and so do the gradient checks of the double build, and the slow tests. Only the long scale has it:
# it takes a build, and all tests.
#
# usage: coverage.sh <quick|sample|long> <seed>     (in the repository's root)
# It leaves build/coverage/missing.txt, which names each line and each side of a condition that never ran.
#
# nn/parallel/team_mpi.cpp has no figure: it is compiled only with an MPI, and `make test-mpi` runs it in many processes.
set -u
make=${MAKE:-make}
for tool in clang++ llvm-profdata llvm-cov; do
    command -v $tool >/dev/null || { echo "skipped coverage. $tool is not installed (make deps-trust)"; exit 0; }
done
# The calling make's own variables are for another build.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD VARIANT TESTS

echo "compiler $(clang++ --version | head -n 1)"
case ${CXX:-} in ccache*) compiler='ccache clang++' ;; *) compiler=clang++ ;; esac
folder=build/coverage
profiles=$folder/profiles
rm -rf $profiles
mkdir -p $folder
build() {
    "$make" CXX="$compiler" BUILD=$folder PCH=no CXXFLAGS='-fprofile-instr-generate -fcoverage-mapping' "$@"
}
# Of each binary four files, which its processes add to; an absolute path, as programs run in other folders.
export LLVM_PROFILE_FILE="$PWD/$profiles/%4m.profraw"
# Failed tests do not matter here: one limits the size of files, so that its profile cannot be written. `make test` says
# whether all pass.
build test >$folder/test.log 2>&1
grep -E '^[0-9]+ passed, ' $folder/test.log || { tail -n 20 $folder/test.log; exit 1; }
build test-long >$folder/test_long.log 2>&1
grep -E '^[0-9]+ passed, ' $folder/test_long.log || { tail -n 20 $folder/test_long.log; exit 1; }
unset LLVM_PROFILE_FILE

# A process that was killed while it wrote leaves a broken file: one is no reason to lose the others.
llvm-profdata merge -sparse -failure-mode=all $profiles/*.profraw -o $folder/all.profdata || exit 1
objects=
for binary in $folder/double/gradchecks $folder/chapters "$folder"/apps/* "$folder"/bench/*; do
    if [ -x "$binary" ]; then objects="$objects -object $binary"; fi
done
sources=$(find autograd nn models apps/kit \( -name '*.cpp' -o -name '*.h' \) | LC_ALL=C sort)
# What takes in files that others wrote: the checkpoint with its JSON, saved models, and the JSON files of models of others.
find nn/checkpoint models/hugging_face models/text/tokenizer models/saved.* models/text/tokenizer.* \
    -name '*.cpp' -o -name '*.h' >$folder/readers.txt
# shellcheck disable=SC2086  # lists of words
llvm-cov show -show-branches=count -show-instantiations=false -instr-profile $folder/all.profdata $folder/tests \
    $objects $sources >$folder/show.txt || exit 1
awk -v root="$PWD" -v missing=$folder/missing.txt -f tests/trust/coverage.awk $folder/readers.txt $folder/show.txt
