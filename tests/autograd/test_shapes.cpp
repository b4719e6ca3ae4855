// Shape, Mask and Tokens: sizes, and errors for wrong ones.
#include <limits>
#include <sstream>

#include "autograd/base/shape.h"
#include "autograd/broadcast.h"
#include "autograd/tokens.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The message of an expression's Error.
#define ERROR_OF(expression) error_of([&] { static_cast<void>(expression); })

struct Failing {
    std::string error;
    std::vector<std::string> parts;  // the first begins the line
};

void check_errors(const std::vector<Failing>& cases) {
    for (const Failing& c : cases) {
        INFO("'" << c.error << "' for " << c.parts[0]);
        CHECK(c.error.rfind(c.parts[0], 0) == 0);
        CHECK(!contains(c.error, "\n"));
        for (const std::string& part : c.parts) {
            INFO("expected: " << part);
            CHECK(contains(c.error, part));
        }
    }
}

}  // namespace

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

TEST_CASE("shape: errors", "[shape][errors]") {
    check_errors({
        {ERROR_OF(Shape({1, 2, 3, 4, 5})), {"[shape] at most 4 dimensions", "got 5"}},
        {ERROR_OF(Shape({2, -3})), {"[shape] a size must not be negative", "got -3", "dimension 1"}},
        {ERROR_OF(Shape({kMax, 2})), {"[shape] too many elements"}},
        {ERROR_OF(Shape({int64_t(1) << 32, int64_t(1) << 31})), {"[shape] too many elements"}},
        {ERROR_OF(Shape({int64_t(1) << 32, int64_t(1) << 32})), {"[shape] too many elements"}},
        {ERROR_OF(Shape({2, 3})[2]), {"[shape] no dimension 2 in (2, 3)"}},
        {ERROR_OF(Shape({2, 3})[-3]), {"[shape] no dimension -3 in (2, 3)"}},
        {ERROR_OF(Shape()[0]), {"[shape] no dimension 0 in ()"}},
        {ERROR_OF(Shape({2}).with(1, 3)), {"[shape] no dimension 1"}},
        {ERROR_OF(Shape({2}).without(-2)), {"[shape] no dimension -2"}},
        {ERROR_OF(Shape({2}).with(0, -1)), {"[shape] a size must not be negative"}},
    });
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
    for (const auto& [one, other] :
         {std::pair<Shape, Shape>{{2, 3}, {2}}, {{3}, {4}}, {{2, 3, 4}, {3, 3, 4}}, {{0}, {3}}})
        check_errors({{error_of([a = one, b = other] { broadcast_shapes("name", a, b); }),
                       {"[name] shapes do not broadcast", join(one), join(other)}}});
}

TEST_CASE("mask: which sizes it fits", "[mask]") {
    const Mask allowed = Mask::allowed(2, 3, 5, std::vector<uint8_t>(30, 1));
    CHECK(ERROR_OF(allowed.check_fits(2, 3, 5)).empty());
    CHECK(ERROR_OF(Mask::none().check_fits(7, 1, 0)).empty());
    CHECK(ERROR_OF(Mask::causal().check_fits(1, 3, 3)).empty());
    CHECK(ERROR_OF(Mask::causal().check_fits(1, 3, 9)).empty());
    CHECK(ERROR_OF(Mask::key_counts({0, 5}).check_fits(2, 9, 5)).empty());

    check_errors({
        {ERROR_OF(Mask::key_counts({1, 2}).check_fits(3, 4, 5)), {"[Mask] key counts of 2", "batch of 3"}},
        {ERROR_OF(Mask::key_counts({1, 6}).check_fits(2, 4, 5)), {"[Mask] a key count", "to 5", "got 6"}},
        {ERROR_OF(Mask::key_counts({-1}).check_fits(1, 4, 5)), {"[Mask] a key count", "got -1"}},
        {ERROR_OF(Mask::causal().check_fits(1, 4, 3)), {"[Mask] causal", "keys (3)", "queries (4)"}},
        {ERROR_OF(allowed.check_fits(2, 5, 3)), {"[Mask] allowed pairs (2, 3, 5)", "5 queries and 3 keys"}},
        {ERROR_OF(allowed.check_fits(1, 3, 5)), {"[Mask] allowed pairs", "batch of 1"}},
        {ERROR_OF(Mask::allowed(2, 3, 5, {1})), {"[Mask::allowed] (2, 3, 5) needs 30", "got 1"}},
        {ERROR_OF(Mask::padding(Tokens(1, 3, {4, 0, 4}, 0))), {"[Tokens] sentence 0", "padding"}},
    });
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

TEST_CASE("tokens: errors", "[tokens][errors]") {
    const Tokens t(2, 3, {1, 2, 3, 4, 5, 6});
    check_errors({
        {ERROR_OF(Tokens(2, 3, {1, 2})), {"[Tokens] 2 sentences of 3 need 6 ids", "got 2"}},
        {ERROR_OF(Tokens(1, 2, {1, -2})), {"[Tokens] an id must not be negative", "got -2"}},
        {ERROR_OF(Tokens(-1, -1, {1})), {"[Tokens] "}},
        {ERROR_OF(Tokens::padded({{1, 2, 3}}, 0, 2)), {"[Tokens::padded] a sentence of 3", "into 2"}},
        {ERROR_OF(Tokens::padded({{1, 2}, {3, 0}}, 0)), {"[Tokens::padded] a sentence contains the id 0"}},
        {ERROR_OF(t.at(2, 0)), {"[Tokens::at] sentence 2, position 0", "2 sentences of 3"}},
        {ERROR_OF(t.at(0, 3)), {"[Tokens::at] sentence 0, position 3"}},
        {ERROR_OF(t.at(-1, 5)), {"[Tokens::at] sentence -1"}},
        {ERROR_OF(Tokens(2, 2, {1, 0, 0, 1}, 0).lengths()), {"[Tokens] sentence 1", "id 0"}},
        {ERROR_OF(t.slice(-1, 2)), {"[Tokens::slice] [-1, 2)", "length 3"}},
        {ERROR_OF(t.slice(2, 1)), {"[Tokens::slice] [2, 1)"}},
        {ERROR_OF(t.slice(0, 4)), {"[Tokens::slice] [0, 4)"}},
    });
}
