#!/bin/sh
# Installs what the tests need beyond the compiler, which is Catch2, with the system's package manager. It exists so
# that the README can say `make deps` for every system. With --all, also what .ci/run needs (Debian and Ubuntu): clang
# with its standard library, a compiler and an emulator for another processor, clang-format, CMake, PyTorch, a browser.
#
# usage: deps.sh [--all] <compiler...>     (the compiler, to see whether Catch2 is there already)
all=
if [ "$1" = --all ]; then all=yes && shift; fi
have() { command -v "$1" >/dev/null 2>&1; }
compiles() { printf '%b' "$1" | $2 -std=c++20 -x c++ -o /dev/null - >/dev/null 2>&1; }
torch() { python3 -c 'import torch' 2>/dev/null || /usr/bin/python3 -c 'import torch' 2>/dev/null; }

missing=
need() { missing="$missing $*"; }
if ! printf '#if !__has_include(<catch2/catch_all.hpp>) && !__has_include(<catch2/catch.hpp>)\n#error\n#endif\n' |
    "$@" -std=c++20 -x c++ -E - >/dev/null 2>&1; then
    need catch2
fi
if [ -n "$all" ] && have apt-get; then
    have pkg-config || need pkg-config
    have cmake || need cmake
    have clang-format || need clang-format
    compiles '#include <string>\nint main() { return int(std::string().size()); }\n' 'clang++ -stdlib=libc++' ||
        need clang libc++-dev libc++abi-dev
    have aarch64-linux-gnu-g++ || need g++-aarch64-linux-gnu
    have qemu-aarch64 || need qemu-user
    have chromium || have chromium-browser || have google-chrome || need chromium
    torch || need python3-torch
fi
if [ -z "$missing" ]; then
    echo "make deps: all is there, nothing to do"
    exit 0
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
if have apt-get; then
    $sudo apt-get update || exit 1
    # One after the other, so that a missing package does not prevent the others.
    for package in $missing; do
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" || failed="$failed $package"
    done
    if [ -n "$failed" ]; then
        echo "make deps: could not be installed:$failed" >&2
        exit 1
    fi
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
