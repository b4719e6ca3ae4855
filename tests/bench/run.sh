#!/bin/sh
# Runs what `make bench` and `make bench-NAME` name, one program after the other, so that each has all of the machine's
# cores. tests/tests.mk says what they need, and hands down make's settings as variables.
#
# usage: run.sh bench|bench-NAME
csv=
case $CSV in '' | 0) ;; *) csv=--csv ;; esac
run() {  # <name> <arguments...>
    program=$OUT/bench/bench_$1
    shift
    # shellcheck disable=SC2086  # RUN has words, and csv is one or none
    $RUN "$program" "$@" $csv || exit 1
}
without_jobs() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES "$@"; }

case $1 in
bench)
    for name in matmul training decoding attention profile; do
        echo "== bench_$name"
        run $name
    done
    ;;
bench-peers)
    run matmul --peers
    "$PEERS_PYTHON" tests/bench/peers --build "$OUT" --llmc "${LLMC:-$BUILD/peers/llm.c}" $csv
    ;;
bench-against) # the other tree builds with the same compiler and flags, but always into its own build/
    [ -n "$OLD" ] || { echo 'bench-against needs OLD=folder, another checkout' >&2; exit 2; }
    for name in training decoding attention generation; do set -- "$@" "build/bench/bench_$name"; done
    shift
    # shellcheck disable=SC2153  # make's
    without_jobs "$MAKE" -C "$OLD" CXX="$CXX" CXXFLAGS="$CXXFLAGS" BUILD=build VARIANT=release "$@" &&
        "$PYTHON" tests/bench/peers/against.py "$OLD/build/bench" "$OUT/bench" --pairs "${PAIRS:-7}" --only "$ONLY"
    ;;
bench-generation)
    for model in gpt2 smollm; do
        for precision in float32 bf16; do
            for prompt in 0 512; do run generation --model $model --precision $precision --prompt $prompt; done
        done
    done
    ;;
bench-steps) run step_staircase --python "$PYTHON" ;;
bench-multi30k) # if interrupted, it resumes at the next call
    saved=$OUT/multi30k
    if [ -e "$saved/last.safetensors" ]; then
        "$APPS_IN/translate" train --resume "$saved"
    else
        "$APPS_IN/translate" train "$DATA/train.lc.norm.tok.en" "$DATA/train.lc.norm.tok.de" \
            --validation "$DATA/val.lc.norm.tok.en,$DATA/val.lc.norm.tok.de" --tokenized --merges 10000 \
            --accumulate 2 --save "$saved"
    fi
    ;;
bench-blocks) "$OUT/bench/bench_blocks" "$DATA" ${RATE:+--rate "$RATE"} --program "$APPS_IN/generate" ;;
*) run "${1#bench-}" ;;
esac
