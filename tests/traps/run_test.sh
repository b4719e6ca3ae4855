#!/bin/sh
# Checks run.sh and `make traps` with a make that builds nothing: what reaches the copies, and what an interrupted run
# leaves behind. It exists because the museum itself takes ten minutes.
#
# usage: run_test.sh     (in the repository's root)
folder=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_run_test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
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
echo "BUILD=${BUILD-} VARIANT=${VARIANT-} TESTS=${TESTS-}"
exit 1
END
# Builds a program that reverses nothing. A copy with a mistake takes a minute to build.
cat >"$folder/sleeps" <<'END'
#!/bin/sh
mkdir -p build apps && : >build/tests && : >apps/reverse_task && chmod +x build/tests apps/reverse_task
case $PWD in */healthy) exit 0 ;; esac
echo $$ >>"$MINUTES"
sleep 60
END
chmod +x "$folder/refuses" "$folder/sleeps"

said=$(BUILD=elsewhere VARIANT=double TESTS='[x]' MAKE=$folder/refuses sh tests/traps/run.sh "$folder/traps" no_end 2>&1 >/dev/null)
expect 'BUILD= VARIANT= TESTS=' "$said" "run.sh, the copies' settings"

: >"$folder/pids"
MINUTES=$folder/pids MAKE=$folder/sleeps sh tests/traps/run.sh "$folder/traps" no_end >/dev/null 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$folder/pids" ] || sleep 1; done
kill -TERM $!
wait $!
expect 130 $? "run.sh's status when it is ended"
alive() { while read -r pid; do kill -0 "$pid" 2>/dev/null && echo "$pid"; done <"$folder/pids"; }
for _ in 1 2 3 4 5; do [ -z "$(alive)" ] || sleep 1; done
expect '' "$(alive)" 'processes that an ended run.sh leaves'

said=$(make -n traps TRAP=no_end 2>/dev/null)
expect 1 "$(echo "$said" | grep -c 'run.sh .* no_end$')" 'make -n traps says what it would run'
expect 0 "$(echo "$said" | grep -c '^building')" 'make -n traps runs it'
said=$(make -n traps TRAP=no_end VARIANT=double 2>&1 | grep -c 'leave out VARIANT=double')
expect 1 "$said" 'make traps VARIANT=double'
said=$(make -pn chapters chapters-quick traps 2>/dev/null | grep -E '^(chapters-quick|traps):.*\| (chapters|chapters-quick)$' | wc -l)
expect 2 $((said)) 'pages are rewritten one after the other'

[ $wrong -eq 0 ] && echo 'run_test: make traps passes on, ends and waits as it should'
