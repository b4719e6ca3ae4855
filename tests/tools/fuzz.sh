#!/bin/sh
# Runs clang's fuzzer on each reader of files (tests/fuzz), or on those that are named, for some seconds each.
#
# usage: fuzz.sh FUZZER CORPUS SECONDS [READER...]
set -eu
fuzzer=$1 corpus=$2 seconds=$3
shift 3
[ $# -gt 0 ] || set -- $("$fuzzer" --list)
for reader; do
    mkdir -p "$corpus/$reader"
    "$fuzzer" "$reader" --seeds "$corpus/$reader"
    printf '%-12s ' "$reader"
    # No input may take a second, or memory beyond what its bytes explain.
    if ! "$fuzzer" "$reader" -max_total_time="$seconds" -timeout=5 -malloc_limit_mb=256 -print_final_stats=1 \
        -artifact_prefix="$corpus/crash-$reader-" "$corpus/$reader" >"$corpus/log" 2>&1; then
        tail -n 40 "$corpus/log"
        exit 1
    fi
    sed -n 's/^stat::number_of_executed_units: *//p' "$corpus/log" | sed 's/$/ inputs, nothing found/'
done
