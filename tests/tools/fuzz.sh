#!/bin/sh
# Runs clang's fuzzer on each target (tests/fuzz), or on those that are named, until it has made so many inputs or so
# many seconds have passed. What it finds new stays in the target's corpus.
#
# usage: fuzz.sh FUZZER CORPUS RUNS SECONDS SEED [TARGET...]      RUNS -1: any number; SEED 0: another one each time
#        fuzz.sh --keep FUZZER CORPUS [TARGET]       writes the shortest inputs of the merged corpus, up to 12,000
#                                                      bytes, to tests/fuzz/corpus, for `make test` to replay
# exit status: 0 if nothing was found; the log is CORPUS/TARGET.log, and what was found CORPUS/TARGET-*
set -u
keep=
[ "$1" != --keep ] || { keep=1 && shift && set -- "$1" "$2" 0 0 0 ${3:+"$3"}; }
fuzzer=$1 corpus=$2 runs=$3 seconds=$4 seed=$5
shift 5
[ $# -gt 0 ] || set -- $("$fuzzer" --list)
# Targets that read files write these first: into memory, if there is a folder for that.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then TMPDIR=/dev/shm; export TMPDIR; fi
# Leaks are looked for at the end. A third faster: a short trace of each allocation (what was found can be run again with
# a long one; with less than two calls the sanitizer finds no leak at all), no filling of new memory (tests/trust/programs
# does that), and freed memory stays out of use for one megabyte, which is more than most inputs take.
ASAN_OPTIONS=malloc_context_size=2:max_malloc_fill_size=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64
export ASAN_OPTIONS
# This leaks, and must be seen.
if "$fuzzer" --leak >/dev/null 2>&1; then
    echo "fuzz.sh: the leak sanitizer finds nothing here" >&2
    exit 1
fi
failed=0
for target; do
    if [ -n "$keep" ]; then
        rm -rf "$corpus/$target.merged" && mkdir -p "$corpus/$target.merged" "$corpus/$target"
        "$fuzzer" "$target" --seeds "$corpus/$target"
        "$fuzzer" "$target" -merge=1 -max_len=4096 -detect_leaks=0 "$corpus/$target.merged" "$corpus/$target" \
            >"$corpus/$target.log" 2>&1 || { failed=1 && echo "$target: not merged, see $corpus/$target.log" && continue; }
        "$fuzzer" "$target" --keep "$corpus/$target.merged" >"$corpus/$target.kept" &&
            mv "$corpus/$target.kept" "tests/fuzz/corpus/$target.txt" || failed=1
        continue
    fi
    mkdir -p "$corpus/$target"
    "$fuzzer" "$target" --seeds "$corpus/$target"
    "$fuzzer" "$target" --dictionary >"$corpus/$target.words"
    [ -s "$corpus/$target.words" ] || echo '" "' >"$corpus/$target.words"
    # What does not end within a minute never will. (The time and the memory that an input may take are main.cpp's concern.)
    "$fuzzer" "$target" -runs="$runs" -max_total_time="$seconds" -seed="$seed" -timeout=60 \
        -detect_leaks=0 -entropic=0 -print_final_stats=1 -dict="$corpus/$target.words" -artifact_prefix="$corpus/$target-" \
        "$corpus/$target" >"$corpus/$target.log" 2>&1
    status=$?
    echo "status $status" >>"$corpus/$target.log"
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$corpus/$target.log")
    echo "$target ${inputs:-0} inputs, $(sed -n 's/^accepted/accepted/p' "$corpus/$target.log")$([ $status = 0 ] ||
        echo ": found something, $corpus/$target.log")"
    [ $status = 0 ] || failed=1
done
exit $failed
