#!/bin/sh
# Runs instruments and prints their part of the table: `make trust`.
#
# usage: trust.sh <folder of programs> <results> <quick|sample|long> <seed> <compiler> <instrument...>
# Environment: JOBS, how many run at a time; 2 if not given, because many instruments use one processor only, or wait
# for files.
# An instrument is tests/trust/NAME.sh, if there is one, else the program NAME; both print lines `figure NAME VALUE`,
# and `compiler NAME` if it was another one than the build's.
# NAME.PART is one part of an instrument that has parts (crashes, functions, fuzz, mutants, tools); it reads PART from
# TRUST_PART. So what takes hours can be measured on several days. <results> has a block of lines for each instrument or
# part. A new block replaces the one of its name, blocks of its parts or of its whole, and shares of another size (8ths
# replace 4ths).
# exit status: 0 if all have ended, and every figure is as asked; 2 if there is no instrument of a name, or no such seed
set -u
block=
if [ "${1:-}" = --block ]; then block=$2 && shift 2; fi
if [ $# -lt 5 ]; then
    echo 'usage: trust.sh <folder of programs> <results> <quick|sample|long> <seed> <compiler> <instrument...>; make trust calls it' >&2
    exit 2
fi
programs=$1 results=$2 scale=$3 seed=$4 compiler=$5
shift 5
# (With 0, clang's fuzzer draws other inputs each time.)
case $seed in '' | 0* | *[!0-9]* | ??????????*) echo "SEED must be a whole number from 1 to 999999999: got '$seed'" >&2 && exit 2 ;; esac
trap 'exit 130' INT TERM

# measure <block>: its log ends with a line `ended SECONDS`, or, if it has failed, `status N`. Fails if it was refused:
# there is no such part. (2 alone does not say so: it is also the status of a shell or an awk that has failed.)
measure() {
    instrument=${1%%.*} begin=$(date +%s)
    TRUST_PART=$(echo "$1" | sed -n 's/^[^.]*\.//p')
    # Whatever is left behind when this is interrupted is in one folder: in memory for what saves all the time.
    case $instrument in crashes | fuzz) if [ -w /dev/shm ]; then TMPDIR=/dev/shm; fi ;; esac
    TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_trust.XXXXXX") || exit 1
    export TRUST_PART TMPDIR
    trap remove_own EXIT
    if [ -e "tests/trust/$instrument.sh" ]; then
        command="sh tests/trust/$instrument.sh $scale $seed"
    else
        command="$programs/$instrument --scale $scale --seed $seed"
    fi
    # (Shown line by line: Debian's awk would wait for its buffer to fill.)
    # shellcheck disable=SC2086  # words
    { $command 2>&1 && echo "ended $(($(date +%s) - begin))" || echo "status $?"; } | tee "$programs/logs/$1.log" |
        while IFS= read -r line; do printf '%s: %s\n' "$1" "$line"; done
    ! { grep -qx 'status 2' "$programs/logs/$1.log" && grep -q 'there is no part' "$programs/logs/$1.log"; }
}

# Removes the folder that measure has made, and what is mounted there.
remove_own() {
    awk -v own="$TMPDIR/" 'index($2, own) == 1 { print $2 }' /proc/mounts 2>/dev/null | xargs -r umount -l
    rm -rf "$TMPDIR"
}

# The commit that is measured, if this is a repository; without results and the page, which change meanwhile.
sources() {
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || return 0
    changes=$(git status --porcelain -- . ':!tests/trust/long.txt' ':!tests/trust/README.md')
    echo "$commit${changes:+, with changes}"
}

# record <block>: puts what its log says into <results>. Fails, as on a full disk, before anything is replaced.
record() (
    set -e
    awk -v block="$1" '
        # Of a share like NAME.1of8, all but its number: the other eighths stay, fourths would be counted twice.
        function kind(name) { sub(/[.][0-9]+of/, ".of", name); return name }
        function whole(name) { sub(/[.][0-9]+of[0-9]+$/, "", name); return name }
        $1 == "instrument" {
            skip = index(block ".", $2 ".") == 1 || index($2 ".", block ".") == 1 ||
                whole($2) == whole(block) && kind($2) != kind(block)
        }
        !skip' "$results"
    processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
    family=$(sed -n 's/^cpu family[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
    # The widest vectors that it has: the kernels of wider ones were not measured.
    for vectors in avx512_bf16 avx512f avx2 asimd ''; do grep -qw "$vectors" /proc/cpuinfo 2>/dev/null && break; done || :
    echo "instrument $1"
    echo "date $(date -u +%Y-%m-%d)"
    built=$(sed -n 's/^compiler //p' "$programs/logs/$1.log" | head -n 1)
    echo "compiler ${built:-$compiler}"
    echo "processor ${processor:-unknown}${family:+, family $family}${vectors:+, $vectors}"
    echo "seed $seed"
    # (Scripts build what they measure when they begin, which may be hours after the programs were built.)
    now=$(sources)
    if [ -n "$TRUST_SOURCES" ] && [ "$now" != "$TRUST_SOURCES" ]; then TRUST_SOURCES="${TRUST_SOURCES%, with changes}, with changes"; fi
    [ -z "$TRUST_SOURCES" ] || echo "sources $TRUST_SOURCES"
    sed -nE '/^(figure|skipped|ended) /p' "$programs/logs/$1.log"
)

# table <form> [<names>]: see table.awk.
table() { awk -v scale="$scale" -v form="$1" -v chosen="${2:-}" -f tests/trust/table.awk tests/trust/figures.txt "$results"; }

# The long table is kept, and the page shows it: puts it between its lines.
write_page() {
    [ "$scale" = long ] || return 0
    page=tests/trust/README.md
    table markdown >"$results.table"
    [ $? -le 1 ] && awk -v table="$results.table" '
        $0 == "<!-- end -->" { inside = 0 }
        !inside
        $0 == "<!-- trust -->" { inside = 1; while ((getline line <table) > 0) print line }' $page >"$page.new" &&
        mv "$page.new" $page
    rm -f "$results.table" "$page.new"
}

# Called by itself, below, for one block. The process that made the folder `lock` writes the results; the others wait.
lock=$results.lock
if [ -n "$block" ]; then
    measure "$block" || exit 2
    # (Results and page are written within seconds: an older lock was left behind by a run that was killed.)
    until mkdir "$lock" 2>/dev/null; do sleep 1 && find "$lock" -prune -mmin +1 -exec rmdir {} + 2>/dev/null; done
    record "$block" >"$results.new"  # (as a part of && it would not end at an error)
    status=$?
    [ $status -ne 0 ] || mv "$results.new" "$results" || status=1
    # The page follows at once: it shows these results also if what is still to run is interrupted.
    write_page
    rmdir "$lock"
    exit $status
fi

mkdir -p "$programs/logs" "$(dirname "$results")" && touch "$results" || exit 1
asked=$(table names) || exit 1
chosen=
for name; do
    instrument=${name%%.*}
    # A share is one of as many as there are: the 9th of 8 would be added to them.
    share=$(echo "$name" | sed -n 's/.*[.]\([0-9]*of[0-9]*\)$/\1/p')
    if [ -n "$share" ] && ! { [ "0${share%of*}" -ge 1 ] && [ "0${share%of*}" -le "0${share#*of}" ]; }; then
        echo "there is no share '$share': they are 1ofN to NofN" >&2
        exit 2
    fi
    if [ "$name" != "$instrument" ] && [ -e "tests/trust/$instrument.sh" ] &&
        ! grep -q TRUST_PART "tests/trust/$instrument.sh"; then
        echo "there is no part '${name#*.}' of $instrument" >&2
        exit 2
    fi
    if echo "$asked" | grep -qx "$instrument"; then chosen="$chosen $name"
    elif [ -e "tests/trust/$instrument.sh" ] || [ -x "$programs/$instrument" ]; then
        echo "$name: nothing to measure at this scale"
    else
        echo "there is no instrument '$instrument'; there are, to be separated by blanks: $(echo "$asked" | tr '\n' ' ')" >&2
        exit 2
    fi
done
failed=0
TRUST_SOURCES=$(sources)  # at the beginning, when the programs have just been built
export TRUST_SOURCES
# shellcheck disable=SC2086  # names
if [ -n "$chosen" ]; then
    printf '%s\n' $chosen | xargs -P "${JOBS:-2}" -I BLOCK \
        sh "$0" --block BLOCK "$programs" "$results" "$scale" "$seed" "$compiler" || failed=1
fi
write_page
table text "$*" && exit $failed
