// Shape, Mask and Tokens. (Errors for wrong sizes: ../ops/wrong_calls_of_tensors.cpp.)
#include <limits>

#include "autograd/base/shape.h"
#include "autograd/broadcast.h"
#include "autograd/tokens.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST_CASE("shape: sizes, dimensions from both ends, text", "[shape]") {
    const Shape s = {2, 3, 5};
    CHECK((s.rank() == 3 && s.numel() == 30));
    CHECK((s[0] == 2 && s[-1] == 5 && s[-3] == 2 && s.index(-1) == 2));
    CHECK(s.with(1, 7) == Shape{2, 7, 5});
    CHECK(s.with(-1, 0).numel() == 0);
    CHECK((s.without(0) == Shape{3, 5} && s.without(-1) == Shape{2, 3}));
    CHECK((s == Shape{2, 3, 5} && !(s == Shape{2, 3}) && !(s == Shape{2, 5, 3})));
    CHECK(!(Shape{} == Shape{1}));
    CHECK((Shape{}.numel() == 1 && Shape{}.rank() == 0));
    CHECK(Shape{4}.without(0) == Shape{});
    CHECK(std::vector<int64_t>(s.begin(), s.end()) == std::vector<int64_t>{2, 3, 5});
    CHECK(join(s) == "(2, 3, 5)");
    CHECK(join(Shape{}) == "()");
    CHECK(Shape({kMax}).numel() == kMax);
    CHECK(Shape({0, kMax, 1}).numel() == 0);
}

TEST_CASE("shape: broadcasting is NumPy's", "[shape]") {
    struct Case {
        Shape a, b, out;
    };
    const Case cases[] = {
        {{}, {}, {}},
        {{}, {2, 3}, {2, 3}},
        {{1}, {}, {1}},
        {{3}, {2, 3}, {2, 3}},
        {{2, 1}, {2}, {2, 2}},
        {{3, 1, 2}, {1, 3, 2}, {3, 3, 2}},
        {{1, 1, 1, 1}, {5}, {1, 1, 1, 5}},
        {{0, 3}, {1, 3}, {0, 3}},
        {{1}, {0}, {0}},
        {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
    };
    for (const Case& c : cases) {
        CHECK(broadcast_shapes("x", c.a, c.b) == c.out);
        CHECK(broadcast_shapes("x", c.b, c.a) == c.out);
    }
}

TEST_CASE("mask: which sizes it fits", "[mask]") {
    CHECK_NOTHROW(Mask::allowed(2, 3, 5, std::vector<uint8_t>(30, 1)).check_fits(2, 3, 5));
    CHECK_NOTHROW(Mask::none().check_fits(7, 1, 0));
    CHECK_NOTHROW(Mask::causal().check_fits(1, 3, 3));
    CHECK_NOTHROW(Mask::causal().check_fits(1, 3, 9));
    CHECK_NOTHROW(Mask::key_counts({0, 5}).check_fits(2, 9, 5));
}

TEST_CASE("tokens: padding, lengths, slices", "[tokens]") {
    using Ids = std::vector<int32_t>;
    const Tokens t = Tokens::padded({{5, 6, 7}, {}, {8}}, 0);
    CHECK((t.batch() == 3 && t.length() == 3 && t.pad() == 0));
    CHECK(t.ids() == Ids{5, 6, 7, 0, 0, 0, 8, 0, 0});
    CHECK(t.at(2, 0) == 8);
    CHECK(t.lengths() == Ids{3, 0, 1});
    CHECK(Tokens::padded({{5}, {6}}, 1, 3).ids() == Ids{5, 1, 1, 6, 1, 1});
    CHECK(Tokens::padded({}, 0).batch() == 0);

    const Tokens begin = t.slice(0, 2), end = t.slice(1, 3);
    CHECK(begin.ids() == Ids{5, 6, 0, 0, 8, 0});
    CHECK(end.ids() == Ids{6, 7, 0, 0, 0, 0});
    CHECK((end.length() == 2 && end.pad() == 0));
    CHECK(end.lengths() == Ids{2, 0, 0});
    CHECK(t.slice(3, 3).ids().empty());

    const Tokens unpadded(2, 2, {0, 1, 1, 0});
    CHECK(unpadded.pad() == Tokens::kNoPadding);
    CHECK(unpadded.lengths() == Ids{2, 2});
}
