#include "nn/positional_encoding.h"

#include "autograd/base/portable_math.h"

namespace plaingrad::nn {

// With an odd d the last column is a sine without its cosine.
static Tensor sinusoid_table(int64_t max_length, int64_t d) {
    namespace portable = autograd::portable;
    Tensor table = Tensor::uninitialized({max_length, d});
    Real* values = table.mutable_data();
    for (int64_t i = 0; i < d; ++i) {
        const int64_t even = i / 2 * 2;
        const double exponent = static_cast<double>(even) / static_cast<double>(d);
        const double wave_length =
            portable::exp(exponent * portable::log(10000.0));  // 10000^exponent, over 2π
        for (int64_t position = 0; position < max_length; ++position) {
            const double angle = static_cast<double>(position) / wave_length;
            values[position * d + i] =
                static_cast<Real>(i % 2 == 0 ? portable::sin(angle) : portable::cos(angle));
        }
    }
    return table;
}

PositionalEncoding::PositionalEncoding(Positions kind, int64_t max_length_, int64_t d, const Rng& rng,
                                       Init init)
    : max_length(max_length_) {
    if (kind == Positions::sinusoidal)
        sinusoids = sinusoid_table(max_length, d);
    if (kind == Positions::learned)
        table = Parameter(initial_table(init, max_length, d, rng.fork("table")));
}

Tensor PositionalEncoding::at(int64_t length, int64_t first) const {
    check(length >= 0 && first >= 0 && first <= INT64_MAX - length, "[PositionalEncoding] there are no ",
          length, " positions from ", first, " on");
    const int64_t end = first + length;
    check(end <= max_length, "[PositionalEncoding] position ", end - 1, " is beyond the model's maximum ",
          "length of ", max_length, "; make max_length larger, or the sentence shorter");
    return encodings().defined() ? autograd::slice(encodings(), 0, first, end) : Tensor();
}

}  // namespace plaingrad::nn
