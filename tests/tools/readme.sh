# Compiles the program in README.md and those of apps/examples, runs them, and compares what they print with what they say:
# the README in the ```text block that follows, an example in its last comment, `// Prints:`. An example without one needs
# the user's files: it is only compiled (install_test.sh runs those).
#
# usage: sh tests/tools/readme.sh
# PLAINGRAD_COMPILE, PLAINGRAD_LIB and PLAINGRAD_RUN are as `make test` sets them.
set -eu
lib=${PLAINGRAD_LIB:-build/libplaingrad.a}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM HUP

awk -v out="$out" '
    /^```cpp$/  { if (!programs++) file = out "/readme.cpp"; next }  # what follows it are excerpts of examples
    /^```text$/ { file = out "/readme.expected"; next }
    /^```/      { file = ""; next }
    file != ""  { print > file }
' README.md
for example in apps/examples/*.cpp; do
    name=$(basename "$example" .cpp)
    cp "$example" "$out/"
    if grep -q '^// Prints:' "$example"; then
        sed -n '/^\/\/ Prints:/,$ { /^\/\/ Prints:/d; s|^// *||; p; }' "$example" >"$out/$name.expected"
    fi
done

# The compiler takes longer than all the rest: two at a time.
for program in "$out"/*.cpp; do echo "$program"; done |
    xargs -P 2 -I PROGRAM sh -c 'set -e; '"${PLAINGRAD_COMPILE:-g++ -std=c++20 -pthread -I.}"' "$1" "$2" -o "${1%.cpp}"' - PROGRAM "$lib"

checked=0
for expected in "$out"/*.expected; do
    name=${expected%.expected}
    (cd "$out" && ${PLAINGRAD_RUN:-} "./${name##*/}") >"$name.printed"  # one of them writes a file
    # Spaces around lines do not matter.
    if [ "$(sed 's/^ *//; s/ *$//' "$name.printed")" != "$(sed 's/^ *//; s/ *$//' "$expected")" ]; then
        echo "$(basename "$name"): the program prints something else than it says:" >&2
        diff "$expected" "$name.printed" >&2 || true
        exit 1
    fi
    checked=$((checked + 1))
done
[ "$checked" -ge 7 ] || { echo "$checked programs were found that say what they print, at least 7 were expected" >&2; exit 1; }
echo "$checked programs print what they say"
