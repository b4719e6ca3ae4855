#!/bin/sh
# What other programs find in the sources and in runs of them: sanitizers, valgrind, clang's analyses, and all compilers
# that are installed. At the sample scale five of them run, most on a part of the sources; at the long scale all, each on
# the tests that it says below.
#
# usage: tools.sh <quick|sample|long> <seed>     (in the repository's root; TRUST_PART: one of the names in `all`;
# of compilers and tsan also a share, compilers.1of4)
# A tool that is not installed is left out, with a line that says so (make deps-trust installs all). What each of them
# printed is in build/tools/*.log.
set -u
scale=$1 seed=$2
make=${MAKE:-make}
logs=build/tools
mkdir -p $logs
# The calling make's own variables are for another build.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD VARIANT TESTS PLAINGRAD_THREADS
case ${CXX:-} in ccache*) ccache='ccache ' ;; *) ccache= ;; esac

# have <program> <figures>: whether it is installed; if not, says which figures there will be none of.
have() {
    command -v "$1" >/dev/null && return
    echo "skipped $2 $1 is not installed (make deps-trust)"
    return 1
}
at_long() { [ "$scale" = long ]; }
# mine <n>: whether the nth of several is in the share that was asked for (tools.compilers.1of4); without one, all are.
share=$(echo "${TRUST_PART:-}" | sed -n 's/.*[.]\([0-9][0-9]*of[1-9][0-9]*\)$/\1/p')
mine() { [ -z "$share" ] || [ $((($1 - 1) % ${share#*of} + 1)) -eq "${share%of*}" ]; }
count() { grep -cE "$1" "$2"; }
no_part() { echo "there is no part '$TRUST_PART' of tools" >&2 && exit 2; }
# The compiler of a part that is measured by itself, where it is not the build's.
compiler() { [ -z "${TRUST_PART:-}" ] || echo "compiler $("$1" --version | grep -m 1 version)"; }

# ---- Sanitizers

reports='ERROR: (Address|Leak)Sanitizer|runtime error:|WARNING: ThreadSanitizer'
# sanitized <variant> <tests> <log>: adds to `passed` and `wrong`: failed tests, a build that failed, and reports. (Shares
# may run side by side, so each has a build of its own.)
sanitized() {
    "$make" ${share:+BUILD="$logs/share_$share"} CXX="${CXX:-g++}" VARIANT="$1" TESTS="$2" test >"$3" 2>&1
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$3" | tail -n 1)
    echo "$1, tests '$2'${PLAINGRAD_THREADS:+, $PLAINGRAD_THREADS threads}: ${line:-did not build}"
    passed=$((passed + $(echo "${line:-0}" | cut -d ' ' -f 1)))
    wrong=$((wrong + $(echo "${line:-0 passed, 1 failed}" | cut -d ' ' -f 3) + $(count "$reports" "$3")))
}

measure_asan() {
    passed=0 wrong=0
    # Of the tests of bits and chapters it could find nothing that it does not find in the others.
    sanitized asan '~[bits]~[chapters]' $logs/asan.log
    echo "figure tools.asan_tests $passed"
    echo "figure tools.asan_wrong $wrong see $logs/asan.log"
}

measure_tsan() {
    passed=0 wrong=0 n=0
    for threads in 2 4 8 16; do
        n=$((n + 1))
        mine $n || continue
        export PLAINGRAD_THREADS=$threads
        # (Those of matrix products set the number of threads themselves, and take most of the time.)
        gemm=
        [ $threads = 2 ] || gemm='~[gemm]'
        # (Programs are left out: their tests fork while threads run, which ThreadSanitizer does not follow. Those of bits
        # and chapters run the same kernels, for much longer.)
        sanitized tsan "~[apps]~[bits]~[chapters]~[bench]$gemm" $logs/tsan$threads.log
    done
    unset PLAINGRAD_THREADS
    if [ -n "$share" ] && [ "${share%of*}" -gt $n ]; then no_part; fi
    echo "figure tools.tsan_tests $passed"
    echo "figure tools.tsan_wrong $wrong see $logs/tsan*.log"
}

# ---- valgrind

# What a processor without AVX2 runs: the kernels in plain C++.
if grep -qw avx2 /proc/cpuinfo 2>/dev/null; then
    isa=avx2 kernel_flags='-mavx2 -mfma -DPLAINGRAD_KERNELS=kernels_avx2'
else
    isa=baseline kernel_flags='-DPLAINGRAD_KERNELS=kernels_baseline -DPLAINGRAD_SIMD_PLAIN'
fi

# Valgrind knows no AVX-512. What the C++ library keeps until the end is still reachable, and no leak.
memcheck="valgrind --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --log-file=$logs/valgrind.%p"
# watched <status> <text> <words...>: counts it as wrong if it ends with another status, or does not say this text, which
# it comes to at its end. Valgrind's own status is 99. (That of a program that has not learned its task, as none does in
# so few steps, is 1: it is also that of a failure, and only the text tells which.)
watched() {
    runs=$((runs + 1))
    wanted=$1 text=$2 status=0
    shift 2
    # shellcheck disable=SC2086  # words
    PLAINGRAD_ISA=$isa $memcheck "$@" >$logs/valgrind.log 2>&1 </dev/null || status=$?
    if [ $status -ne "$wanted" ] || ! grep -q "$text" $logs/valgrind.log; then
        wrong=$((wrong + 1))
        echo "valgrind: exit status $status, '$text' $(grep -c "$text" $logs/valgrind.log) times: $*"
    fi
}

measure_valgrind() {
    have valgrind tools.valgrind || return 0
    rm -f $logs/valgrind.[0-9]*
    runs=0 wrong=0
    apps=${PLAINGRAD_APPS:-apps}
    run=$(mktemp -d) || return
    trap 'rm -rf "$run"' EXIT
    trap 'exit 130' INT TERM HUP
    small='--steps 3 --batch 2 --d-model 16 --heads 2 --layers 1'
    # shellcheck disable=SC2086
    watched 1 'sequences came out wrong' "$apps/reverse_task" $small --d-ff 32 --threads 2 --save "$run/reverse"
    watched 1 'not all sentences came out right' "$apps/toy_translate" --epochs 1 --threads 2
    # shellcheck disable=SC2086
    watched 0 'weights of step 3' "$apps/generate" train tests/trust/figures.txt $small --context 16 --save "$run/lm"
    watched 0 'last validation' "$apps/generate" info "$run/lm"
    rm -rf "$run"
    if at_long; then
        # Slower by a factor of 30 to 40: the tests of what holds memory. (Those that compare bits on each instruction set
        # take most of the time, and use no other memory.)
        "$make" CXX="${CXX:-g++}" GRADCHECKS=no \
            TESTS='[storage],[graph],[json],[checkpoint]~[apps]~[slow],[gemm]~[slow]~[threads],[packed]~[apps]~[slow]~[bits]' \
            RUN="env PLAINGRAD_ISA=$isa valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite" test >$logs/valgrind_tests.log 2>&1 || wrong=$((wrong + 1))
        tail -n 1 $logs/valgrind_tests.log
        passed=$(grep -E '^[0-9]+ passed' $logs/valgrind_tests.log | tail -n 1 | cut -d ' ' -f 1)
        runs=$((runs + ${passed:-0}))
    fi
    echo "figure tools.valgrind_runs $runs"
    echo "figure tools.valgrind_wrong $((wrong + $(cat $logs/valgrind.[0-9]* 2>/dev/null | grep -c 'ERROR SUMMARY: [1-9]'))) see $logs/valgrind.*"
}

# ---- What a compiler or an analyser reads

# units <part> <folders...>: makes build/tools/units_PART/FOLDER.cpp, which includes the sources of one folder, and names it; and
# names the files that are units by themselves. (unit.cpp is the other kernels; the file that needs an MPI is left out.)
units() {
    folder_of_units=$logs/units_$1
    shift
    mkdir -p "$folder_of_units" || exit 1
    for folder in $(find "$@" -name '*.cpp' | sed 's|/[^/]*$||' | LC_ALL=C sort -u | grep -vxE 'autograd/kernels|apps'); do
        unit=$folder_of_units/$(echo "$folder" | tr / _).cpp
        for file in "$folder"/*.cpp; do
            case $file in */team_mpi.cpp | */main.cpp) ;; *) echo "#include \"$file\"" ;; esac
        done >"$unit.$$" && mv "$unit.$$" "$unit" || exit 1  # (another share may be reading it)
        echo "$unit"
    done
    case " $* " in *' autograd '*) echo autograd/kernels/dispatch.cpp && echo autograd/kernels/scratch.cpp ;; esac
    find "$@" -name '*.cpp' -exec grep -lE '^int main\(' {} + || :  # apps/*.cpp, and main.cpp
}
# The flags of this tree for a compiler; nothing if the Makefile refuses it.
flags_of() {
    "$make" CXX="$1" CI=true BUILD="$logs/flags_$1" "$logs/flags_$1/flags" >/dev/null 2>&1 &&
        sed 's/.*\(-std=\)/\1/' "$logs/flags_$1/flags"
}
kernel='autograd/kernels/unit.cpp -Wno-psabi -DPLAINGRAD_KERNELS=kernels_baseline -DPLAINGRAD_SIMD_PLAIN'

measure_thread_safety() {
    have clang++ tools.thread_safety || return 0
    compiler clang++
    # What a mutex guards says so (autograd/base/tools.h), and libc++'s mutexes and locks say what they do.
    libcxx='-stdlib=libc++ -D_LIBCPP_ENABLE_THREAD_SAFETY_ANNOTATIONS'
    echo '#include <mutex>' | clang++ $libcxx -fsyntax-only -x c++ - 2>/dev/null ||
        { echo 'skipped tools.thread_safety libc++ is not installed (make deps-trust)' && return; }
    shared=$(grep -rlE 'std::(mutex|atomic)' autograd nn models apps --include=*.cpp)
    # shellcheck disable=SC2086  # lists of words
    for unit in ${shared:-none.cpp}; do  # (of which clang says that it is not there)
        clang++ -std=c++20 -I. $libcxx -fsyntax-only -Wthread-safety -Wthread-safety-beta "$unit" 2>&1 ||
            echo "$unit: error: clang++ ended with status $?"
    done >$logs/thread_safety.log
    echo "figure tools.thread_safety $(count ': (warning|(fatal )?error):' $logs/thread_safety.log) in $(echo $shared | wc -w) files; see $logs/thread_safety.log"
}

measure_tidy() {
    have clang-tidy tools.tidy || return 0
    compiler clang-tidy
    if at_long; then folders='autograd nn models apps' kernels=autograd/kernels/unit.cpp; else folders='autograd/base nn/checkpoint' kernels=; fi
    # shellcheck disable=SC2086
    files=$(units tidy $folders) || exit 1
    # shellcheck disable=SC2086
    echo $files $kernels | tr ' ' '\n' | xargs -P 2 -I {} sh -c 'clang-tidy --quiet "$@" && echo "read $1"' sh {} \
        -- -std=c++20 -I. -pthread $kernel_flags >$logs/tidy.log 2>$logs/tidy_errors.log
    read=$(count '^read ' $logs/tidy.log)
    echo "figure tools.tidy_units $read"
    # The same finding in a header is there once for each unit. A unit that clang-tidy could not read counts, too.
    findings=$(grep -hE ': (warning|(fatal )?error):' $logs/tidy.log | LC_ALL=C sort -u | tee /dev/stderr | wc -l)
    unread=$(($(echo $files $kernels | wc -w) - read))
    echo "figure tools.tidy_findings $((findings > unread ? findings : unread)) see $logs/tidy.log and tidy_errors.log"
}

measure_headers() {
    # At the sample scale every fourth one, another fourth with the next seed. make goes on after one that fails.
    find autograd nn models apps tests -name '*.h' | LC_ALL=C sort |
        if at_long; then cat; else awk -v first=$((seed % 4)) 'NR % 4 == first'; fi >$logs/headers.txt
    # shellcheck disable=SC2046  # names
    "$make" CXX="${CXX:-g++}" -k $(sed 's|^|alone/|' $logs/headers.txt) >$logs/headers.log 2>&1
    status=$?
    failed=$(count '\*\*\* .*alone/' $logs/headers.log)
    if [ $status -ne 0 ] && [ "$failed" = 0 ]; then failed=1; fi  # make itself
    echo "figure tools.headers $(count . $logs/headers.txt)"
    echo "figure tools.headers_failed $failed see $logs/headers.log"
}

# Reads everything with a compiler, or, at the long scale, builds it and runs the tests.
tried_with() {
    if at_long; then
        "$make" CXX="$ccache$1" CI=true BUILD="$logs/$1" GRADCHECKS=no PCH=no TESTS='~[chapters]~[bench]~[exercises]~[slow]~[.]' test
        return
    fi
    # shellcheck disable=SC2086
    flags=$(flags_of "$1") && for unit in $all_units "$kernel"; do "$1" $flags -fsyntax-only $unit || return 1; done
}

measure_compilers() {
    tried=0 failed=0 n=0
    all_units=$(units compilers autograd nn) || exit 1  # of the sample; the long scale makes all
    for compiler in $(for n in 11 12 13 14 15 16 17; do echo g++-$n; done; for n in 14 15 16 17 18 19 20 21 22 23; do echo clang++-$n; done); do
        command -v "$compiler" >/dev/null || continue
        n=$((n + 1))
        mine $n || continue
        tried=$((tried + 1))
        if tried_with "$compiler" >"$logs/$compiler.log" 2>&1; then echo "$compiler: good"; else
            failed=$((failed + 1))
            echo "$compiler: failed, see $logs/$compiler.log"
        fi
    done
    # A share has the nth of those that are installed, so between two shares none may be installed or removed.
    if [ -n "$share" ] && [ $tried -eq 0 ]; then no_part; fi
    if [ $n -ge 5 ]; then echo "figure tools.compilers $tried"; else
        echo "skipped tools.compilers only $n of g++ 11 to 17 and clang 14 to 23 are installed (make deps-trust)"
    fi
    [ $tried -eq 0 ] || echo "figure tools.compilers_failed $failed"
}

# The tests with Catch2 3, which `make deps-trust` builds from its source package.
measure_catch_3() {
    [ -e build/catch2/share/pkgconfig/catch2.pc ] || { echo 'skipped tools.catch_3 build/catch2 is not there (make deps-trust)' && return; }
    PKG_CONFIG_PATH=$PWD/build/catch2/share/pkgconfig "$make" CXX="${CXX:-g++}" BUILD=$logs/catch_3 GRADCHECKS=no PCH=no \
        TESTS='~[chapters]~[bench]~[exercises]~[slow]~[.]' test >$logs/catch_3.log 2>&1
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' $logs/catch_3.log | tail -n 1)
    echo "Catch2 3: ${line:-did not build, see $logs/catch_3.log}"
    echo "figure tools.catch_3_tests $(echo "${line:-0}" | cut -d ' ' -f 1)"
    echo "figure tools.catch_3_failed $(echo "${line:-0 passed, 1 failed}" | cut -d ' ' -f 3)"
}

all='thread_safety headers tidy compilers valgrind tsan asan catch_3'
case $scale in
quick) parts=thread_safety ;;
# (The sanitizers' builds take too long for a sample. The fuzzer has one of them, and CI runs tests in both.)
sample) parts='thread_safety headers tidy compilers valgrind' ;;
*) parts=$all ;;
esac
part=${TRUST_PART:-tidy}
if [ -n "$share" ]; then
    part=${part%".$share"}
    case $part in compilers | tsan) ;; *) part= ;; esac  # the others have no shares
fi
case " $all " in *" $part "*) ;; *) no_part ;; esac
[ -z "${TRUST_PART:-}" ] || parts=$part
for part in $parts; do "measure_$part" || exit 1; done
