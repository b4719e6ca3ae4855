#!/bin/sh
# Plants one violation of each rule in a copy of the tree and checks that `lint.sh` names it. It exists because
# a check that cannot fail checks nothing.
#
# usage: lint_test.sh     (in the repository's root; CXX compiles the planted kernel object)
copy=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_lint_test.XXXXXX") || exit 1
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT TERM HUP
missed=0

# plant <words of the message> <file> <line>: a small tree with only this file in it
plant() {
    words=$1 file=$2
    shift 2
    rm -rf "$copy/tree"
    mkdir -p "$copy/tree/$(dirname "$file")" "$copy/tree/tests"
    cp -r tests/tools "$copy/tree/tests/"
    cp .clang-format "$copy/tree/" 2>/dev/null
    : >"$copy/tree/Makefile"
    case $file in */a.h) echo '#pragma once' >"$copy/tree/$file" ;; esac
    printf "$1\n" >>"$copy/tree/$file"
    judge "$words" "$file: $1"
}

# judge <words> <what was planted> [objects]
judge() {
    words=$1 planted=$2
    shift 2
    if output=$(cd "$copy/tree" && sh tests/tools/lint.sh "$@" 2>&1) || ! echo "$output" | grep -q "$words"; then
        echo "not found: $planted"
        missed=$((missed + 1))
    fi
}

left='nobody includes to the left'
plant "$left" autograd/base/a.h '#include "autograd/tensor.h"'
plant "$left" autograd/base/a.cpp '#include "autograd/kernels/kernels.h"'
plant "$left" autograd/kernels/a.cpp '#include "autograd/tensor.h"'
plant "$left" autograd/a.cpp '#include "nn/linear.h"'
plant "$left" nn/a.h '#include "models/config.h"'
plant "$left" models/text/a.h '#include "apps/kit/options.h"'
plant "$left" apps/kit/a.h '#include "apps/reverse_task.h"'
plant 'only apps/kit' apps/a.cpp '#include "apps/b.h"'
plant 'only apps/kit' apps/a.cpp '#include "apps/programs/b/data.h"'
plant 'only apps/kit' apps/programs/a/main.cpp '#include "apps/programs/b/data.h"'
plant 'only apps/kit' apps/programs/a/main.cpp '#include "apps/b.h"'
plant 'nothing includes tests' nn/a.cpp '#include "tests/catch.h"'
plant 'only autograd/kernels/kernels.h' autograd/a.h '#include "autograd/kernels/simd.h"'
plant 'only autograd/kernels/kernels.h' nn/a.cpp '#include "autograd/kernels/row.h"'
plant 'path from the root' nn/a.cpp '#include "linear.h"'
plant 'with quotes' nn/a.cpp '#include <nn/linear.h>'
plant 'only unit.cpp' nn/a.cpp '#include "nn/init.cpp"'
plant 'standard header' autograd/kernels/a.cpp '#include <vector>'
plant 'intrinsics only' autograd/kernels/a.cpp '#include <immintrin.h>'
plant 'intrinsics only' autograd/kernels/a.cpp '__m512 a;'
plant 'intrinsics only' nn/a.cpp 'auto a = _mm256_setzero_ps();'
plant 'intrinsics only' nn/a.cpp 'float32x4_t a;'
plant 'intrinsics only' nn/a.cpp 'int a = __builtin_ia32_x();'
plant 'knows MPI' nn/a.cpp '#include <mpi.h>'
plant 'knows MPI' apps/kit/a.cpp 'int rank = MPI_Comm_rank(0, &rank);'
plant 'using namespace' nn/a.h 'using namespace std;'
plant 'pragma once' nn/b.h 'int a();'
plant 'folder is a namespace' nn/a.cpp 'namespace nn {'
plant 'folder is a namespace' nn/checkpoint/a.h 'namespace plaingrad::nn {'
plant 'folder is a namespace' autograd/base/a.h 'namespace plaingrad::base {'
plant 'folder is a namespace' apps/programs/b/a.h 'namespace plaingrad::programs {'
plant 'which system it is' nn/a.cpp '#if defined(__linux__)'
plant 'differ in the last bit' nn/a.h 'double y = std::cos(x);'
plant 'differ in the last bit' models/a.cpp 'double y = std::pow(x, 2);'
plant 'one for both' tests/a.cpp 'CHECK_THAT(a, Catch::Contains(b));'
plant 'in_folder' models/a.cpp 'f(folder + "/config.json");'
plant 'in_folder' models/a.cpp 'f(folder + "/" + name);'
plant 'in_folder' apps/a.cpp 'if (std::filesystem::exists(path))'
plant 'in_folder' apps/a.cpp 'if (fs::exists(path, none))'
plant 'at most 110 columns' nn/a.cpp "// $(printf '%0108d' 0)"
plant 'at most 110 columns' tests/a.cpp "int a;  // $(printf '%0102d' 0)"
plant 'no tabs' nn/a.cpp 'int\ta;'
plant 'no tabs' nn/a.cpp 'int a; '
plant 'no tabs' nn/a.cpp 'int a;\r'
plant 'one machine' nn/a.cpp 'const char* a = "/ho''me/me";'
plant 'policy' apps/kit/run_page.html "<meta content=\"default-src 'none'\">\n<style>\np {}\n</style>\n<script>\n</script>"
plant 'stands alone' apps/one_page.cpp '#include "nn/linear.h"'
plant 'has 351 lines' apps/one_page.cpp "$(yes '//' | head -n 351)"
plant 'README.md:1: has 1501 words' README.md "$(yes word | head -n 1501 | tr '\n' ' ')"
plant 'there is no file nn/a.md' README.md '[a](nn/a.md)'
plant 'has no heading #b' README.md '# A\n[b](#b)'
plant 'more than two links away' a.md '# A'
rm -rf "$copy/tree" && mkdir -p "$copy/tree/tests" "$copy/tree/apps" "$copy/tree/nn"
cp -r tests/tools "$copy/tree/tests/" && : >"$copy/tree/Makefile"
printf '## The code, in reading order\n\n1. [a](../nn/a.h)\n2. [b](../nn/b.h)\n' >"$copy/tree/apps/README.md"
printf '#pragma once\n#include "nn/b.h"\n' >"$copy/tree/nn/a.h"
printf '#pragma once\n' >"$copy/tree/nn/b.h"
judge 'nn/b.h, which comes later, as number 2' 'a reading order that the includes contradict'
left_out=
if command -v clang-format >/dev/null 2>&1; then plant 'clang-format' nn/a.cpp 'int   a ;'; else
    left_out=', but clang-format is not installed'
fi

# What is allowed even though it looks like a fault: prose, and strings.
for text in '// __m512, _mm256_add_ps and "nn/linear.h" in prose' 'const char* a = "http://x";' \
    '#include "autograd/kernels/kernels.h"' '#include <vector>' 'namespace plaingrad::nn {}' \
    "// $(printf '%0106d' 0)Σ"; do
    mkdir -p "$copy/tree/nn"
    printf '#pragma once\n%s\n' "$text" >"$copy/tree/nn/a.h"
    rm -f "$copy/tree/nn/a.cpp"
    if ! (cd "$copy/tree" && sh tests/tools/lint.sh >"$copy/output" 2>&1); then
        echo "wrongly found: $text"
        cat "$copy/output"
        missed=$((missed + 1))
    fi
done

# An inline function that two kernel objects would share, and an object without its table.
printf 'inline int shared() { return 1; }\nint (*kernels_avx2)() = shared;\n' |
    ${CXX:-g++} -O0 -x c++ -c - -o "$copy/unit_avx2.o"
judge 'shared symbol' 'an inline function in a kernel object' "$copy/unit_avx2.o"
printf 'static int a = 1;\nint* b() { return &a; }\n' | ${CXX:-g++} -x c++ -c - -o "$copy/unit_avx512.o"
judge 'shared symbol' 'a global function in a kernel object' "$copy/unit_avx512.o"
judge 'no table' 'a kernel object without a table' "$copy/unit_avx512.o"

[ $missed -eq 0 ] && echo "make lint-test: every planted fault was found$left_out"
