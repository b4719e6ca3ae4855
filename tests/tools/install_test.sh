# Does an installed library work outside of this folder? Installs into a temporary one, compiles a
# program with nothing but the flags that pkg-config gives, in float and in double, and sees that mixing
# the two does not link.
#
# usage: sh tests/tools/install_test.sh        CXX may be set
set -eu
command -v pkg-config >/dev/null || { echo "skipped: there is no pkg-config"; exit 0; }
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
make install PREFIX="$prefix" >"$prefix/log" || { cat "$prefix/log" >&2; exit 1; }
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"

cat >"$prefix/example.cpp" <<'END'
#include <iostream>

#include "autograd/ops.h"
#include "models/transformer.h"

int main() {
    using namespace plaingrad;
    autograd::Tensor x = autograd::Tensor::from({2}, {3, 4}).require_grad();
    autograd::sum(x * x).backward();
    std::cout << sizeof(autograd::Real) << ": " << x.grad().data()[0] << ' ' << x.grad().data()[1] << '\n';
}
END

cd "$prefix"
build() {  # build <flags of> <libraries of>
    # shellcheck disable=SC2046  # the flags are words
    ${CXX:-g++} example.cpp $(pkg-config --cflags "$1") $(pkg-config --libs "$2") -o example 2>"$prefix/errors"
}
for package in plaingrad plaingrad-double; do
    build $package $package || { cat "$prefix/errors" >&2; exit 1; }
    ./example
done
if build plaingrad plaingrad-double; then
    echo "a float program was linked with the double library" >&2
    exit 1
fi
grep -q plaingrad_real_is_float "$prefix/errors" || { cat "$prefix/errors" >&2; exit 1; }
echo "mixing them does not link"
