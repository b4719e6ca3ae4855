#!/bin/sh
# Installs what the tests need beyond the compiler, which is Catch2, with the system's package manager. It exists so
# that the README can say `make deps` for every system. With --all, also what .ci/run needs (Debian and Ubuntu): clang
# with its standard library, a compiler and an emulator for another processor, clang-format, CMake, PyTorch, a browser.
# With --mpi, instead of all that, Open MPI and MPICH, which `make test-mpi` compares; --all has them, too. With --trust
# what `make trust` measures with (Debian and Ubuntu): analysers, emulators, compilers of all versions, and Catch2 3.
#
# usage: deps.sh [--all|--mpi|--trust] <compiler...>     (the compiler, to see whether Catch2 is there already)
all= mpi= trust= build_catch2= failed= target=deps
case $1 in
--all) all=yes && mpi=yes && shift ;;
--mpi) mpi=yes && target=deps-mpi && shift ;;
--trust) trust=yes && target=deps-trust && shift ;;
esac
have() { command -v "$1" >/dev/null 2>&1; }
compiles() { printf '%b' "$1" | $2 -std=c++20 -x c++ -o /dev/null - >/dev/null 2>&1; }
torch() { python3 -c 'import torch' 2>/dev/null || /usr/bin/python3 -c 'import torch' 2>/dev/null; }

missing=
need() { missing="$missing $*"; }
# What a package is called here: by apt-get, dnf, pacman and brew.
named() {
    if have apt-get; then echo "$1"; elif have dnf; then echo "$2"; elif have pacman; then echo "$3"; else echo "$4"; fi
}
if [ $target = deps ] && ! printf '#if !__has_include(<catch2/catch_all.hpp>) && !__has_include(<catch2/catch.hpp>)\n#error\n#endif\n' |
    "$@" -std=c++20 -x c++ -E - >/dev/null 2>&1; then
    need "$(named catch2 catch2-devel catch2 catch2)"
fi
# (Where their compilers have no names of their own, any mpicc will do.)
if [ -n "$mpi" ] && ! { have mpicc.openmpi || { ! have apt-get && have mpicc; }; }; then
    need "$(named 'libopenmpi-dev openmpi-bin' openmpi-devel openmpi open-mpi)"
fi
if [ -n "$mpi" ] && have apt-get && ! have mpicc.mpich; then need libmpich-dev mpich; fi
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
if [ -n "$all$trust" ] && have apt-get; then
    # What instruments the code for the fuzzer and for coverage; and clang's parser, for tests/mutate.
    compiles 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n' \
        'clang++ -fsanitize=fuzzer,address' || need libclang-rt-dev
    /usr/bin/python3 -c 'import clang.cindex' 2>/dev/null || need python3-clang
fi
if [ -n "$trust" ] && have apt-get; then
    for pair in clang++:clang clang-tidy:clang-tidy llvm-cov:llvm valgrind:valgrind qemu-x86_64:qemu-user cmake:cmake \
        aarch64-linux-gnu-g++:g++-aarch64-linux-gnu pkg-config:pkg-config; do
        have "${pair%%:*}" || need "${pair#*:}"
    done
    compiles '#include <string>\nint main() { return int(std::string().size()); }\n' 'clang++ -stdlib=libc++' ||
        need libc++-dev libc++abi-dev
    # All versions that this system has, from the oldest that the README names.
    for compiler in $(apt-cache pkgnames g++-; apt-cache pkgnames clang-); do
        number=${compiler##*-}
        case $compiler in
        g++-[0-9][0-9]) [ "$number" -lt 11 ] || have "$compiler" || need "$compiler" ;;
        clang-[0-9][0-9]) [ "$number" -lt 14 ] || have "clang++-$number" || need "$compiler" ;;
        esac
    done
    [ -e build/catch2/share/pkgconfig/catch2.pc ] || build_catch2=yes
fi
if [ -z "$missing$build_catch2" ]; then
    echo "make $target: all is there, nothing to do"
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
    if [ -n "$build_catch2" ]; then sh tests/tools/deps_catch2.sh build/catch2 || failed="$failed Catch2-3"; fi
    if [ -n "$failed" ]; then
        echo "make $target: could not be installed:$failed" >&2
        exit 1
    fi
elif have dnf; then
    # shellcheck disable=SC2086  # names of packages
    $sudo dnf install -y $missing
elif have pacman; then
    # shellcheck disable=SC2086
    $sudo pacman -Sy --noconfirm $missing
elif have brew; then
    # shellcheck disable=SC2086
    brew install $missing # brew refuses to run as root
else
    echo "make $target: found none of apt-get, dnf, pacman, brew; install by hand:$missing" >&2
    [ $target = deps-mpi ] || echo "Catch2 2.13 or 3 is at https://github.com/catchorg/Catch2" >&2
    exit 1
fi
