#!/bin/sh
# Gradients of ops, layers and models, drawn at random, against central differences in double, and those in float
# against those in double. An instrument of `make trust`; the program is tests/trust/gradients.
#
# usage: gradients.sh <quick|sample|long> <seed>     Environment: MAKE, CXX, PLAINGRAD_BUILD
set -u
MAKE=${MAKE:-make} CXX=${CXX:-g++} build=${PLAINGRAD_BUILD:-build}
# Both builds are this script's own: what the calling make was told about its jobs is not for them.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
case $1 in
quick) count=3000 ;;
sample) count=5000 ;;
*) count=50000 ;;
esac
$MAKE CXX="$CXX" BUILD="$build" "$build/trust/gradients" || exit 1
$MAKE CXX="$CXX" BUILD="$build" VARIANT=double "$build/double/trust/gradients" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
trap 'exit 130' INT TERM HUP
"$build/trust/gradients" "$count" "$2" "$work/float" && "$build/double/trust/gradients" "$count" "$2" "$work/float"
