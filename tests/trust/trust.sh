#!/bin/sh
# Runs instruments, one after the other, and prints their part of the table: `make trust`.
#
# usage: trust.sh <folder of programs> <results> <quick|sample|long> <seed> <compiler> <instrument...>
# An instrument is tests/trust/NAME.sh, if there is one, else the program NAME; both print lines `figure NAME VALUE`.
# NAME.PART is a part of one that has parts (crashes, functions, fuzz, tools), which finds its name in TRUST_PART: what
# takes hours can be measured on several days. In the file <results>, a block takes the place of its last one, of its
# parts, of the whole that it is a part of, and of shares of another size; the others stay.
# exit status: 0 if every figure is as asked
set -u
programs=$1 results=$2 scale=$3 seed=$4 compiler=$5
shift 5
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
family=$(sed -n 's/^cpu family[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
mkdir -p "$programs/logs" "$(dirname "$results")"
touch "$results"
trap 'exit 130' INT TERM

these=$*
asked=$("$programs/print_table" "$scale") || exit 1
for block; do
    instrument=${block%%.*}
    TRUST_PART=$(echo "$block" | sed -n 's/^[^.]*\.//p')
    export TRUST_PART
    echo "$asked" | grep -qx "$instrument" || { echo "== $instrument: nothing to measure at this scale" && continue; }
    echo "== $block"
    log=$programs/logs/$block.log
    begin=$(date +%s)
    if [ -e "tests/trust/$instrument.sh" ]; then
        set -- sh "tests/trust/$instrument.sh" "$scale" "$seed"
    else
        set -- "$programs/$instrument" --scale "$scale" --seed "$seed"
    fi
    { "$@" 2>&1 && echo "ended $(($(date +%s) - begin))"; } | tee "$log"
    {
        awk -v block="$block" '
            # Of a share like NAME.1of8, all but its number: the other eighths stay, fourths would be counted twice.
            function kind(name) { sub(/[.][0-9]+of/, ".of", name); return name }
            function whole(name) { sub(/[.][0-9]+of[0-9]+$/, "", name); return name }
            $1 == "instrument" {
                skip = index(block ".", $2 ".") == 1 || index($2 ".", block ".") == 1 ||
                    whole($2) == whole(block) && kind($2) != kind(block)
            }
            !skip' "$results"
        echo "instrument $block"
        echo "date $(date -u +%Y-%m-%d)"
        echo "compiler $compiler"
        echo "processor ${processor:-unknown}${family:+, family $family}"
        echo "seed $seed"
        grep -E '^(figure|skipped|ended) ' "$log"
    } >"$results.new" && mv "$results.new" "$results"
done
# The long table is kept, and the page shows it.
if [ "$scale" = long ]; then page=README.md; else page=-; fi
# shellcheck disable=SC2086  # names
"$programs/print_table" "$scale" "$results" $page $these
