#!/bin/sh
# The exercises of tests/exercises, as `make exercise` shows them. It exists because a learner wants a line for each
# check, and not the report of a compiler or a test framework.
#
# usage: exercises.sh list               all of them, with their times
#        exercises.sh page NN            the page that a learner fills in: ours, tests/exercises/NN/exercise.h, without the
#                                        lines from `// answer` to `// end`, and with those behind `// skeleton: `
#        exercises.sh solution NN        our answer, and where the library does it
#        exercises.sh run NN <binary>    marks exercises/NN.h, which was compiled into the binary
#        exercises.sh test NN <folder>   Is the page red, our answer green, and each mistake of mistakes.txt named?
#                                        Builds in the folder, with PLAINGRAD_MARK and PLAINGRAD_MARK_LIBS of tests.mk.
# exit status: of `run` 1 if a check is red, of `test` 1 if something is not as it must be
set -eu
unset PLAINGRAD_COUNTS  # the checks of an exercise are not counted among the tests that run this
number=${2:-}
plain=${number#0}
folder=tests/exercises/$number
mine=exercises/$number.h

page() { sed -e '/^ *\/\/ answer$/,/^ *\/\/ end$/d' -e 's/^\( *\)\/\/ skeleton: /\1/' "$folder/exercise.h" | cat -s; }
solution() { sed -e '/^ *\/\/ skeleton: /d' -e '/^ *\/\/ answer$/d' -e '/^ *\/\/ end$/d' "$folder/exercise.h"; }

list() {
    echo 'Exercises, from ten minutes to an evening:'
    echo
    for file in tests/exercises/[0-9][0-9]/exercise.h; do
        written=exercises/$(basename "$(dirname "$file")").h
        if [ -e "$written" ] && ! grep -q 'not_written(' "$written"; then written='  (written)'; else written=; fi
        sed -n "1s/^\/\/ Exercise \([0-9]*\): \(.*\) (\(.*\))\$/\1|\2|\3|$written/p" "$file"
    done | awk -F'|' '{ printf "  %2d  %-45s %-12s%s\n", $1, $2, $3, $4 }'
    echo
    echo '`make exercise-3` writes exercises/03.h; read it, write there, and the same command marks it. `make solution-3` shows'
    echo 'our answer. Delete exercises/03.h to begin again.'
}

run() {
    sed -n '1s/^\/\/ //p' "$mine"
    if "$1" --abort --out /dev/null; then
        echo "All green: exercise $plain is done. \`make solution-$plain\` shows our answer, and where the library does it."
        return
    fi
    if grep -q 'not_written(' "$mine"; then
        echo "Read the head of $mine, write there, and run \`make exercise-$plain\` again."
    else
        echo "Mend it in $mine, and run \`make exercise-$plain\` again."
    fi
    return 1
}

wrong() {
    echo "exercise $plain: $*"
    status=1
}

# build <page> <binary> [flags]
build() {
    fast=
    [ "$number" != 12 ] || fast='-O3 -march=native -ffp-contract=fast'
    # shellcheck disable=SC2086  # flags and libraries are words
    $PLAINGRAD_MARK $fast ${3:-} "-DEXERCISE=\"$1\"" "$folder/test.cpp" $PLAINGRAD_MARK_LIBS -o "$2"
}

# marked <binary> <output>: whether all is green; the exercise that is a race is not run as one
marked() { "$1" --abort --out /dev/null '~[benchmark]' >"$2"; }

# Our answer with one replacement. mistake <what> <by what>
mistake() {
    solution | WHAT=$1 BY=${2#(nothing)} awk '
        !done && (at = index($0, ENVIRON["WHAT"])) {
            $0 = substr($0, 1, at - 1) ENVIRON["BY"] substr($0, at + length(ENVIRON["WHAT"]))
            done = 1
        }
        { print }
        END { exit !done }'
}

try() {
    mkdir -p "$1/$number"
    work=$(cd "$1/$number" && pwd)
    status=0
    page >"$work/page.h"
    if ! build "$work/page.h" "$work/page"; then
        wrong 'the page does not compile'
    elif marked "$work/page" "$work/output"; then
        wrong 'the page is green'
    elif ! grep -q "\[exercise $plain\] .* is not written yet" "$work/output"; then
        wrong "the page is red, but not because it is not written: $(cat "$work/output")"
    fi
    solution >"$work/solution.h"
    if ! build "$work/solution.h" "$work/solution"; then
        wrong 'our answer does not compile'
        return 1
    elif ! marked "$work/solution" "$work/output"; then
        wrong "our answer is red: $(cat "$work/output")"
    fi
    awk -F' [|] ' -v n="$number" '$1 == n' tests/exercises/mistakes.txt >"$work/mistakes"
    [ -s "$work/mistakes" ] || wrong 'mistakes.txt has none'
    while IFS= read -r line; do
        field() { echo "$line" | awk -F' [|] ' -v f="$1" '{ print $f }'; }
        if ! mistake "$(field 2)" "$(field 3)" >"$work/mistake.h"; then
            wrong "our answer does not have what mistakes.txt replaces: $(field 2)"
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
    list | page | solution) "$1" ;;
    run) run "$3" ;;
    test) try "$3" ;;
esac
