#include "tests/trust/gradients/check.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/check.h"

namespace plaingrad::trust {

void round_leaves(const Case& c) {
    for (const nn::NamedParameter& leaf : c.leaves) {
        Tensor x = leaf.tensor;
        for (int64_t i = 0; i < x.numel(); ++i)
            x.mutable_data()[i] = static_cast<Real>(static_cast<float>(x.data()[i]));
    }
}

namespace {

Tensor upstream_of(const Tensor& y, const autograd::Rng& rng) {
    return Tensor::randn(y.shape(), rng.fork("upstream"));
}

// The derivative with respect to one number, by a step to each side. (Results are subtracted one by one: of
// two sums over them the last digits would be lost.)
double difference(const Case& c, Real& x, const Tensor& upstream, double step) {
    const autograd::NoGrad no_grad;
    const Real middle = x;
    x = static_cast<Real>(static_cast<double>(middle) + step);
    const std::vector<Real> above = c.f().to_vector();  // the result may share the memory of x
    x = static_cast<Real>(static_cast<double>(middle) - step);
    const std::vector<Real> below = c.f().to_vector();
    x = middle;
    double total = 0;
    for (std::size_t i = 0; i < above.size(); ++i)
        total += static_cast<double>((above[i] - below[i]) * upstream.data()[i]);
    return total / (2 * step);
}

bool agree(double gradient, double difference) {
    // (An infinite difference would allow every gradient.)
    return std::isfinite(difference) && std::abs(gradient - difference) <= 1e-5 + 1e-3 * std::abs(difference);
}

}  // namespace

std::vector<std::vector<double>> gradients(const Case& c, const autograd::Rng& rng) {
    nn::zero_grad(c.leaves);
    const Tensor y = c.f();
    y.backward(upstream_of(y, rng));
    std::vector<std::vector<double>> all;
    for (const nn::NamedParameter& leaf : c.leaves) {
        autograd::check(leaf.tensor.has_grad(), "no gradient reached ", leaf.name);
        const Tensor grad = leaf.tensor.grad();
        all.emplace_back(grad.data(), grad.data() + grad.numel());
    }
    return all;
}

Checked check(const Case& c, const std::vector<std::vector<double>>& gradients, const autograd::Rng& rng) {
    constexpr int64_t kAll = 64, kSome = 24;
    const Tensor upstream = [&] {
        const autograd::NoGrad no_grad;
        return upstream_of(c.f(), rng);
    }();
    Checked checked;
    Dice draw(rng.fork("elements"));
    for (std::size_t l = 0; l < c.leaves.size(); ++l) {
        Tensor x = c.leaves[l].tensor;
        const std::vector<double>& gradient = gradients[l];
        for (int64_t i = 0, n = x.numel() <= kAll ? x.numel() : kSome; i < n; ++i, ++checked.elements) {
            const int64_t element = x.numel() <= kAll ? i : draw.below(x.numel());
            Real& number = x.mutable_data()[element];
            const double is = gradient[static_cast<std::size_t>(element)];
            const double expected = difference(c, number, upstream, 1e-6);
            // A kink of a function may lie within the step; then a smaller one tells.
            if (!agree(is, expected) && !agree(is, difference(c, number, upstream, 1e-8)) &&
                checked.wrong.empty())
                checked.wrong = autograd::join(c.leaves[l].name, " ", x.shape(), ", element ", element,
                                               ": backward says ", is, ", differences say ", expected);
        }
        const bool all_zero = std::all_of(gradient.begin(), gradient.end(), [](double g) { return g == 0; });
        if (all_zero && !gradient.empty() && upstream.numel() > 0 && !c.may_be_zero && checked.zero.empty())
            checked.zero = autograd::join(c.leaves[l].name, " ", x.shape());
    }
    return checked;
}

}  // namespace plaingrad::trust
