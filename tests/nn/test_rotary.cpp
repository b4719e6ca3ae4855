// Rotary positions: the formula, what they are for, and the frequencies of each scaling.
#include "nn/positional_encoding.h"

#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

// The angle by which pair i is turned at position 1, from its cosine and sine.
double frequency(const Rotary& r, int64_t i) {
    const int64_t width = r.turns.size(1);
    const Real* const at = r.turns.data() + width;
    return std::atan2(static_cast<double>(at[width / 2 + i]), static_cast<double>(at[i]));
}

}  // namespace

TEST_CASE("rotary positions: the formula, in halves of each head", "[nn][rotary]") {
    const Rotary layer(100, 6, {.width = 4});
    REQUIRE(layer.turns.shape() == Shape({100, 4}));
    const Tensor x = random({2, 3, 15}, 1);  // two heads of 6, and 3 numbers of something else
    const Tensor y = layer(x, 2, 17);
    for (int64_t row = 0; row < 6; ++row) {
        const Real *from = x.data() + row * 15, *to = y.data() + row * 15;
        for (int64_t i = 0; i < 15; ++i) {
            const int64_t in_head = i % 6, other = in_head < 2 ? i + 2 : i - 2;
            double expected = static_cast<double>(from[i]);
            if (i < 12 && in_head < 4) {
                const double angle = static_cast<double>(17 + row % 3) * (in_head % 2 == 0 ? 1 : 0.01);
                expected = expected * std::cos(angle) +
                           (in_head < 2 ? -1 : 1) * static_cast<double>(from[other]) * std::sin(angle);
            }
            CHECK(static_cast<double>(to[i]) == Approx(expected).margin(1e-5));
        }
    }
}

// Exact angles would differ in a cosine by 4e-6 here: that is what transformers' rounding does.
TEST_CASE("rotary positions: an angle is rounded to a float, in double, too", "[nn][rotary]") {
    const Rotary layer(9000, 4, {});
    const std::vector<double> turns = doubles(layer.turns);  // two cosines and two sines for each position
    double worst = 0, from_exact = 0;
    for (std::size_t position = 0; position < 9000; ++position) {
        const float frequency = 1 / 100.0f;
        const double angle = static_cast<double>(static_cast<float>(position) * frequency),
                     exact = static_cast<double>(position) * static_cast<double>(frequency),
                     cosine = turns[4 * position + 1], sine = turns[4 * position + 3];
        worst = std::max({worst, std::abs(cosine - std::cos(angle)), std::abs(sine - std::sin(angle))});
        from_exact = std::max(from_exact, std::abs(cosine - std::cos(exact)));
    }
    CHECK(worst < (autograd::kRealIsDouble ? 1e-12 : 1e-7));
    CHECK(from_exact > 3e-6);
}

TEST_CASE("rotary positions: the memory of a temporary is reused, that of others never", "[nn][rotary]") {
    const Rotary layer(10, 4, {});
    Tensor x = random({1, 3, 8}, 1);
    const Tensor copy = x.clone(), y = layer(x, 2, 0);
    CHECK_FALSE(y.same_memory(x));
    CHECK(same_bits(x, copy));
    const Real* const memory = x.data();
    const Tensor z = layer(std::move(x), 2, 0);
    CHECK(z.data() == memory);
    CHECK(same_bits(z, y));
    CHECK(contains(error_of([&] { layer(copy, 2, 8); }), "no 3 positions from 8"));
}

// The published formula, in double: which frequencies it leaves, divides, and mixes.
TEST_CASE("rotary positions: scalings", "[nn][rotary]") {
    RotaryOptions o = {.base = 500000};
    const Rotary none(2, 64, o);
    o.scaling = RotaryScaling::linear, o.factor = 4;
    const Rotary linear(2, 64, o);
    o.scaling = RotaryScaling::llama3, o.factor = 32;
    const Rotary llama3(2, 64, o);
    o.low_frequency_factor = 2, o.high_frequency_factor = 8, o.original_length = 1024;
    const Rotary narrow(2, 64, o);
    int left = 0, divided = 0;
    for (int64_t i = 0; i < 32; ++i) {
        const double f = std::pow(500000.0, -static_cast<double>(i) / 32);
        CHECK(frequency(none, i) == Approx(f).epsilon(1e-4));
        CHECK(frequency(linear, i) == Approx(f / 4).epsilon(1e-4));
        // What turns more than `high` times within `length` positions is left, less than `low` times divided.
        const auto kept = [&](double length, double low, double high) {
            return std::fmin(std::fmax((length * f / 6.283185307179586 - low) / (high - low), 0), 1);
        };
        const double usual = kept(8192, 1, 4), other = kept(1024, 2, 8);
        CHECK(frequency(llama3, i) == Approx(usual * f + (1 - usual) * f / 32).epsilon(1e-4));
        CHECK(frequency(narrow, i) == Approx(other * f + (1 - other) * f / 32).epsilon(1e-4));
        left += usual == 1;
        divided += usual == 0;
    }
    CHECK((left > 10 && divided > 10 && left + divided < 32));
}
