// The derivatives of a matrix product, softmax, cross-entropy and layer norm: each by its formula, and by the
// library's backward.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// A row of a table: a gradient by its formula, and as backward computed it.
std::vector<std::string> both(const std::string& name, const Tensor& formula, const Tensor& backward) {
    for (int64_t i = 0; i < formula.numel(); ++i)
        claim(std::abs(value(formula, i) - value(backward, i)) < 1e-5, name + " is what backward computes");
    return {name, numbers(formula), numbers(backward)};
}

void product(std::ostream& out) {
    const Tensor a = Tensor::from({1, 2}, {1, 2}).require_grad(),
                 b = Tensor::from({2, 2}, {3, 4, 5, 6}).require_grad(), dout = Tensor::from({1, 2}, {1, 10});
    matmul(a, b).backward(dout);
    table(out, {{"", "by the formula", "by backward"},
                both("da = dout bᵀ", matmul(dout, transpose(b, 0, 1)), a.grad()),
                both("db = aᵀ dout", matmul(transpose(a, 0, 1), dout), b.grad())});
}

Tensor logits() { return Tensor::from({1, 3}, {1, 2, 3}); }

// d y_i / d x_j = y_i ([i = j] - y_j)
void softmax_table(std::ostream& out) {
    const Tensor y = softmax(logits());
    Rows rows = {{"", "y", "d / dx[0]", "d / dx[1]", "d / dx[2]", "sum"}};
    for (int64_t i = 0; i < 3; ++i) {
        rows.push_back({join("y[", i, "]"), fixed(value(y, i), 4)});
        double sum = 0;
        for (int64_t j = 0; j < 3; ++j) {
            const double slope = value(y, i) * ((i == j ? 1 : 0) - value(y, j));
            sum += slope;
            rows.back().push_back(fixed(slope, 4));
        }
        rows.back().push_back(fixed(sum, 4));
    }
    table(out, rows);
}

void cross_entropy_gradient(std::ostream& out) {
    const Tensor x = logits().require_grad(), y = softmax(logits());
    const Tensor loss = cross_entropy(x, Tokens(1, 1, {2}));
    loss.backward();
    table(out, {{"", "by the formula", "by backward"},
                both("loss = −ln " + fixed(value(y, 2), 4), -log(slice(y, 1, 2, 3)), loss),
                both("dx = y − one-hot", y - Tensor::from({1, 3}, {0, 0, 1}), x.grad())});
}

// A right answer, an open question, a wrong answer; beside it the loss Σ (p - [target])².
void surprise(std::ostream& out) {
    Rows rows = {{"logit of the target", "others", "p of the target", "cross-entropy", "its gradient",
                  "squared error", "its gradient"}};
    for (const Real logit : {Real(4), Real(0), Real(-4), Real(-8)}) {
        const Tensor x = Tensor::from({1, 3}, {0, 0, logit}).require_grad(), z = x.clone().require_grad();
        const Tensor entropy = cross_entropy(x, Tokens(1, 1, {2})), p = softmax(z),
                     off = p - Tensor::from({1, 3}, {0, 0, 1}), squared = sum(off * off);
        entropy.backward();
        squared.backward();
        rows.push_back({number(value(Tensor(logit))), "0, 0", digits(value(p, 2)), digits(value(entropy)),
                        digits(value(x.grad(), 2)), digits(value(squared)), digits(value(z.grad(), 2))});
        claim(logit > -8 || value(z.grad(), 2) > value(x.grad(), 2) / 100,
              "the gradient of the squared error vanishes where the model is sure and wrong");
    }
    table(out, rows);
}

// x̂ = (x - mean(x)) r, dx = r (g - mean(g) - x̂ mean(x̂ g))
void layer_norm_gradient(std::ostream& out) {
    const Tensor x = Tensor::from({1, 4}, {1, 2, 4, 5}).require_grad(),
                 g = Tensor::from({1, 4}, {1, 0, 0, 0});
    const Tensor y = layer_norm(x, Tensor::ones({4}), Tensor::zeros({4}));
    y.backward(g);
    const Tensor centred = (x - mean(x)).detach(), r = 1 / sqrt(mean(centred * centred)), x_hat = centred * r;
    const Tensor dx = r * (g - mean(g) - x_hat * mean(x_hat * g));
    table(out, {{"", "by the formula", "by the library"},
                both("x̂ = (x − μ) r", x_hat, y),
                both("dx", dx, x.grad()),
                both("Σ dx", sum(dx), sum(x.grad())),
                both("Σ dx x̂", sum(dx * x_hat), sum(x.grad() * y))});
}

const Adds kHere({{"autograd.product", Effort::quick, product},
                  {"autograd.softmax", Effort::quick, softmax_table},
                  {"autograd.cross_entropy", Effort::quick, cross_entropy_gradient},
                  {"autograd.surprise", Effort::quick, surprise},
                  {"autograd.layer_norm", Effort::quick, layer_norm_gradient}});

}  // namespace

}  // namespace plaingrad::chapters
