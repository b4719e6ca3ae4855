#include "tests/trust/peers/ops.h"

#include <cstdio>

namespace plaingrad::trust {

Real OpCase::option(const std::string& name, Real value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", static_cast<double>(value));
    words_ += ' ' + name + '=' + digits;
    return value;
}

void OpCase::option(const std::string& name, const std::vector<int64_t>& values) {
    words_ += ' ' + name + '=';
    for (std::size_t i = 0; i < values.size(); ++i)
        words_ += join(i > 0 ? "," : "", values[i]);
}

const Tokens& OpCase::ids(const std::string& name, const Tokens& ids) {
    constant(name, Tensor::from({ids.batch(), ids.length()},
                                std::vector<Real>(ids.ids().begin(), ids.ids().end())));
    option(name + "_pad", static_cast<int64_t>(ids.pad()));
    return ids;
}

Shape any_shape(Dice& draw, int64_t least_rank, int64_t most_rank, bool with_0) {
    std::vector<int64_t> sizes;
    int64_t numel = 1;
    for (int64_t rank = least_rank + draw.below(most_rank - least_rank + 1); rank > 0; --rank) {
        const int64_t size = numel > 300 ? 1 + draw.below(3) : any_size(draw);
        sizes.push_back(with_0 && draw.one_in(20) ? 0 : size);
        numel *= size;
    }
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
}

Shape any_rows(Dice& draw, int64_t columns) { return any_shape(draw, 1, 3).with(-1, columns); }

Shape any_narrowed(Dice& draw, const Shape& s) {
    std::vector<int64_t> sizes;
    for (int dim = static_cast<int>(draw.one_in(3) ? draw.below(s.rank() + 1) : 0); dim < s.rank(); ++dim)
        sizes.push_back(draw.one_in(3) ? 1 : s[dim]);
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
}

int any_dim(OpCase& c, Dice& draw, const Shape& s) {
    const auto dim = static_cast<int>(draw.below(s.rank()));
    return c.option("dim", draw.one_in(2) ? dim - s.rank() : dim);
}

Tensor any_numbers(Dice& draw, const Shape& shape, double low, double high) {
    const bool coarse = draw.one_in(5);
    std::vector<Real> x(static_cast<std::size_t>(shape.numel()));
    for (Real& each : x) {
        const double number = draw.uniform(low, high);
        each = static_cast<Real>(coarse ? std::ceil(number * 2) / 2 : number);
    }
    return Tensor::from(shape, x);
}

Tokens any_ids(Dice& draw, int64_t batch, int64_t length, int64_t vocabulary, bool padded) {
    const auto pad = static_cast<int32_t>(draw.below(vocabulary));
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i)
        ids.push_back(padded && draw.one_in(4) ? pad : static_cast<int32_t>(draw.below(vocabulary)));
    return Tokens(batch, length, ids, padded ? pad : Tokens::kNoPadding);
}

autograd::Activation any_activation(OpCase& c, Dice& draw) {
    const int64_t f = draw.below(static_cast<int64_t>(autograd::Activation::count));
    c.option("activation", autograd::kActivationNames[f]);
    return static_cast<autograd::Activation>(f);
}

void any_precision(OpCase& c, Dice& draw) {
    const bool bf16 = c.option("bf16", draw.one_in(4));
    c.precision = bf16 ? autograd::Precision::bf16 : autograd::Precision::float32;
}

Real any_rate(OpCase& c, Dice& draw, const Shape& shape, const autograd::Rng& rng) {
    const Real p = c.option("p", draw.one_in(2) ? Real(0) : draw.one_of<Real>({Real(0.1), Real(0.5)}));
    c.constant("kept", autograd::dropout(Tensor::ones(shape), p, rng) != 0);
    return p;
}

}  // namespace plaingrad::trust
