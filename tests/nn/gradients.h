// Checks the gradients of whole modules: of every element of every parameter and input.
//
// autograd/gradcheck.h clones its inputs. A module's parameters are inside it, so here they are changed in
// place.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "nn/module.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

namespace plaingrad::tests {

using autograd::NoGrad;

// An attention key's bias adds the same to all scores of a query, and so has no effect: its gradient is 0. It
// is the middle third of the joint projection's bias, and the first half of that of keys and values.
inline bool truly_zero(const std::string& name, std::size_t i, std::size_t size) {
    return (name.ends_with("in_proj.bias") && i >= size / 3 && i < 2 * size / 3) ||
           (name.ends_with("kv_proj.bias") && i < size / 2);
}

// f is a function of the leaves alone (dropout: with a fixed rng); its output is multiplied by random
// numbers and summed. In double.
inline void check_gradients(const std::string& what, const std::vector<nn::NamedParameter>& leaves,
                            const std::function<Tensor()>& f) {
    REQUIRE(autograd::kRealIsDouble);
    nn::zero_grad(leaves);
    const Tensor out = f();
    const Tensor upstream = random(out.shape(), 77);
    out.backward(upstream);
    const auto loss = [&] {
        const NoGrad no_grad;
        const Tensor y = f();
        double total = 0;
        for (int64_t i = 0; i < y.numel(); ++i)
            total += static_cast<double>(y.data()[i]) * static_cast<double>(upstream.data()[i]);
        return total;
    };
    const double eps = 1e-6;
    for (const nn::NamedParameter& leaf : leaves) {
        INFO(what << ": " << leaf.name << " " << leaf.tensor.shape());
        REQUIRE(leaf.tensor.has_grad());
        const std::vector<Real> grad = leaf.tensor.grad().to_vector();
        double largest = 0, largest_zero = 0, worst = 0;
        for (std::size_t i = 0; i < grad.size(); ++i) {
            Real* x = leaf.tensor.mutable_data() + i;
            const Real middle = *x;
            *x = static_cast<Real>(static_cast<double>(middle) + eps);
            const double above = loss();
            *x = static_cast<Real>(static_cast<double>(middle) - eps);
            const double below = loss();
            *x = middle;
            const double numeric = (above - below) / (2 * eps), analytic = static_cast<double>(grad[i]);
            const double error = std::abs(analytic - numeric) / (1 + 100 * std::abs(numeric));
            double& sized = truly_zero(leaf.name, i, grad.size()) ? largest_zero : largest;
            sized = std::fmax(sized, std::abs(analytic));
            if (!(error <= worst))
                worst = std::isnan(error) ? HUGE_VAL : error;
        }
        CHECK(worst <= 1e-5);  // |analytic - numeric| <= 1e-5 + 1e-3 |numeric|
        CHECK(largest_zero < 1e-12);
        CHECK(largest > 1e-6);
    }
}

}  // namespace plaingrad::tests
