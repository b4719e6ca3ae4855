#!/bin/sh
# The museum of mistakes: applies each of tests/traps/*.patch to a copy of the sources, builds what it touches, lets
# reverse_task train, and runs the test that must fail. It exists because a Transformer with a mistake usually trains all
# the same, and because a test that cannot fail is none.
#
# usage: run.sh <folder for the copies> [trap]     (in the repository's root)
# Environment: MAKE, CXX; TRAPS=full also runs all of `make test` on each copy, which takes hours.
# Without a trap's name all of them run, and curves.csv beside this script is written anew. `make traps` then fills the
# page, as `make chapters-quick CHAPTER=tests/traps/README.md` does at any time: no run is needed when a text changes.
# Exit status: 0 if every trap was caught.
#
# It leaves in the folder: healthy/, a build without a mistake; results/, for each trap its training, its losses, and the
# output of compiler and test.
set -u
MAKE=${MAKE:-make} CXX=${CXX:-g++} TRAPS=${TRAPS:-} only=${2:-}
# What the calling make and its user set: the copies are plain builds, each in its own folder, and their warnings, such
# as that a patch leaves a variable unused, are no errors. (CPPFLAGS and LDFLAGS stay: they may say where Catch2 is.)
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD VARIANT TESTS CI WERROR CXXFLAGS PCH PLAINGRAD_ISA
mkdir -p "$1/results" || exit 1
folder=$(cd "$1" && pwd)
healthy=$folder/healthy results=$folder/results
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
ulimit -c 0

names=
for patch in tests/traps/${only:-*}.patch; do
    [ -e "$patch" ] || { echo "make traps: there is no tests/traps/$only.patch" >&2; exit 2; }
    names="$names $(basename "$patch" .patch)"
done
command -v patch >/dev/null || { echo 'make traps: the program patch is not installed' >&2; exit 1; }

# ---- what is known of a trap

# field <name> <trap>: what the head of its patch says; a value may go on in indented lines.
field() {
    awk -v name="$1: " '
        /^--- / { exit }
        index($0, name) == 1 { printf "%s", substr($0, length(name) + 1); on = 1; next }
        on && /^  / { sub(/^ +/, " "); printf "%s", $0; next }
        { on = 0 }' "tests/traps/$2.patch"
}

# The file that holds a test case.
file_of() { find tests -name 'test_*.cpp' -exec grep -lF "\"$1\"," {} +; }

# The name of the run without a mistake, with these options.
reference() { echo "healthy${1:+ $1}" | sed 's/[^A-Za-z0-9]/_/g'; }

# What came of a training: "1998/2000", or how it ended before.
score() {
    count=$(sed -n 's/.*reversed without an error: //p' "$results/$1.out")
    echo "${count:-$(tail -n 1 "$results/$1.err" | sed 's/^reverse_task: /stops: /')}"
}

# A line of curves.csv: how a run ended, and its losses, means of 20 steps.
row() { echo "$1,$(score "$1" | sed 's/[:,].*//')$(cat "$results/$1.curve")"; }

# ---- one tree: copying, building, training, testing

sources() { find Makefile README.md autograd apps models nn tests -type f \( -name '*.*' -o -name Makefile \); }

# Makes `healthy` the same as this tree. Only what differs is copied, so that little is compiled again.
refresh() {
    mkdir -p "$healthy" || return 1
    sources | while read -r file; do
        cmp -s "$file" "$healthy/$file" && continue
        mkdir -p "$healthy/$(dirname "$file")" && cp "$file" "$healthy/$file"
    done
    (cd "$healthy" && sources) | while read -r file; do
        [ -e "$file" ] || rm "$healthy/$file"
    done
}

# build <tree> <jobs> <test files>
build() {
    (cd "$1" && "$MAKE" -j"$2" UNITY=no GRADCHECKS=no CXX="$CXX" TEST_SRC="$3" build/tests apps/reverse_task)
}

# learn <tree> <name> <options>: trains; leaves NAME.out, NAME.log (step,loss) and NAME.curve (means of 20 steps).
learn() {
    # shellcheck disable=SC2086  # options are words
    (cd "$1" && rm -rf run && ulimit -t 600 &&
        ./apps/reverse_task --threads 1 --save run $3) >"$results/$2.out" 2>"$results/$2.err"
    cut -d , -f 1,2 "$1/run/log.csv" >"$results/$2.log" 2>/dev/null
    awk -F , 'NR > 1 { sum += $2; if ($1 % 20 == 0) { printf ",%.4f", sum / 20; sum = 0 } } END { print "" }' \
        "$results/$2.log" >"$results/$2.curve"
}

# check <tree> <test> <output>: says whether the test is failed (a crash is that, too), passed, or missing.
check() {
    : >"$3.counts"
    name=$(echo "$2" | sed 's/,/\\,/g')  # a comma would separate two filters
    (cd "$1" && ulimit -t 600 && PLAINGRAD_COUNTS=$3.counts ./build/tests "$name") >"$3" 2>&1
    if grep -q '^failed' "$3.counts" || ! grep -q '^end' "$3.counts"; then
        echo failed
    elif grep -q '^passed' "$3.counts"; then
        echo passed
    else
        echo missing
    fi
}

# ---- one trap

# Its verdict goes to NAME.verdict: caught, or why it is not.
judge() {
    tree=$folder/$1 test=$(field Caught-by "$1")
    rm -rf "$tree" && cp -pR "$healthy" "$tree"
    if ! (cd "$tree" && patch -s -p1 -F0) <"tests/traps/$1.patch" >"$results/$1.build" 2>&1; then
        verdict='uncaught: the patch does not apply'
    elif ! build "$tree" 1 "$(file_of "$test")" >>"$results/$1.build" 2>&1; then
        verdict='uncaught: it does not build'
    else
        learn "$tree" "$1" "$(field Options "$1")"
        case $(check "$healthy" "$test" "$results/$1.healthy")$(check "$tree" "$test" "$results/$1.test") in
            passedfailed) verdict=caught ;;
            passedpassed) verdict='uncaught: its test passes' ;;
            failed*) verdict='uncaught: its test fails without it, too' ;;
            *) verdict='uncaught: there is no such test' ;;
        esac
    fi
    if [ "$TRAPS" = full ]; then
        (cd "$tree" && "$MAKE" -j1 UNITY=no CXX="$CXX" TESTS='~[traps]~[chapters]' test) >"$results/$1.full" 2>&1
        verdict="$verdict; make test: $(tail -n 1 "$results/$1.full")"
    fi
    echo "$verdict" >"$results/$1.verdict"
    rm -rf "$tree"
    printf "%-32s %-12s %s\n" "$1" "$(score "$1" | cut -c 1-60)" "$verdict"
}

# ---- all of them

# end <process>: ends it and all that it has started.
end() {
    # shellcheck disable=SC2046  # numbers
    set -- "$1" $(ps -A -o pid= -o ppid= | awk -v parent="$1" '$2 == parent { print $1 }')
    kill "$1" 2>/dev/null
    shift
    for child in "$@"; do end "$child"; done
}

# What takes long runs in the background, where Ctrl-C does not reach it, and a shell that waits hears a signal at once.
workers=
# interrupted <signal>: ends the workers; the status is a shell's.
interrupted() {
    for worker in $workers; do end "$worker"; done
    exit $((128 + $1))
}
trap 'interrupted 1' HUP
trap 'interrupted 2' INT
trap 'interrupted 15' TERM

rm -f "$results"/*
files=$(for name in $names; do file_of "$(field Caught-by "$name")"; done | sort -u | tr '\n' ' ')
echo "building the tree without a mistake, in $1/healthy"
(refresh && build "$healthy" "$jobs" "$files") >"$results/healthy.build" 2>&1 &
workers=$!
wait $! || { tail -n 20 "$results/healthy.build" >&2; exit 1; }
workers=
if [ "$TRAPS" = full ]; then
    (cd "$healthy" && "$MAKE" -j"$jobs" UNITY=no CXX="$CXX" TESTS='~[traps]~[chapters]' test) >"$results/healthy.full" 2>&1 &
    workers=$!
    wait $!
    workers=
fi

for name in $names; do field Options "$name"; echo; done | sort -u >"$results/options"
while read -r options; do
    name=$(reference "$options")
    learn "$healthy" "$name" "$options" </dev/null &
    workers=$!
    wait $!
    workers=
    printf '%-32s %s\n' "healthy${options:+ $options}" "$(score "$name")"
done <"$results/options"

# As many workers as cores, each with every n-th trap.
worker=0
while [ $worker -lt "$jobs" ]; do
    (
        number=0
        for name in $names; do
            [ $((number % jobs)) -ne $worker ] || judge "$name"
            number=$((number + 1))
        done
    ) &
    workers="$workers $!"
    worker=$((worker + 1))
done
wait

caught=0 total=0
for name in $names; do
    total=$((total + 1))
    case $(cat "$results/$name.verdict" 2>/dev/null) in
        caught*) caught=$((caught + 1)) ;;
    esac
done
[ -n "$only" ] || {
    awk 'BEGIN { printf "run,score"; for (i = 20; i <= 1200; i += 20) printf ",%d", i; print "" }'
    while read -r options; do row "$(reference "$options")"; done <"$results/options"
    for name in $names; do row "$name"; done
} >tests/traps/curves.csv
echo "$total traps, $caught caught, $((total - caught)) uncaught"
[ $caught -eq $total ]
