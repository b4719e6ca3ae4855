#!/bin/sh
# Runs test binaries and prints `N passed, N failed, N skipped`, test cases summed over all of them. It exists
# because a binary that crashes, is killed by a sanitizer, or leaves early counts nothing itself:
# that is a failure here.
#
# usage: run_tests.sh <binary> <Catch2 filter> [<binary> <filter> ...]
# PLAINGRAD_RUN is put before each binary (an emulator, setarch).
# exit status: 0 if some test ran and all passed
passed=0
failed=0
skipped=0
# A test that runs make is not part of the make that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
counts=$(mktemp "${TMPDIR:-/tmp}/plaingrad_counts.XXXXXX") || exit 1
trap 'rm -f "$counts"' EXIT
trap 'exit 130' INT TERM

while [ $# -gt 0 ]; do
    binary=$1 filter=$2
    shift 2
    : >"$counts"
    echo "== $binary $filter"
    status=0
    PLAINGRAD_COUNTS=$counts $PLAINGRAD_RUN "./$binary" "$filter" || status=$?
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
    [ $status -lt 128 ] || echo "$binary: stopped by signal $((status - 128)); the tests after that did not run"
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + $(grep -c '^skipped' "$counts")))
done

[ $((passed + failed)) -gt 0 ] || echo "no test case ran"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
