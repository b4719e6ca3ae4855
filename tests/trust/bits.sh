#!/bin/sh
# Whether the same numbers come out everywhere: tests/trust/bits/weights.cpp trains a model of each kind for 100 steps,
# and the hashes of the weights are compared with those kept in tests/trust/bits/weights.txt, in every way to run it.
#
# usage: bits.sh <quick|sample|long> <seed>
# Environment: PLAINGRAD_TRUST, the folder of the program `weights`; MAKE and CXX, for builds by other compilers (in
# build/bits), which the scale `quick` leaves out. (`few` and `wide` are sets of models: see weights.cpp.) KEEP=1 stores
# today's hashes as the kept ones.
# A way that this machine does not have is left out, with a line that says why.
set -u
scale=$1 seed=$2
programs=${PLAINGRAD_TRUST:-build/trust}
MAKE=${MAKE:-make} CXX=${CXX:-g++}
kept=tests/trust/bits/weights.txt
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD VARIANT CXXFLAGS PLAINGRAD_ISA PLAINGRAD_THREADS
work=$(mktemp -d) || exit 1
group=
trap 'rm -rf "$work"; [ -z "$group" ] || rmdir "$group" 2>/dev/null' EXIT
trap 'exit 130' INT TERM
ways=0 different=0 first= left_out=

if [ "${KEEP:-0}" != 0 ]; then
    { "$programs/weights" && "$programs/weights" wide; } >"$work/now" && mv "$work/now" "$kept"
    exit
fi

# compare <name of the way> <command...>: whether it prints the kept hashes of what its last word asks for. One that fails
# is different.
compare() {
    way=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    ways=$((ways + 1))
    eval "asked=\${$#}"
    case $asked in
    wide) grep '^wide-' "$kept" ;;
    few) grep -E '^(paper|writer-llama|classifier) ' "$kept" ;;
    *) grep -v '^wide-' "$kept" ;;
    esac >"$work/expected"
    diff "$work/expected" "$work/out" >"$work/other"
    same=$?
    # (On a full disk all of these are empty.)
    if [ "$status" -eq 0 ] && [ $same -eq 0 ] && [ -s "$work/expected" ]; then
        echo "same: $way"
        return
    fi
    different=$((different + 1))
    first=${first:-$way}
    echo "DIFFERENT: $way: $(sed -n 2p "$work/other") $(tail -n 1 "$work/err") (exit $status)"
}
skip() { echo "skipped: $1: $2" && left_out="$left_out; $1"; }
has() { command -v "$1" >/dev/null 2>&1; }

# ---- this build: threads, instruction sets, what the caller has set, processors

weights=$programs/weights
for threads in 1 2 3 4 7 8 16; do
    compare "$threads threads" env PLAINGRAD_THREADS=$threads "$weights"
    compare "$threads threads, wide" env PLAINGRAD_THREADS=$threads "$weights" wide
done

for isa in baseline avx2 avx512 avx512bf16 neon; do
    if PLAINGRAD_ISA=$isa "$weights" isa >/dev/null 2>"$work/err"; then
        compare "instruction set $isa" env PLAINGRAD_ISA=$isa "$weights"
        [ $isa = baseline ] || compare "instruction set $isa, wide" env PLAINGRAD_ISA=$isa "$weights" wide
    else
        why=$(tail -n 1 "$work/err" | cut -c 1-100)
        case $isa in avx512) flag=avx512dq ;; avx512bf16) flag=avx512_bf16 ;; neon) flag=asimd ;; *) flag=$isa ;; esac
        if [ $isa = baseline ] || grep -qw "$flag" /proc/cpuinfo 2>/dev/null; then  # the processor has it, and the library does not use it
            ways=$((ways + 1)) different=$((different + 1)) first=${first:-instruction set $isa}
            echo "DIFFERENT: instruction set $isa: $why"
        else
            skip "instruction set $isa" "$why"
        fi
    fi
done

compare "a caller that flushes subnormals" env FLUSH=1 PLAINGRAD_THREADS=2 "$weights"

# Two of the processors that this shell may use, as `1,4`; one, if it has no more.
two=$(has taskset && taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); ++i) print i }' | head -n 2 | paste -s -d , -)
if [ -n "$two" ]; then
    compare "on one processor" taskset -c "${two%,*}" "$weights"
    compare "on one processor, 8 threads" env PLAINGRAD_THREADS=8 taskset -c "${two%,*}" "$weights" wide
else
    skip "on one processor" "taskset is missing"
fi

# ---- other builds

# build <name> <make arguments...>: builds the program that computes the weights; its path is in $built, or nothing if it
# cannot be built.
build() {
    name=$1
    shift
    built=build/bits/$name/trust/weights
    if ! "$MAKE" GRADCHECKS=no BUILD="build/bits/$name" "$@" "$built" >"$work/log" 2>&1; then
        built=
        ways=$((ways + 1)) different=$((different + 1)) first=${first:-$name}
        echo "DIFFERENT: $name: cannot be built: $(grep -m 1 -E 'error|Error' "$work/log")"
    fi
}

others() {
    if ! has clang++; then
        skip "clang++" "it is not installed"
    else
        # With another standard library, if it is there.
        clang='clang++ -stdlib=libc++'
        echo 'int main() {}' | $clang -x c++ - -o "$work/empty" 2>/dev/null || clang=clang++
        build clang CXX="$clang" PCH=no
        [ -z "$built" ] || { compare "clang++" "$built"; compare "clang++, wide" "$built" wide; }
        if [ "$scale" = long ]; then
            build clang-unoptimised CXX="sh tests/trust/bits/unoptimised.sh clang++" PCH=no
            [ -z "$built" ] || compare "clang++ -O0" "$built"
        fi
    fi
    build unoptimised CXX="sh tests/trust/bits/unoptimised.sh g++" PCH=no
    [ -z "$built" ] || compare "g++ -O0" "$built"

    # (An emulator takes a hundred times as long: a sample trains three models.)
    models=$([ "$scale" = long ] || echo few)
    # shellcheck disable=SC2086  # or none
    if has aarch64-linux-gnu-g++ && has qemu-aarch64; then
        build aarch64 CXX=aarch64-linux-gnu-g++
        [ -z "$built" ] || compare "aarch64, emulated" qemu-aarch64 -L /usr/aarch64-linux-gnu "$built" $models
    else
        skip "aarch64" "aarch64-linux-gnu-g++ or qemu-aarch64 is not installed"
    fi
    if has qemu-x86_64 && [ "$(uname -m)" = x86_64 ]; then
        # (No processor that it emulates has AVX-512.)
        compare "an old processor, emulated (baseline)" env PLAINGRAD_ISA=baseline qemu-x86_64 -cpu Nehalem "$weights" few
        compare "a newer processor, emulated (AVX2)" env PLAINGRAD_ISA=avx2 qemu-x86_64 -cpu Haswell "$weights" $models
    else
        skip "older processors" "qemu-x86_64 is not installed"
    fi
}
[ "$scale" = quick ] || others
# Where ways are left out, fewer than asked can be tried.
asked=$(awk -F '[|/]' -v scale="$scale" '$1 ~ /^bits.ways / { sub(/.*>/, "", $3); print $(scale == "quick" ? 3 : scale == "sample" ? 4 : 5) + 0 }' tests/trust/figures.txt)
if [ -n "$left_out" ] && [ $ways -lt "$asked" ]; then
    echo "skipped bits.ways only $ways, without ${left_out#; }"
else
    echo "figure bits.ways $ways${left_out:+ left out: ${left_out#; }}"
fi
echo "figure bits.different $different $first"

# ---- threads that wait

# On two processors, however many there are: the program keeps them busy itself.
case $two in
*,*)
    taskset -c "$two" "$weights" busy >"$work/busy" || { tail -n 3 "$work/busy"; exit 1; }
    awk '1; $1 == "busy" { sub(":", "", $2); print "figure bits.busy " $2 }' "$work/busy" ;;
*) echo "skipped bits.busy taskset is missing, or there is one processor" ;;
esac
