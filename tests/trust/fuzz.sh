#!/bin/sh
# An instrument of `make trust`: clang's fuzzer on everything that reads what others wrote, and on programs of ops
# (tests/fuzz), under the address and undefined-behaviour sanitizers, two targets at a time. Each begins from its seeds and
# kept inputs, so a run with the same seed, and as many inputs, sees the same ones.
#
# usage: fuzz.sh quick|sample|long SEED      TRUST_PART: one of its targets, or a share of its inputs: checkpoint.1of8 to
#                                            checkpoint.8of8, each with a seed of its own; several can run side by side
#        fuzz.sh build                       before, as all use one fuzzer; with MAKE and CXX
# prints `figure fuzz.TARGET INPUTS`, and what was found
set -u
scale=$1 seed=${2:-} corpus=build/trust/fuzz/${TRUST_PART:-all} fuzzer=build/fuzz/asan/fuzz

# How many inputs a target makes, at the sample and the long scale: the number in figures.txt. A million inputs for each
# of the twenty targets would take two processors an hour and a half, so the sample has fewer: what one processor makes in
# half a minute. At the quick scale, each takes three seconds.
asked() {
    awk -F '[|/]' -v target="fuzz.$1" -v long="$([ "$scale" = long ] && echo 1)" \
        '{ name = $1; sub(/ +$/, "", name) } name == target { print (long ? $5 : $4) + 0 }' tests/trust/figures.txt
}

# Called by itself, below, for one target.
if [ $# -ge 3 ]; then
    target=$3 share=${4:-1} shares=${5:-1}
    if [ "$scale" = quick ]; then inputs=-1 seconds=3; else inputs=$(asked "$target") seconds=0; fi
    sh tests/tools/fuzz.sh "$fuzzer" "$corpus" $((inputs < 0 ? -1 : (inputs + shares - 1) / shares)) $seconds $((seed + 1000 * (share - 1))) "$target"
    exit 0
fi

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address -x c++ - -o /dev/null 2>/dev/null; then
    [ "$scale" = build ] || echo "skipped fuzz. there is no clang++ with libFuzzer here (in Debian: clang, libclang-rt-dev)"
    exit 0
fi
if [ "$scale" = build ]; then
    # With jobs of its own, and without the variables of `make trust`.
    exec env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u BUILD -u VARIANT "${MAKE:-make}" CXX="${CXX:-g++}" fuzzer
fi
if [ -n "${TRUST_PART:-}" ] && ! "$fuzzer" --list | grep -qxF "$(echo "$TRUST_PART" | sed 's/[.][0-9]*of[0-9]*$//')"; then
    echo "there is no part '$TRUST_PART' of fuzz" >&2
    exit 2
fi
echo "compiler $(clang++ --version | head -n 1)"
rm -rf "$corpus" && mkdir -p "$corpus" || exit 1
if [ -n "${TRUST_PART:-}" ]; then
    # shellcheck disable=SC2046  # TARGET, or TARGET SHARE SHARES
    sh "$0" "$scale" "$seed" $(echo "$TRUST_PART" | sed 's/[.]\([0-9]*\)of/ \1 /')
else
    "$fuzzer" --list | xargs -r -P 2 -n 1 sh "$0" "$scale" "$seed"
fi

# What a log says was found, by its kind, as a list of targets. And which target refuses most of its inputs: one that
# refuses all would find nothing behind the first line.
crashes= leaks= timeouts= memory= most_refused=0 refuses=
for log in "$corpus"/*.log; do
    target=$(basename "$log" .log)
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    # It first tries those that it begins with, and the empty one; where no new one has followed, nothing was measured.
    begun=$(sed -n 's/^#\([0-9]*\)[[:space:]]*INITED.*/\1/p' "$log")
    if [ -z "$begun" ] || [ "${inputs:-0}" -le "$begun" ]; then inputs=0; fi
    echo "figure fuzz.$target $inputs"
    refused=$(awk '$1 == "accepted" { gsub(",", "", $4); print 100 - 100 * $2 / $4 }' "$log")
    if awk "BEGIN { exit !(${refused:-100} > $most_refused) }"; then most_refused=${refused:-100} refuses=$target; fi
    grep -q '^Done ' "$log" && grep -qx 'status 0' "$log" && continue
    if grep -qE 'memory beyond (the promise|all reason)|out-of-memory' "$log"; then memory="$memory $target"
    elif grep -qE 'time beyond all reason|ERROR: libFuzzer: timeout' "$log"; then timeouts="$timeouts $target"
    elif grep -q 'ERROR: LeakSanitizer' "$log"; then leaks="$leaks $target"
    else crashes="$crashes $target"; fi
    grep -hE 'ERROR: |what\(\):|^SUMMARY: |Test unit written' "$log"
done
told() {
    kind=$1
    shift
    echo "figure fuzz.$kind $# $*"
}
echo "figure fuzz.refused $most_refused $refuses"
told crashes $crashes
told leaks $leaks
told timeouts $timeouts
told memory $memory
