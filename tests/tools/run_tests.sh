#!/bin/sh
# Runs test binaries side by side, and prints `failed: NAME` for each test case that failed, and at last
# `N passed, N failed, N skipped`, the test cases summed over all of them. It exists because a binary that crashes, is
# killed by a sanitizer, or exits early prints no count: here that is a failure.
#
# usage: run_tests.sh <binary> <Catch2 filter> [<binary> <filter> ...]
# PLAINGRAD_RUN is put before each binary (an emulator, setarch).
# exit status: 0 if some test ran and all passed
export ASAN_OPTIONS="${ASAN_OPTIONS-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"
passed=0
failed=0
skipped=0
# A test that runs make is not part of the make that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
folder=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_counts.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'kill $started 2>/dev/null; exit 130' INT TERM

started=
binaries=
number=0
while [ $# -gt 0 ]; do
    number=$((number + 1))
    : >"$folder/counts$number"
    echo "== $1 $2" >"$folder/output$number"
    # shellcheck disable=SC2086  # an emulator and its arguments are words
    PLAINGRAD_COUNTS=$folder/counts$number $PLAINGRAD_RUN "$1" "$2" >>"$folder/output$number" 2>&1 &
    started="$started $!"
    binaries="$binaries $1"
    shift 2
done

number=0
for process in $started; do
    number=$((number + 1))
    binary=$(echo "$binaries" | cut -d ' ' -f $((number + 1)))
    counts=$folder/counts$number
    status=0
    wait "$process" || status=$?
    cat "$folder/output$number"
    p=$(grep -c '^passed' "$counts")
    f=$(grep -c '^failed' "$counts")
    # tests/main.cpp writes `end` after the last test case. Status 2 without a test case is Catch2
    # v3's word for "no test matches", which is judged below, over all binaries.
    if ! grep -q '^end' "$counts"; then
        echo "$binary: ended early (exit status $status) in or after: $(tail -n 1 "$counts")"
        f=$((f + 1))
    elif [ $status -ne 0 ] && [ "$f" -eq 0 ] && [ "$p" -ne 0 ]; then
        echo "$binary: exit status $status although no test case failed"
        f=1
    fi
    # (Catch2's status is the number of failures, which may be as large as a signal's.)
    [ $status -lt 128 ] || grep -q '^end' "$counts" || echo "$binary: stopped by signal $((status - 128)); the tests after that did not run"
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + $(grep -c '^skipped' "$counts")))
done

[ $((passed + failed)) -gt 0 ] || echo "no test case ran"
# Once more, together: what they say stands among the output of the others, which may be long.
sed -n 's/^failed /failed: /p' "$folder"/counts*
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
