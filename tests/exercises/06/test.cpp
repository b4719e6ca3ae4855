#include EXERCISE  // the learner's page, or ours
#include <cmath>
#include <functional>

#include "tests/catch.h"
#include "tests/exercises/marking.h"
#include "tests/reference.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(6);
static constexpr int64_t kLength = 50, d = 8;

// A table whose clock i turns by power(i) of 10000, and whose columns are as `column` says.
static Row table(const std::function<double(int64_t)>& exponent,
                 const std::function<std::size_t(int64_t i, bool cosine)>& column, double first = 0,
                 double unit = 1) {
    Row out(static_cast<std::size_t>(kLength * d));
    for (int64_t pos = 0; pos < kLength; ++pos)
        for (int64_t i = 0; i < d / 2; ++i) {
            const double angle = unit * (static_cast<double>(pos) + first) / std::pow(10000.0, exponent(i));
            out[static_cast<std::size_t>(pos * d) + column(i, false)] = std::sin(angle);
            out[static_cast<std::size_t>(pos * d) + column(i, true)] = std::cos(angle);
        }
    return out;
}

static double right_exponent(int64_t i) { return 2.0 * static_cast<double>(i) / d; }
static std::size_t in_pairs(int64_t i, bool cosine) { return static_cast<std::size_t>(2 * i + cosine); }

TEST_CASE("position 0 is all 0 and 1") {
    exercise.expect_values(
        "PE", sinusoids(1, d), {1, d}, {0, 1, 0, 1, 0, 1, 0, 1},
        {{"all sines come first, then all cosines: they must alternate, column 2i the sine, 2i+1 the cosine",
          {0, 0, 0, 0, 1, 1, 1, 1}},
         {"sines and cosines are swapped: even columns hold the sine", {1, 0, 1, 0, 1, 0, 1, 0}}});
}

TEST_CASE("sine and cosine of a pair have the same angle") {
    const Tensor pe = sinusoids(kLength, d);
    for (int64_t i = 0; i < pe.numel(); i += 2) {
        const auto sine = static_cast<double>(pe.data()[i]), cosine = static_cast<double>(pe.data()[i + 1]);
        exercise.expect(std::fabs(sine * sine + cosine * cosine - 1) < 1e-4, "at position ", i / d,
                        " columns ", i % d, " and ", i % d + 1, " are ", sine, " and ", cosine,
                        ": sin² + cos² is not 1. Both columns of a ",
                        "pair take the exponent 2i/d, not column/d");
    }
}

TEST_CASE("the table") {
    exercise.expect_values(
        "PE", sinusoids(kLength, d), {kLength, d}, table(right_exponent, in_pairs),
        {{"the exponent is i/d: it must be 2i/d, from 0 to nearly 1",
          table([](int64_t i) { return static_cast<double>(i) / d; }, in_pairs)},
         {"the exponent is 4i/d: with column 2i the exponent is column / d, without another 2",
          table([](int64_t i) { return 4.0 * static_cast<double>(i) / d; }, in_pairs)},
         {"the exponent is computed in whole numbers, where 2 * i / d is 0 (or 1): divide in double",
          table([](int64_t) { return 0.0; }, in_pairs)},
         {"the exponent is computed in whole numbers, where 2 * i / d is 0 (or 1): divide in double",
          table([](int64_t i) { return i < d / 4 ? 0.0 : 1.0; }, in_pairs)},
         {"positions begin at 1: they must begin at 0", table(right_exponent, in_pairs, 1)},
         {"angles are in degrees: std::sin takes radians",
          table(right_exponent, in_pairs, 0, std::acos(-1.0) / 180)},
         {"the angle is multiplied by 10000^(2i/d): divide by it",
          table([](int64_t i) { return -right_exponent(i); }, in_pairs)}});
    exercise.expect_values("the last rows of a longer table", slice(sinusoids(400, 2), 0, 399, 400), {1, 2},
                           {std::sin(399.0), std::cos(399.0)});
}

TEST_CASE("a shift by k positions is one matrix") {
    exercise.expect(shift(0, d).shape() == Shape({d, d}), "shift has the wrong shape: ", shift(0, d).shape(),
                    "; expected ", Shape({d, d}));
    for (const int64_t k : {0, 1, 5, -3}) {
        const Row pe = table(right_exponent, in_pairs);
        const Row moved = plaingrad::reference::matmul(pe, row_of(shift(k, d)), kLength, d, d);
        const Row expected = table(right_exponent, in_pairs, static_cast<double>(k));
        const std::string what = "PE(pos) M for k = " + std::to_string(k);
        exercise.expect_values(what, tensor_of({kLength, d}, moved), {kLength, d}, expected,
                               {{"M moves by -k: a row vector stands on the left of M, so transpose it",
                                 table(right_exponent, in_pairs, -static_cast<double>(k))}});
    }
}
