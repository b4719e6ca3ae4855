#!/bin/sh
# Removes what make built, but not what deps-peers installed: to build anew, nobody wants to fetch 6 GB anew.
#
# usage: clean.sh <build folder> <other file...>
build=$1
shift
if ls -A "$build" 2>/dev/null | grep -qvx peers &&
    ! ls "$build/flags" "$build"/double/flags "$build"/[at]san/flags 2>/dev/null | grep -q .; then
    echo "make clean: BUILD=$build is no folder that make built in" >&2
    exit 1
fi
[ ! -d "$build" ] || find "$build" -mindepth 1 -maxdepth 1 ! -name peers -exec rm -rf {} +
rmdir "$build" 2>/dev/null
rm -f "$@"
