#!/bin/sh
# The exercises of tests/exercises, as `make exercise` shows them. It exists because a learner wants a line for each
# check, and not the report of a compiler or a test framework.
#
# usage: exercises.sh list               all of them, with their times
#        exercises.sh run NN <binary>    marks tests/exercises/NN/exercise.h, which was compiled into the binary
#        exercises.sh solution NN        our answer, and where the library does it
#        exercises.sh test NN <folder>   Is the skeleton red, the solution green, and each mistake of mistakes.txt named?
#                                        Builds in the folder, with PLAINGRAD_MARK and PLAINGRAD_MARK_LIBS of tests.mk.
# exit status: of `run` 1 if a check is red, of `test` 1 if something is not as it must be
set -eu
unset PLAINGRAD_COUNTS  # the checks of an exercise are not counted among the tests that run this
number=${2:-}
plain=${number#0}
folder=tests/exercises/$number

list() {
    echo 'Exercises, from ten minutes to an evening:'
    echo
    for file in tests/exercises/[0-9][0-9]/exercise.h; do
        written=
        grep -q 'not_written(' "$file" || written='  (written)'
        sed -n "1s/^\/\/ Exercise \([0-9]*\): \(.*\) (\(.*\))\$/\1|\2|\3|$written/p" "$file"
    done | awk -F'|' '{ printf "  %2d  %-45s %-12s%s\n", $1, $2, $3, $4 }'
    echo
    echo 'Read and edit tests/exercises/03/exercise.h; `make exercise-3` marks it; `make solution-3` shows our answer;'
    echo '`git checkout tests/exercises/03/exercise.h` begins again.'
}

run() {
    sed -n '1s/^\/\/ //p' "$folder/exercise.h"
    if "$1" --abort --out /dev/null; then
        echo "All green: exercise $plain is done. \`make solution-$plain\` shows our answer, and where the library does it."
        return
    fi
    if grep -q 'not_written(' "$folder/exercise.h"; then
        echo "Read the head of $folder/exercise.h, write there, and run \`make exercise-$plain\` again."
    else
        echo "Mend it in $folder/exercise.h, and run \`make exercise-$plain\` again."
    fi
    return 1
}

wrong() {
    echo "exercise $plain: $*"
    status=1
}

# build <header> <binary> [flags]
build() {
    fast=
    [ "$number" != 12 ] || fast='-O3 -march=native -ffp-contract=fast'
    # shellcheck disable=SC2086  # flags and libraries are words
    $PLAINGRAD_MARK $fast ${3:-} "-DEXERCISE=\"$1\"" "$folder/test.cpp" $PLAINGRAD_MARK_LIBS -o "$2"
}

# marked <binary> <output>: whether all is green; the exercise that is a race is not run as one
marked() { "$1" --abort --out /dev/null '~[benchmark]' >"$2"; }

# The solution with one replacement. mistake <what> <by what>
mistake() {
    WHAT=$1 BY=${2#(nothing)} awk '
        !done && (at = index($0, ENVIRON["WHAT"])) {
            $0 = substr($0, 1, at - 1) ENVIRON["BY"] substr($0, at + length(ENVIRON["WHAT"]))
            done = 1
        }
        { print }
        END { exit !done }' "$folder/solution.h"
}

try() {
    work=$1/$number
    mkdir -p "$work"
    status=0
    if ! build "$folder/exercise.h" "$work/skeleton"; then
        wrong 'the skeleton does not compile'
    elif marked "$work/skeleton" "$work/output"; then
        wrong "the skeleton is green (if you have written it: git checkout $folder/exercise.h)"
    elif ! grep -q "\[exercise $plain\] .* is not written yet" "$work/output"; then
        wrong "the skeleton is red, but not because it is not written: $(cat "$work/output")"
    fi
    if ! build "$folder/solution.h" "$work/solution"; then
        wrong 'the solution does not compile'
        return 1
    elif ! marked "$work/solution" "$work/output"; then
        wrong "the solution is red: $(cat "$work/output")"
    fi
    awk -F' [|] ' -v n="$number" '$1 == n' tests/exercises/mistakes.txt >"$work/mistakes"
    [ -s "$work/mistakes" ] || wrong 'mistakes.txt has none'
    while IFS= read -r line; do
        field() { echo "$line" | awk -F' [|] ' -v f="$1" '{ print $f }'; }
        if ! mistake "$(field 2)" "$(field 3)" >"$work/mistake.h"; then
            wrong "solution.h does not have what mistakes.txt replaces: $(field 2)"
        elif ! build "$work/mistake.h" "$work/mistake" -w; then
            wrong "this mistake does not compile: $line"
        elif marked "$work/mistake" "$work/output" || ! grep -qF -- "$(field 4)" "$work/output"; then
            wrong "this mistake is not named: $line"
            cat "$work/output"
        fi
    done <"$work/mistakes"
    return $status
}

case $1 in
    list) list ;;
    run) run "$3" ;;
    solution) cat "$folder/solution.h" ;;
    test) try "$3" ;;
esac
