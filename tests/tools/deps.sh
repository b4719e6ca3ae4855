#!/bin/sh
# Installs Catch2, the only thing that the tests need beyond the compiler, with the package manager
# that is there. It exists so that the README can say `make deps` on every system.
#
# usage: deps.sh <compiler...>     (to see whether Catch2 is there already)
if printf '#if !__has_include(<catch2/catch_all.hpp>) && !__has_include(<catch2/catch.hpp>)\n#error\n#endif\n' |
    "$@" -std=c++20 -x c++ -E - >/dev/null 2>&1; then
    echo "make deps: Catch2 is there, nothing to do"
    exit 0
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
have() { command -v "$1" >/dev/null 2>&1; }

set -e
if have apt-get; then
    $sudo apt-get update
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y catch2
elif have dnf; then
    $sudo dnf install -y catch2-devel
elif have pacman; then
    $sudo pacman -Sy --noconfirm catch2
elif have brew; then
    brew install catch2 # brew refuses to run as root
else
    echo "make deps: found none of apt-get, dnf, pacman, brew; install Catch2 2.13 or 3 by hand: https://github.com/catchorg/Catch2" >&2
    exit 1
fi
