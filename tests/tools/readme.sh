# Checks the programs in the README: compiles each ```cpp block, runs it, and compares its output with the ```text block
# that follows. A program without such a block needs files of the user's: it is only compiled (install_test.sh runs
# those that open saved models).
#
# usage: sh tests/tools/readme.sh [README.md]
# PLAINGRAD_COMPILE, PLAINGRAD_LIB and PLAINGRAD_RUN are as `make test` sets them.
set -eu
readme=${1:-README.md}
lib=${PLAINGRAD_LIB:-build/libplaingrad.a}
out=$(dirname "$lib")/readme
mkdir -p "$out"
rm -f "$out"/*

# What stands between markers is excerpts and results that `make chapters` checks.
awk -v out="$out" '
    /^<!-- [a-z]+: .* -->$/ { filled = 1 }
    /^<!-- end -->$/ { filled = 0 }
    filled      { next }
    /^```cpp$/  { file = out "/" ++programs ".cpp"; next }
    /^```text$/ { file = out "/" programs ".expected"; next }
    /^```/      { file = ""; next }
    file != ""  { print > file }
' "$readme"

checked=0
for program in "$out"/*.cpp; do
    name=${program%.cpp}
    ${PLAINGRAD_COMPILE:-g++ -std=c++20 -pthread -I.} "$program" "$lib" -o "$name"
    [ -e "$name.expected" ] || continue
    ${PLAINGRAD_RUN:-} "$name" >"$name.printed"
    # Spaces at the ends of lines do not matter.
    if [ "$(sed 's/ *$//' "$name.printed")" != "$(sed 's/ *$//' "$name.expected")" ]; then
        echo "$readme: program $(basename "$name") prints something else than it says:" >&2
        diff "$name.expected" "$name.printed" >&2 || true
        exit 1
    fi
    checked=$((checked + 1))
done
[ "$checked" -ge 2 ] || { echo "$readme: $checked programs were found, at least 2 were expected" >&2; exit 1; }
echo "$checked programs of $readme print what it says"
