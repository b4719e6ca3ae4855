#!/bin/sh
# Checks run.sh and `make traps` with a make that builds nothing: what reaches the copies, and what an interrupted run
# leaves behind. It exists because the museum itself takes ten minutes.
#
# usage: run_test.sh     (in the repository's root)
folder=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_run_test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM HUP
unset MAKEFLAGS MFLAGS MAKELEVEL  # of the make that calls this, such as its -n or its jobs
wrong=0

# expect <expected> <got> <about>
expect() {
    [ "$1" = "$2" ] && return
    echo "$3: wanted '$1', got '$2'"
    wrong=$((wrong + 1))
}

# The settings of the build that calls it are not those of the copies.
cat >"$folder/refuses" <<'END'
#!/bin/sh
echo "BUILD=${BUILD-} VARIANT=${VARIANT-} TESTS=${TESTS-} CI=${CI-} CXXFLAGS=${CXXFLAGS-} ISA=${PLAINGRAD_ISA-}"
exit 1
END
# Builds a program that reverses nothing. A copy with a mistake takes five minutes to build, and so does the healthy one
# if SLOW=healthy.
cat >"$folder/sleeps" <<'END'
#!/bin/sh
mkdir -p build apps && : >build/tests && : >apps/reverse_task && chmod +x build/tests apps/reverse_task
case $PWD in */"${SLOW:-}") ;; */healthy) exit 0 ;; esac
echo $$ >>"$MINUTES"
sleep 300
END
chmod +x "$folder/refuses" "$folder/sleeps"

said=$(BUILD=elsewhere VARIANT=double TESTS='[x]' CI=true CXXFLAGS=-O0 PLAINGRAD_ISA=baseline MAKE=$folder/refuses sh tests/traps/run.sh "$folder/traps" no_end 2>&1 >/dev/null)
expect 'BUILD= VARIANT= TESTS= CI= CXXFLAGS= ISA=' "$said" "run.sh, the copies' settings"

alive() { while read -r pid; do kill -0 "$pid" 2>/dev/null && echo "$pid"; done <"$folder/pids"; }
# A busy machine takes its time to copy the tree.
for slow in none healthy; do
    : >"$folder/pids"
    SLOW=$slow MINUTES=$folder/pids MAKE=$folder/sleeps sh tests/traps/run.sh "$folder/traps" no_end >/dev/null 2>&1 &
    tries=0
    until [ -s "$folder/pids" ] || [ $tries -eq 60 ]; do sleep 1; tries=$((tries + 1)); done
    expect 1 $(($(wc -l <"$folder/pids"))) "builds that have begun, slow: $slow"
    kill -TERM $!
    wait $!
    expect 143 $? "run.sh's status when it is ended, slow: $slow"
    for _ in 1 2 3 4 5; do [ -z "$(alive)" ] || sleep 1; done
    expect '' "$(alive)" "processes that an ended run.sh leaves, slow: $slow"
done

said=$(make -n traps TRAP=no_end 2>/dev/null)
expect 1 "$(echo "$said" | grep -c 'run.sh .* no_end$')" 'make -n traps says what it would run'
expect 0 "$(echo "$said" | grep -c '^building')" 'make -n traps runs it'
said=$(make -n traps TRAP=no_end VARIANT=double 2>&1 | grep -c 'leave out VARIANT=double')
expect 1 "$said" 'make traps VARIANT=double'
one_by_one() { make -pn "$@" 2>/dev/null | grep -c '^\.NOTPARALLEL:'; }
expect 1 "$(one_by_one chapters traps)" 'pages are rewritten, and checked, one after the other'
expect 0 "$(one_by_one chapters)" 'pages of one kind are computed side by side'

[ $wrong -eq 0 ] && echo 'run_test: make traps passes on, ends and waits as it should'
