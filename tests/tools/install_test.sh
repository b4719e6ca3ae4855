# Does an installed library work outside of this folder? Installs into a temporary one; runs the programs; compiles a
# program with nothing but the flags that pkg-config gives, and as CMake finds the package, in float and in double; has
# the example's translator open what the installed program trained; sees that mixing the two does not link; that
# uninstalling leaves nothing of ours and touches nothing else; and that what would harm the machine is refused.
#
# usage: sh tests/tools/install_test.sh        CXX may be set
# exit status: 77 if nothing could be compiled, as there is neither pkg-config nor CMake
set -eu
home=$(mktemp -d /tmp/plaingrad.XXXXXX)  # a path without spaces, which a PREFIX needs
trap 'rm -rf "$home"' EXIT
trap 'exit 130' INT TERM HUP
prefix=$home/to/prefix
fail() { echo "install_test: $*" >&2; exit 1; }
root=$(pwd)
make_quietly() { (cd "$root" && make "$@" PREFIX="$prefix" >"$home/log" 2>&1) || { cat "$home/log" >&2; exit 1; }; }

mkdir -p "$prefix/lib/pkgconfig" "$prefix/include/plaingrad"  # not ours: they were there before
echo theirs >"$prefix/include/plaingrad/theirs"
make_quietly install
make_quietly install  # a second time changes nothing
version=$(sed -n 's/.*kVersion = "\(.*\)".*/\1/p' autograd/base/real.h)

for program in reverse_task toy_translate explain tasks classify fill generate translate report; do
    said=$(cd "$home" && "$prefix/bin/plaingrad-$program" --version)
    [ "$said" = "$program (plaingrad) $version" ] || fail "$program --version says '$said'"
    (cd "$home" && PATH="$prefix/bin:$PATH" "plaingrad-$program" --help) >"$home/help"
    grep -q "^usage: plaingrad-$program " "$home/help" || fail "$program does not say how it was called"
done
echo "programs: $version"

# The example that opens a translator, and the CMakeLists.txt of models/README.md: the block that has the line.
block() {  # block <language> <a line's beginning>
    awk -v fence="\`\`\`$1" -v line="$2" '
        $0 == fence { text = ""; inside = 1; next }
        /^```$/ { if (inside && found) { printf "%s", text; exit } inside = found = 0 }
        inside { text = text $0 "\n"; found = found || index($0, line) == 1 }' "$root/models/README.md"
}
mkdir "$home/translator"
cp apps/examples/translate_lines.cpp "$home/translator/example.cpp"
block cmake 'find_package(plaingrad' >"$home/translator/CMakeLists.txt"
for pair in 'one two:zwei eins' 'two one:eins zwei' 'one:eins' 'two:zwei' 'three:drei' 'three one:eins drei'; do
    printf '%s.\t%s.\n' "${pair%:*}" "${pair#*:}"
done >"$home/translator/pairs.tsv"
(cd "$home/translator" && "$prefix/bin/plaingrad-translate" train pairs.tsv --save run --merges 20 --layers 1 --heads 2 \
    --d-model 32 --d-ff 64 --dropout 0 --label-smoothing 0 --steps 150 --warmup 20 --lr 0.01 2>"$home/log") || { cat "$home/log" >&2; exit 1; }
printf 'one two.\n\nthree one.\n' >"$home/translator/input"
translates() {  # translates <command> <its name>
    (cd "$home/translator" && $1 <input >printed)
    [ "$(cat "$home/translator/printed")" = "$(printf 'zwei eins.\n\neins drei.')" ] ||
        fail "$2 translates otherwise: $(cat "$home/translator/printed")"
}
translates "$prefix/bin/plaingrad-translate run run" plaingrad-translate

# And the one that opens a classifier and a language model.
mkdir "$home/others"
cp apps/examples/saved_models.cpp "$home/others/example.cpp"
printf 'good\tlovely day\ngood\tlovely\nbad\tawful day\nbad\tawful\n' >"$home/others/moods.tsv"
(cd "$home/others" && "$prefix/bin/plaingrad-classify" train moods.tsv --validation 0 --save moods 2>"$home/log" &&
    "$prefix/bin/plaingrad-generate" train "$root/README.md" --save readme --steps 50 --layers 1 --d-model 16 --heads 2 \
        >"$home/log" 2>&1) || { cat "$home/log" >&2; exit 1; }
label=$("$prefix/bin/plaingrad-classify" predict "$home/others/moods" 'what a lovely evening' | cut -f1)
[ "$label" = good ] || fail "plaingrad-classify says '$label'"

cat >"$home/example.cpp" <<'END'
#include <iostream>

#include "autograd/base/real.h"
#include "autograd/ops.h"
#include "models/families/transformer.h"

int main() {
    using namespace plaingrad;
    autograd::Tensor x = autograd::Tensor::from({2}, {3, 4}).require_grad();
    autograd::sum(x * x).backward();
    std::cout << autograd::version() << ' ' << sizeof(autograd::Real) << ": " << x.grad().data()[0] << ' '
              << x.grad().data()[1] << '\n';
}
END
cat >"$home/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.12)
project(example CXX)
find_package(plaingrad REQUIRED)
foreach(type plaingrad double)
  add_executable(example_${type} example.cpp)
  target_link_libraries(example_${type} plaingrad::${type})
endforeach()
END
cd "$home"

build() {  # build <flags of> <libraries of>
    # shellcheck disable=SC2046  # the flags are words
    ${CXX:-g++} example.cpp $(pkg-config --cflags "$1") $(pkg-config --libs "$2") -o example 2>errors
}
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    for package in plaingrad plaingrad-double; do
        build $package $package || { cat errors >&2; exit 1; }
        ./example >printed
        cat printed
        [ $package = plaingrad ] && size=4 || size=8
        [ "$(cat printed)" = "$version $size: 6 8" ] || fail "$package: the program prints something else"
        [ "$(pkg-config --modversion $package)" = "$version" ] || fail "$package.pc has another version"
    done
    ! build plaingrad plaingrad-double || fail "a float program was linked with the double library"
    grep -q plaingrad_real_is_float errors || { cat errors >&2; exit 1; }
    echo "mixing them does not link"
    # shellcheck disable=SC2046  # the flags are words
    (cd translator && ${CXX:-g++} -std=c++20 example.cpp $(pkg-config --cflags --libs plaingrad) -o example)
    translates ./example "the example"
    # shellcheck disable=SC2046
    (cd others && ${CXX:-g++} -std=c++20 example.cpp $(pkg-config --cflags --libs plaingrad) -o example && ./example >printed)
    head -n 1 others/printed | grep -q '^good$' && sed -n 2p others/printed | grep -q '^The .' ||
        fail "the example for a classifier and a language model prints: $(cat others/printed)"
    echo "the examples open what the installed ones trained"
else
    echo "left out: there is no pkg-config"
fi
if command -v cmake >/dev/null; then
    CXX=${CXX:-g++} cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 &&
        cmake --build cmake >log 2>&1 || { cat log >&2; exit 1; }
    [ "$(cmake/example_plaingrad)" = "$version 4: 6 8" ] || fail "CMake's float program prints something else"
    [ "$(cmake/example_double)" = "$version 8: 6 8" ] || fail "CMake's double program prints something else"
    echo "find_package(plaingrad) finds both"
    CXX=${CXX:-g++} cmake -S translator -B translator/cmake -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 &&
        cmake --build translator/cmake >log 2>&1 || { cat log >&2; exit 1; }
    translates ./cmake/example "the example, built with CMake,"
    echo "so does the example, built with CMake"
else
    echo "left out: there is no cmake"
fi

echo theirs >"$prefix/share/plaingrad/theirs"
make_quietly uninstall
left=$(cd "$prefix" && find . | LC_ALL=C sort | tr '\n' ' ')
[ "$left" = ". ./include ./include/plaingrad ./include/plaingrad/theirs ./lib ./lib/pkgconfig ./share ./share/plaingrad \
./share/plaingrad/theirs " ] ||
    fail "uninstalling left, or removed too much: $left"
make_quietly install DESTDIR="$home/stage"
[ -x "$home/stage$prefix/bin/plaingrad-tasks" ] || fail "DESTDIR was not followed"
grep -q "^prefix=$prefix\$" "$home/stage$prefix/lib/pkgconfig/plaingrad.pc" || fail "DESTDIR stands in plaingrad.pc"
make_quietly uninstall DESTDIR="$home/stage"
[ ! -e "$home/stage$prefix" ] || fail "uninstalling left: $(find "$home/stage$prefix")"
echo "uninstalling leaves nothing of ours and what was there before"

# A PREFIX that would install into the machine's own folders, or relative to some folder, or has a space; an installation
# that fails half-way; and `make clean` of a folder that make did not build in, or of one with the peers, which stay.
cd "$root"
for bad in '' ' ' some/folder '/some folder' '/some /folder'; do
    for target in install uninstall; do
        make -n $target PREFIX="$bad" DESTDIR="$home" 2>&1 | grep -q 'PREFIX must be an absolute path' || fail "make $target PREFIX='$bad' is not refused"
    done
done
mkdir "$home/half" && touch "$home/half/share"  # where a folder must be
! printf '644 README.md include/a\n644 README.md share/b\n' | sh tests/tools/install.sh "$home/half" >"$home/log" 2>&1 || fail 'a file where a folder must be is no error'
[ "$(ls -A "$home/half")" = share ] || fail "failing half-way, install.sh leaves $(ls -A "$home/half")"
mkdir -p "$home/built/obj" "$home/built/peers" "$home/other/obj" && touch "$home/built/flags"
make clean BUILD="$home/built" >"$home/log" 2>&1 || fail 'make clean fails'
[ "$(ls -A "$home/built")" = peers ] || fail "make clean leaves $(ls -A "$home/built")"
! make clean BUILD="$home/other" >"$home/log" 2>&1 || fail 'make clean removes what make did not build'
[ -e "$home/other/obj" ] || fail 'make clean removed a folder that make did not build in'
echo "what would harm is refused"
command -v pkg-config >/dev/null || command -v cmake >/dev/null || exit 77  # nothing was compiled
