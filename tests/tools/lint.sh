#!/bin/sh
# This project's rules that a compiler does not check. Each of them guards a promise (same bits, no illegal
# instruction, a reading order) that one careless line would break.
#
# usage: lint.sh [objects of autograd/kernels/unit.cpp]     (in the repository's root)
# exit status: 0 if nothing was found. tests/tools/lint_test.sh shows that every rule can fail.
found=$(mktemp "${TMPDIR:-/tmp}/plaingrad_lint.XXXXXX") || exit 1
trap 'rm -f "$found"' EXIT
trap 'exit 130' INT TERM HUP
folders=
for folder in autograd nn models apps tests; do
    [ -d $folder ] && folders="$folders $folder"
done
sources=$(find $folders \( -name '*.h' -o -name '*.cpp' \) | LC_ALL=C sort)

# ---- Rules about code; comments may say anything.
awk -f tests/tools/code.awk $sources /dev/null | awk '
# Where a file stands in apps -> models -> nn -> autograd -> autograd/kernels -> autograd/base.
function level(path) {
    if (path ~ /^autograd\/base\//) return 1
    if (path ~ /^autograd\/kernels\//) return 2
    if (path ~ /^autograd\//) return 3
    if (path ~ /^nn\//) return 4
    if (path ~ /^models\//) return 5
    if (path ~ /^apps\/kit\//) return 6
    if (path ~ /^apps\//) return 7
    if (path ~ /^tests\//) return 8
    return 0
}
# The folder apps/programs/NAME of a program of several files, else "".
function program(path) { return match(path, /^apps\/programs\/[^\/]*\//) ? substr(path, 1, RLENGTH) : "" }
function bad(rule) { print file ":" line ": " rule }
{
    split($0, part, ":")
    file = part[1]
    line = part[2]
    text = substr($0, length(file) + length(line) + 3)
}
text ~ /^[ \t]*#[ \t]*include/ {
    path = text
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", path)
    quoted = substr(path, 1, 1) == "\""
    gsub(/["<>]/, "", path)
    from = level(file)
    to = level(path)
    if (quoted && !to) bad("an include is a path from the root: " path)
    if (!quoted && to) bad("our own headers are included with quotes: " path)
    if (to == 8 && from != 8) bad("nothing includes tests: " path)
    else if (to > from) bad("nobody includes to the left (apps -> models -> nn -> autograd -> kernels -> base): " path)
    else if (to == 7 && from == 7 && (program(file) == "" || program(path) != program(file)))
        bad("of apps a program includes only apps/kit, and its own folder apps/programs/NAME: " path)
    if (to == 2 && from > 2 && from != 8 && path != "autograd/kernels/kernels.h")
        bad("of the kernels the rest sees only autograd/kernels/kernels.h: " path)
    if (path ~ /\.cpp$/ && file != "autograd/kernels/unit.cpp" && path != "apps/one_page.cpp")
        bad("only unit.cpp includes a .cpp: " path)  # and a test, the page that it compares the library with
    if (file == "apps/one_page.cpp" && quoted) bad("the page stands alone: it includes nothing of ours: " path)
    # Inline code of a standard header would be compiled for one instruction set and shared by all objects.
    if (from == 2 && file !~ /\/(dispatch|scratch)\.cpp$/ && !quoted &&
        path !~ /^(c?stdint|c?stddef|c?float|c?limits|cassert|cmath|cstring|immintrin|arm_neon)(\.h)?$/)
        bad("kernels include no standard header with inline code: <" path ">")
}
file !~ /^autograd\/kernels\/(simd|bf16)\.h$/ &&
text ~ /(^|[^A-Za-z0-9_])(_mm[0-9]*_|__m(64|128|256|512)|__mmask|v(ld|st)[1-4]q?_|float32x|__builtin_ia32)|[a-z]mmintrin|immintrin|x86intrin|arm_neon/ {
    bad("intrinsics only in autograd/kernels/simd.h and bf16.h")
}
file != "nn/parallel/team_mpi.cpp" && (text ~ /^[ \t]*#[ \t]*include[ \t]*[<"]mpi\.h/ || text ~ /(^|[^A-Za-z0-9_])MPI_[A-Z]/) {
    bad("only nn/parallel/team_mpi.cpp knows MPI")
}
# A folder is a namespace, all of them inside plaingrad; base belongs to autograd, parallel to nn, and to models what sorts
# its files; the kit and each program are their own. A file that begins in its namespace may name others.
text ~ /^namespace [a-z]/ && level(file) < 8 && !begun[file]++ {
    wanted = file
    sub(/\/[^\/]*$/, "", wanted)
    sub(/^autograd\/base$/, "autograd", wanted)
    sub(/^nn\/parallel$/, "nn", wanted)
    sub(/^models\/(families|decoding|runs)$/, "models", wanted)
    sub(/^apps\/(programs\/)?/, "", wanted)
    gsub(/\//, "::", wanted)
    given = text
    sub(/^namespace /, "", given)
    sub(/[ \t]*\{.*/, "", given)
    if (index(given "::", "plaingrad::" wanted "::") != 1) bad("a folder is a namespace, here plaingrad::" wanted ": " given)
}
level(file) < 8 && file != "autograd/base/system.cpp" && text ~ /__linux__|__APPLE__|_WIN32/ {
    bad("only autograd/base/system.cpp asks which system it is")
}
level(file) >= 2 && level(file) <= 5 && file !~ /^(models\/text\/|autograd\/kernels\/(simd_plain|math)\.h)/ &&
text ~ /std::(exp|log|pow|sin|cos|tan|tanh|erf|log2|exp2|log1p|expm1)[ \t]*\(/ {
    bad("C libraries differ in the last bit: autograd/base/portable_math.h has one for all")
}
level(file) == 8 && file !~ /^tests\/(catch\.h|main\.cpp|exercises\/marking\.cpp)$/ && text ~ /(^|[^A-Za-z0-9_])Catch::/ {
    bad("Catch2 2 and 3 have other names for it: tests/catch.h has one for both")
}
level(file) < 8 && text ~ /(folder|path|words\[0\]) \+ "\/("|[a-z_.]+")|(fs|filesystem)::exists/ && file != "nn/checkpoint/file.cpp" {
    bad("files of a folder are named by nn::checkpoint::in_folder, and looked for by its exists, which throws nothing")
}
file ~ /\.h$/ && text ~ /(^|[^A-Za-z0-9_])using[ \t]+namespace([^A-Za-z0-9_]|$)/ { bad("no using namespace in a header") }
' >>"$found"

# ---- Rules about text.
for header in $(echo "$sources" | grep '\.h$'); do
    grep -q '^#pragma once' "$header" || echo "$header:1: a header begins with #pragma once" >>"$found"
done
tab=$(printf '\t')
cr=$(printf '\r')
texts="$sources $(find $folders -name '*.sh' -o -name '*.awk' -o -name '*.py' | LC_ALL=C sort) /dev/null"
grep -nE "$tab|$cr| +\$" $texts | sed 's/^\([^:]*:[0-9]*\):.*/\1: no tabs, CRLF or blanks at the end of a line/' >>"$found"
# Columns, not bytes: what follows the first byte of a character in UTF-8 is not counted.
for source in $sources; do
    LC_ALL=C tr -d '\200-\277' <"$source" | LC_ALL=C awk -v file="$source" '
        length($0) > 110 { print file ":" NR ": lines have at most 110 columns, comments too: " length($0) }' >>"$found"
done
# A file that names a folder of one machine works nowhere else. (The pattern is written so that it does not
# match itself.)
grep -nE '(^|[^A-Za-z0-9_.])/(home|root|work|Users)/[A-Za-z0-9_]' $texts Makefile |
    sed 's/^\([^:]*:[0-9]*\):.*/\1: no paths of one machine/' >>"$found"

# ---- The objects: two of them must not share a function, as the linker keeps only one, perhaps one that this
# processor cannot run. `DW.ref.` is a pointer that exception tables share, not code.
for object in "$@"; do
    isa=$(basename "$object" .o | sed 's/^unit_//')
    nm "$object" | awk -v object="$object" -v isa="$isa" '
        NF == 3 && ($2 ~ /^[A-Z]$/ || $2 ~ /^[uvw]$/) && $3 !~ /kernels_[a-z0-9]+(E|$)/ && $3 !~ /^DW\.ref\./ {
            print object ": shared symbol in a kernel object (nm type " $2 "): " $3
        }
        index($3, "kernels_" isa) { table = 1 }
        END { if (!table) print object ": no table kernels_" isa }' >>"$found"
done
[ $# -gt 0 ] || echo "note: no kernel objects to look into"

# ---- Format.
if command -v clang-format >/dev/null 2>&1; then
    [ -z "$sources" ] || clang-format --dry-run -Werror $sources 2>&1 |
        sed -n 's/^\([^:]*\):\([0-9]*\):.*clang-format-violations.*/\1 \2/p' |
        awk '!seen[$1]++ { print $1 ":" $2 ": not as clang-format has it, from here on; make format" }' >>"$found"
else
    echo "note: format not checked, clang-format is not installed"
fi

# ---- The page: what a reader can hold.
if [ -f apps/one_page.cpp ]; then
    lines=$(wc -l <apps/one_page.cpp | tr -d ' ')
    [ "$lines" -le 350 ] || echo "apps/one_page.cpp:1: has $lines lines, 350 are allowed" >>"$found"
fi

# ---- The pages: README.md is a front door, not the house.
if [ -f README.md ]; then
    words=$(wc -w <README.md | tr -d ' ')
    [ "$words" -le 1500 ] || echo "README.md:1: has $words words, 1500 are allowed; what is more belongs to a folder's page" >>"$found"
fi
sh tests/tools/links.sh >>"$found"
[ ! -f apps/README.md ] || sh tests/tools/reading_order.sh | grep 'which comes later' >>"$found"

# ---- The policy of the page about a run.
if [ -f apps/kit/run_page.html ]; then sh tests/tools/page.sh --check >>"$found"; fi

# ---- Not a rule, but worth a thought.
wc -l $sources /dev/null | awk '$2 != "total" && $1 > 300 { print "note: " $2 " has " $1 " lines; could it be two ideas?" }'

cat "$found"
if [ -s "$found" ]; then
    echo "make lint: $(wc -l <"$found" | tr -d ' ') found"
    exit 1
fi
echo "make lint: nothing found"
