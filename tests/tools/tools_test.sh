#!/bin/sh
# Checks that the tools that count can fail: gives run_tests.sh binaries that crash, fail, skip and exit early, size.sh
# a room above its limit, tests_for.sh filters of every kind, and make clean what it must keep; and runs the test of
# tests/mutate, if there is a Python with clang's bindings. It exists because a wrong count looks like a right one.
#
# usage: tools_test.sh     (in the repository's root)
folder=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_tools_test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM HUP
wrong=0

# expect <expected> <got> <about>
expect() {
    [ "$1" = "$2" ] && return
    echo "$3: wanted '$1', got '$2'"
    wrong=$((wrong + 1))
}

# binary <name> <what it counts, one per line> <what it does then>
binary() {
    printf '#!/bin/sh\nprintf "%s" >>"$PLAINGRAD_COUNTS"\n%s\n' "$2" "$3" >"$folder/$1"
    chmod +x "$folder/$1"
}
binary good 'passed a\\npassed b\\nskipped c\\nend \\n' 'exit 0'
binary bad 'passed a\\nfailed b\\nend \\n' 'exit 1'
binary crash 'passed a\\n' 'kill -SEGV $$'
binary early 'passed a\\n' 'exit 0'
binary liar 'passed a\\nend \\n' 'exit 3'
binary empty 'end \\n' 'exit 2'

# run <sum> <exit status> <binaries...>
run() {
    sum=$1 wanted=$2 about=$*
    shift 2
    for name in "$@"; do
        set -- "$@" "$folder/$name" x
        shift
    done
    status=0
    sh tests/tools/run_tests.sh "$@" >"$folder/output" 2>&1 || status=$?
    expect "$sum" "$(tail -n 1 "$folder/output")" "run_tests.sh, $about"
    expect "$wanted" "$status" "run_tests.sh's status, $about"
}
run '2 passed, 0 failed, 1 skipped' 0 good
run '4 passed, 0 failed, 2 skipped' 0 good good
run '3 passed, 1 failed, 1 skipped' 1 good bad
expect 'failed: b' "$(grep '^failed' "$folder/output")" 'the names of those that failed'
run '3 passed, 1 failed, 1 skipped' 1 crash good
run '1 passed, 1 failed, 0 skipped' 1 early
run '1 passed, 1 failed, 0 skipped' 1 liar
run '2 passed, 0 failed, 1 skipped' 0 empty good
run '0 passed, 0 failed, 0 skipped' 1 empty

printf 'TEST_CASE("a", "[one][both]") {\n}\n' >"$folder/test_a.cpp"
printf 'TEST_CASE("b",\n          "[two][both]") {  // in two lines\n}\n' >"$folder/test_b.cpp"
chosen() {  # <filter> <files>
    files=$(cd "$folder" && sh "$OLDPWD/tests/tools/tests_for.sh" "$1" test_a.cpp test_b.cpp | tr '\n' ' ')
    expect "$2" "$files" "tests_for.sh $1"
}
chosen '[one]' 'test_a.cpp '
chosen '[ONE]' 'test_a.cpp '
chosen '[one],[two]' 'test_a.cpp test_b.cpp '
chosen '[both]~[one]' 'test_b.cpp '
chosen '[both][two]' 'test_b.cpp '
chosen '~[one][two]' 'test_b.cpp '
chosen '~[one]' 'test_b.cpp '
chosen '~[none]' 'test_a.cpp test_b.cpp '
chosen '[one],a name' 'test_a.cpp test_b.cpp '
chosen '[none]' ''

# A PREFIX that would install into the machine's own folders, or relative to some folder, or has a space, is refused.
for prefix in '' ' ' some/folder '/some folder' '/some /folder'; do
    for target in install uninstall; do
        said=$(make -n $target PREFIX="$prefix" DESTDIR="$folder" 2>&1 >/dev/null | grep -c 'PREFIX must be an absolute path')
        expect 1 "$said" "make $target PREFIX='$prefix'"
    done
done
said=$(sh tests/tools/install.sh "$folder/good/below" 2>&1 </dev/null)
expect "install: $folder/good/below: this folder cannot be made; give another PREFIX" "$said" 'install.sh below a file'
mkdir "$folder/half" && touch "$folder/half/share"  # where a folder must be
printf '644 README.md include/a\n644 README.md share/b\n' | sh tests/tools/install.sh "$folder/half" >/dev/null 2>&1 &&
    expect fails works 'install.sh where a file has the name of its folder'
expect share "$(ls -A "$folder/half")" 'install.sh that fails half-way'

mkdir -p "$folder/built/obj" "$folder/built/peers" "$folder/other/obj"
touch "$folder/built/flags"
for again in '' ' again'; do
    make clean BUILD="$folder/built" >/dev/null 2>&1 || expect works fails "make clean$again"
    expect peers "$(ls -A "$folder/built")" "make clean$again, which keeps what deps-peers installed"
done
make clean BUILD="$folder/other" >/dev/null 2>&1
expect obj "$(ls -A "$folder/other")" 'make clean of a folder that make did not build in'

mkdir -p "$folder/tree/tests" "$folder/tree/apps/kit" "$folder/tree/autograd" "$folder/tree/nn" "$folder/tree/models"
cp -r tests/tools "$folder/tree/tests/"
lines() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; ++i) print "int a; // b\n// c\n" }' >"$folder/tree/apps/kit/a.h"; }
sized() { (cd "$folder/tree" && sh tests/tools/size.sh >"$folder/output" && echo fits || echo over); }
most=$(sed -n 's/^apps  *//p' tests/tools/size.sh)
lines "$most"
expect fits "$(sized)" 'size.sh, a room as large as its limit'
lines $((most + 1))
expect over "$(sized)" 'size.sh, a room larger than its limit'
expect 'make size: over the limit: apps' "$(tail -n 1 "$folder/output")" 'size.sh, which room'

# Shares, which are of the compilers and of the thread sanitizer only, and of no more than there are.
for part in nobody tidy.1of2 tsan.nobody compilersx tsan. tsan.of tsan.1of0 tsan.5of5 compilers.99of99; do
    TRUST_PART=$part sh tests/trust/tools.sh sample 1 >"$folder/output" 2>&1
    expect 2 $? "a part of tools: $part"
    expect "there is no part '$part' of tools" "$(cat "$folder/output")" "a part of tools: $part"
done
mkdir "$folder/compilers"
for n in 11 12 13 14; do ln -s /bin/false "$folder/compilers/g++-$n"; done
tried() { PATH=$folder/compilers:$PATH MAKE=false TRUST_PART=$1 sh tests/trust/tools.sh sample 1 | grep -o '^g++-1[1-4]' | tr '\n' ' '; }
expect 'g++-11 g++-13 ' "$(tried compilers.1of2)" 'the first half of the compilers'
expect 'g++-12 g++-14 ' "$(tried compilers.2of2)" 'the second half of the compilers'
expect 'g++-11 g++-12 g++-13 g++-14 ' "$(tried compilers)" 'all compilers'

left_out=', but nothing of tests/mutate: there is no Python with clang.cindex'
for python in /usr/bin/python3 python3; do
    $python -c 'import clang.cindex as c; c.Index.create()' 2>/dev/null || continue
    left_out=
    $python tests/mutate/test_mutate.py >"$folder/output" 2>&1 || expect works "$(tail -n 20 "$folder/output")" tests/mutate
    break
done

[ $wrong -eq 0 ] && echo "tools_test: counts, choices and sizes are right$left_out"
