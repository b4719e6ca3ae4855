#include "nn/positional_encoding.h"

#include <cmath>
#include <utility>

#include "autograd/base/portable_math.h"
#include "nn/probe.h"

namespace plaingrad::nn {

// With an odd d the last column is a sine without its cosine.
static Tensor sinusoid_table(int64_t max_length, int64_t d) {
    namespace portable = autograd::portable;
    std::vector<double> wave_lengths;  // over 2π
    for (int64_t i = 0; i < d; ++i) {
        const int64_t even = i / 2 * 2;
        const double exponent = static_cast<double>(even) / static_cast<double>(d);
        wave_lengths.push_back(portable::exp(exponent * portable::log(10000.0)));  // 10000^exponent
    }
    return Tensor::from_function({max_length, d}, [&](uint64_t element) {
        const uint64_t position = element / wave_lengths.size(), i = element % wave_lengths.size();
        const double angle = static_cast<double>(position) / wave_lengths[i];
        return i % 2 == 0 ? portable::sin(angle) : portable::cos(angle);
    });
}

PositionalEncoding::PositionalEncoding(Positions kind, int64_t max_length_, int64_t d, const Rng& rng,
                                       Init init)
    : max_length(max_length_) {
    if (kind == Positions::sinusoidal)
        sinusoids = sinusoid_table(max_length, d);
    if (kind == Positions::learned)
        table = Parameter(initial_table(init, max_length, d, rng.fork("table")));
}

Tensor PositionalEncoding::operator()(const Tensor& x, const Mode& mode, int64_t first) const {
    const int64_t end = first + x.size(1);
    check(end <= max_length, "[PositionalEncoding] position ", end - 1, " is beyond the model's maximum ",
          "length of ", max_length, "; make max_length larger, or the sentence shorter");
    if (!encodings().defined())
        return x;
    const Tensor places = autograd::slice(encodings(), 0, first, end);  // (T, d)
    check(x.rank() == 3 && x.size(2) == places.size(1), "[PositionalEncoding] x must be (B, T, ",
          places.size(1), "): got ", x.shape());
    show(*this, places, mode);
    return x + places;  // (B, T, d)
}

namespace {

namespace portable = autograd::portable;

// Frequencies and angles are float32 in the double build, too, each step rounded in the order of Hugging
// Face's transformers. Published models were trained with these angles, and differ from what exact ones
// would give: at position 8,000 by up to 4e-4 in a cosine, at 512 by 1e-5, more than all other rounding of
// a model. So to compute what they compute, the angle is rounded as theirs is; its cosine and sine are then
// as exact as Real. (A frequency in 50 still differs in its last bit, where their power is not the nearest
// number.)

float llama3(float frequency, const RotaryOptions& o) {
    const auto factor = static_cast<float>(o.factor), length = static_cast<float>(o.original_length);
    const auto low = static_cast<float>(o.low_frequency_factor),
               high = static_cast<float>(o.high_frequency_factor);
    const float wave_length = 1 / frequency * 6.28318530717958647692f;  // positions a turn
    if (wave_length > length / low)
        return frequency / factor;
    if (wave_length < length / high)
        return frequency;
    const float kept = (1 / wave_length * length - low) / (high - low);
    const float divided = (1 - kept) * frequency / factor;
    return divided + kept * frequency;
}

float frequency_of(int64_t pair, int64_t width, const RotaryOptions& o) {
    const float exponent = static_cast<float>(2 * pair) / static_cast<float>(width);
    const float frequency =
        1 / static_cast<float>(portable::pow(static_cast<double>(o.base), static_cast<double>(exponent)));
    if (o.scaling == RotaryScaling::linear)
        return frequency / static_cast<float>(o.factor);
    return o.scaling == RotaryScaling::llama3 ? llama3(frequency, o) : frequency;
}

}  // namespace

void check_options(const RotaryOptions& o, int64_t head_dim) {
    const int64_t width = o.width > 0 ? o.width : head_dim;
    check(o.width >= 0 && width % 2 == 0 && width <= head_dim, "[rotary] width = ", o.width,
          " must be even and at most the ", head_dim, " numbers of a head, or 0 for an even number of them");
    check(o.base >= 1 && o.base <= Real(1e30), "[rotary] base must be from 1 to 1e30: got ", o.base);
    const bool none = o.scaling == RotaryScaling::none, llama3 = o.scaling == RotaryScaling::llama3;
    check(none || (o.factor > 0 && std::isfinite(o.factor)),
          "[rotary] factor must be positive and finite: got ", o.factor);
    check(!llama3 || (o.low_frequency_factor > 0 && o.high_frequency_factor > o.low_frequency_factor &&
                      std::isfinite(o.high_frequency_factor)),
          "[rotary] low_frequency_factor must be positive and less than high_frequency_factor: got ",
          o.low_frequency_factor, " and ", o.high_frequency_factor);
    check(!llama3 || o.original_length >= 1, "[rotary] original_length must be at least 1: got ",
          o.original_length);
}

Rotary::Rotary(int64_t max_length, int64_t head_dim_, const RotaryOptions& o) : head_dim(head_dim_) {
    check_options(o, head_dim);
    const int64_t width = o.width > 0 ? o.width : head_dim, half = width / 2;
    std::vector<float> frequencies;
    for (int64_t i = 0; i < half; ++i)
        frequencies.push_back(frequency_of(i, width, o));
    turns = Tensor::from_function({max_length, width}, [&](uint64_t element) {
        const int64_t position = static_cast<int64_t>(element) / width,
                      i = static_cast<int64_t>(element) % width;
        const float angle = static_cast<float>(position) * frequencies[static_cast<std::size_t>(i % half)];
        return i < half ? portable::cos(static_cast<double>(angle))
                        : portable::sin(static_cast<double>(angle));
    });
}

Tensor Rotary::operator()(Tensor x, int64_t n_heads, int64_t first) const {
    return autograd::rotary(std::move(x), turns, {.n_heads = n_heads, .head_dim = head_dim, .first = first});
}

}  // namespace plaingrad::nn
