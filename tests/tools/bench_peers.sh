#!/bin/sh
# How long a training step of char_lm's tiny configuration takes, here and in PyTorch, in turn. It exists because a
# claim of speed is a ratio from one run on one machine.
#
# usage: bench_peers.sh CHAR_LM PYTHON FOLDER     FOLDER/tinyshakespeare/input.txt is the text
# Each is given one thread and all of them, and its better one counts: PyTorch's can be slower with more.
set -eu
char_lm=$1 python=$2 text=$3/tinyshakespeare/input.txt
if [ -z "$3" ] || [ ! -f "$text" ]; then
    echo "make bench-peers: DATA=FOLDER is needed, with FOLDER/tinyshakespeare/input.txt" \
        "(from karpathy/char-rnn, data/tinyshakespeare)" >&2
    exit 2
fi
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "make bench-peers: $python has no PyTorch; PYTHON=... names one that has, e.g. Debian's /usr/bin/python3" >&2
    exit 1
fi
threads=$(nproc 2>/dev/null || echo 2)
results=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_peers.XXXXXX")
trap 'rm -rf "$results"' EXIT
trap 'exit 130' INT TERM
few=20 steps=120

# What the start, the reading and the last validation take is in both runs, and so in neither.
seconds() { # threads, steps
    start=$(date +%s%N)
    "$char_lm" train "$text" --config tiny --steps "$2" --threads "$1" --validate-every 1000000 \
        --save "$results/model.safetensors" >/dev/null 2>&1
    echo $(($(date +%s%N) - start))
}
for round in 1 2 3; do
    for n in 1 $threads; do
        short=$(seconds "$n" $few)
        long=$(seconds "$n" $((few + steps)))
        echo "$long $short $steps" | awk '{ print ($1 - $2) / 1e6 / $3 }' >>"$results/plaingrad_$n"
        "$python" tests/bench/pytorch_char_lm.py "$text" --threads "$n" --steps $steps |
            sed -n "s/.*: $steps steps in \([0-9.]*\) s.*/\1/p" | awk '{ print $1 * 1000 / '$steps' }' >>"$results/pytorch_$n"
    done
    echo "round $round of 3 done" >&2
done
middle() { sort -n "$1" | sed -n 2p; }
"$python" -c 'import torch; print("PyTorch", torch.__version__)'
for n in 1 $threads; do
    echo "$n $(middle "$results/plaingrad_$n") $(middle "$results/pytorch_$n")"
done | awk '
    { printf "%2d thread%s  plaingrad %6.1f ms a step   PyTorch %6.1f ms a step\n", $1, $1 == 1 ? " " : "s", $2, $3
      if (ours == 0 || $2 < ours) ours = $2
      if (theirs == 0 || $3 < theirs) theirs = $3 }
    END { printf "at their best: plaingrad is %.1f times as fast\n", theirs / ours }'
