#!/bin/sh
# Can the tests fail? Small changes of the sources, each of which a test must notice: tests/mutate.
#
# usage: mutants.sh <sample|long> <seed>     TRUST_PART: a share of the changes, as 1of2
# Environment: GO_ON=1 takes up a run that was interrupted: what it has answered counts.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD VARIANT TESTS RUN UNITY PCH  # of the calling make, for another build
case $1 in
long) set -- --count 1600 --constants 10 --seed "$2" ;;
*) set -- --count 150 --seed "$2" ;;
esac
case ${TRUST_PART:-} in
'') ;;
[1-9]of[1-9]) set -- "$@" --share "$TRUST_PART" --folder "build/mutate_$TRUST_PART" ;;  # shares may run side by side
*) echo "there is no part '$TRUST_PART' of mutants" >&2 && exit 2 ;;
esac
if [ -n "${GO_ON:-}" ]; then set -- "$@" --go-on; fi
# Python with clang's bindings: the system's first, as its library and its headers are of one version.
for python in /usr/bin/python3 python3; do
    $python -c 'import clang.cindex as c; c.Index.create()' 2>/dev/null && exec $python tests/mutate "$@"
done
echo 'skipped mutants. there is no Python with clang.cindex (Debian: python3-clang)'
