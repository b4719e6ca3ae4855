// Masks: what a causal mask leaves, and why masked keys are skipped and not filled.
#include <cmath>
#include <limits>
#include <ostream>

#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// Four tokens with a causal mask: the weights.
void causal(std::ostream& out) {
    const Tensor q = Tensor::randn({1, 4, 4}, Rng(5)), x = Tensor::randn({1, 4, 4}, Rng(6));
    Tensor weights;
    attention(q, x, x, {.mask = Mask::causal(), .weights = &weights});
    Rows rows = {{"query", "key 1", "key 2", "key 3", "key 4"}};
    for (int64_t t = 0; t < 4; ++t) {
        rows.push_back({std::to_string(t + 1)});
        for (int64_t s = 0; s < 4; ++s)
            rows.back().push_back(s > t ? "hidden" : fixed(value(weights, t * 4 + s)));
    }
    table(out, rows);
}

// What most code does: hidden scores become -1e9 before the softmax. q (T, D), k and v (S, D)
Tensor filled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& may_see) {
    const Tensor scores = matmul(q, k, true) / std::sqrt(static_cast<Real>(q.size(1)));  // (T, S)
    return matmul(softmax(where(may_see, scores, Real(-1e9))), v);                       // (T, D)
}

void filling(std::ostream& out) {
    const Tensor q = Tensor::from({1, 2}, {1, 0}), k = Tensor::from({3, 2}, {1, 0, 0, 1, 1, 1});
    const auto text = [](const Tensor& y) { return std::isnan(value(y)) ? "NaN" : fixed(value(y), 3); };
    Rows rows = {{"values 1, 2, 6", "filled with -1e9", "skipped, as here"}};
    const auto row = [&](const std::string& what, Real third, const std::vector<uint8_t>& may_see) {
        const std::vector<Real> numbers(may_see.begin(), may_see.end());
        const Tensor v = Tensor::from({3, 2}, {1, 0, 2, 0, third, 0});  // as wide as the keys
        const Tensor skipped = attention(unsqueeze(q, 0), unsqueeze(k, 0), unsqueeze(v, 0),
                                         {.mask = Mask::allowed(1, 1, 3, may_see)});
        rows.push_back({what, text(filled_attention(q, k, v, Tensor::from({1, 3}, numbers))), text(skipped)});
    };
    row("the third key is hidden", 6, {1, 1, 0});
    row("the third key is hidden, and its value is NaN", std::numeric_limits<Real>::quiet_NaN(), {1, 1, 0});
    row("all keys are hidden", 6, {0, 0, 0});
    table(out, rows);
}

const Adds kHere({{"nn.masks.causal", Effort::quick, causal}, {"nn.masks.filled", Effort::quick, filling}});

}  // namespace

}  // namespace plaingrad::chapters
