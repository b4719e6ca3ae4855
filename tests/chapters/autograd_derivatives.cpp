// The derivatives of a matrix product, softmax, cross-entropy and layer norm: each by its formula in plain
// loops, by the library's backward, and by nudging.
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

using Row = std::vector<double>;
using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

// Σ out dout: the loss whose gradient with respect to `out` is `dout`.
double loss_of(const Function& f, const Inputs& inputs, const Tensor& dout) {
    const NoGrad no_grad;
    const Tensor out = f(inputs);
    double sum = 0;
    for (int64_t i = 0; i < out.numel(); ++i)
        sum += static_cast<double>(out.data()[i]) * static_cast<double>(dout.data()[i]);
    return sum;
}

double nudged(const Function& f, const Inputs& inputs, std::size_t input, int64_t element,
              const Tensor& dout) {
    constexpr double kNudge = 1.0 / 64;
    Inputs moved;
    for (const Tensor& tensor : inputs)
        moved.push_back(tensor.clone());
    Real& x = moved[input].mutable_data()[element];
    x += Real(kNudge);
    const double above = loss_of(f, moved, dout);
    x -= Real(2 * kNudge);
    return (above - loss_of(f, moved, dout)) / (2 * kNudge);
}

// A row for each element of each input: its gradient by hand, by backward and by nudging.
Rows compared(const std::vector<std::string>& names, const Function& f, const Inputs& inputs,
              const Tensor& dout, const std::vector<Row>& by_hand) {
    Inputs leaves;
    for (const Tensor& tensor : inputs) {
        leaves.push_back(tensor.clone());
        leaves.back().require_grad();
    }
    f(leaves).backward(dout);
    Rows rows = {{"", "by hand", "backward", "nudging"}};
    for (std::size_t i = 0; i < inputs.size(); ++i)
        for (int64_t e = 0; e < inputs[i].numel(); ++e) {
            const double hand = by_hand[i][static_cast<std::size_t>(e)];
            const double backward = static_cast<double>(leaves[i].grad().data()[e]),
                         nudge = nudged(f, inputs, i, e, dout);
            claim(std::abs(hand - backward) < 1e-5 && std::abs(hand - nudge) < 1e-3,
                  "formula, backward and nudging agree about " + names[i]);
            rows.push_back(
                {join(names[i], "[", e, "]"), fixed(hand, 4), fixed(backward, 4), fixed(nudge, 3)});
        }
    claim(gradcheck(f, inputs).ok, "gradcheck agrees about " + names[0]);
    return rows;
}

// ---- out = a b

void product(std::ostream& out) {
    const Row a = {1, 2}, b = {3, 4, 5, 6}, dout = {1, 10};  // (1, 2), (2, 2), (1, 2)
    Row da(2, 0), db(4, 0);
    for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t j = 0; j < 2; ++j) {
            da[k] += dout[j] * b[2 * k + j];
            db[2 * k + j] += a[k] * dout[j];
        }
    table(out, compared({"da", "db"}, [](const Inputs& x) { return matmul(x[0], x[1]); },
                        {Tensor::from({1, 2}, {1, 2}), Tensor::from({2, 2}, {3, 4, 5, 6})},
                        Tensor::from({1, 2}, {1, 10}), {da, db}));
}

// ---- y = softmax(x)

const Row kLogits = {1, 2, 3};
Tensor logits() { return Tensor::from({1, 3}, {1, 2, 3}); }

Row softmax_of(const Row& x) {
    Row y;
    double sum = 0;
    for (const double value : x)
        sum += portable::exp(value);
    for (const double value : x)
        y.push_back(portable::exp(value) / sum);
    return y;
}

// d y_i / d x_j = y_i ([i = j] - y_j)
void softmax_table(std::ostream& out) {
    const Row y = softmax_of(kLogits);
    Rows rows = {{"", "y", "d / dx[0]", "d / dx[1]", "d / dx[2]", "sum"}};
    for (std::size_t i = 0; i < 3; ++i) {
        std::vector<std::string> row = {join("y[", i, "]"), fixed(y[i], 4)};
        double sum = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            const double slope = y[i] * ((i == j ? 1 : 0) - y[j]);
            sum += slope;
            row.push_back(fixed(slope, 4));
        }
        row.push_back(fixed(sum, 4));
        rows.push_back(row);
    }
    table(out, rows);
}

// y (dy - Σ y dy)
Row softmax_backward(const Row& y, const Row& dy) {
    double mean = 0;  // of dy, weighted with y
    for (std::size_t i = 0; i < y.size(); ++i)
        mean += y[i] * dy[i];
    Row dx;
    for (std::size_t i = 0; i < y.size(); ++i)
        dx.push_back(y[i] * (dy[i] - mean));
    return dx;
}

void softmax_gradient(std::ostream& out) {
    const Row dx = softmax_backward(softmax_of(kLogits), {0, 0, 1});
    table(out, compared({"dx"}, [](const Inputs& x) { return softmax(x[0]); }, {logits()},
                        Tensor::from({1, 3}, {0, 0, 1}), {dx}));
}

// The largest of the derivatives d y_i / d x_j, for logits that are further and further apart.
void sure(std::ostream& out) {
    Rows rows = {{"x", "largest y", "largest derivative"}};
    double last = 1;
    for (const double scale : {1.0, 2.0, 4.0, 8.0}) {
        const Row y = softmax_of({scale, 2 * scale, 3 * scale});
        double largest = 0;
        for (const double value : y)
            largest = std::max(largest, value * (1 - value));
        claim(largest < last, "a softmax that is sure passes less gradient");
        last = largest;
        rows.push_back({number(scale) + " " + number(2 * scale) + " " + number(3 * scale), digits(y[2], 4),
                        digits(largest)});
    }
    table(out, rows);
}

// ---- loss = -ln softmax(x)[target]

void cross_entropy_gradient(std::ostream& out) {
    const std::size_t target = 2;
    const Row p = softmax_of(kLogits);
    Row dx;
    for (std::size_t i = 0; i < 3; ++i)
        dx.push_back(p[i] - (i == target ? 1 : 0));
    const Tokens ids(1, 1, {static_cast<int32_t>(target)});
    const auto loss = [&](const Inputs& x) { return cross_entropy(x[0], ids, {.ignore = -1}); };
    const double by_hand = -portable::log(p[target]);
    claim(std::abs(static_cast<double>(loss({logits()}).item()) - by_hand) < 1e-6, "the loss is -ln p");
    Rows rows = compared({"dlogits"}, loss, {logits()}, Tensor::ones({}), {dx});
    rows.push_back({"the loss, −ln " + fixed(p[target], 4), fixed(by_hand, 4), "", ""});
    table(out, rows);
}

// A right answer, an open question, a wrong answer; beside it the loss Σ (p - [target])².
void surprise(std::ostream& out) {
    Rows rows = {{"logit of the target", "others", "p of the target", "cross-entropy", "its gradient",
                  "squared error", "its gradient"}};
    double last = 0, squared = 0;
    for (const double logit : {4.0, 0.0, -4.0, -8.0}) {
        const Row p = softmax_of({0, 0, logit}), off = {p[0], p[1], p[2] - 1};
        const double entropy = off[2], error = off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
        squared = softmax_backward(p, {2 * off[0], 2 * off[1], 2 * off[2]})[2];
        rows.push_back({number(logit), "0, 0", digits(p[2]), digits(-portable::log(p[2])), digits(entropy),
                        digits(error), digits(squared)});
        claim(last > entropy, "the worse the answer, the stronger the push of cross-entropy");
        last = entropy;
    }
    claim(squared > last / 100,
          "the gradient of the squared error vanishes where the model is sure and wrong");
    table(out, rows);
}

// ---- y = (x - mean) / sqrt(variance + eps)

struct Normed {
    Row x_hat;
    double mean = 0, rstd = 0;
};

Normed normed(const Row& x, double eps) {
    const auto n = static_cast<double>(x.size());
    Normed result;
    double variance = 0;
    for (const double value : x)
        result.mean += value / n;
    for (const double value : x)
        variance += (value - result.mean) * (value - result.mean) / n;
    result.rstd = 1 / std::sqrt(variance + eps);
    for (const double value : x)
        result.x_hat.push_back((value - result.mean) * result.rstd);
    return result;
}

Row layer_norm_backward(const Normed& f, const Row& g) {
    const auto n = static_cast<double>(g.size());
    double mean_g = 0, mean_gx = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
        mean_g += g[i] / n;
        mean_gx += g[i] * f.x_hat[i] / n;
    }
    Row dx;
    for (std::size_t i = 0; i < g.size(); ++i)
        dx.push_back(f.rstd * (g[i] - mean_g - f.x_hat[i] * mean_gx));
    return dx;
}

void layer_norm_gradient(std::ostream& out) {
    const Row x = {1, 2, 4, 5}, g = {1, 0, 0, 0};
    const Normed f = normed(x, 1e-5);
    const Row dx = layer_norm_backward(f, g);
    const Tensor gain = Tensor::ones({4}), bias = Tensor::zeros({4});
    const auto y = [&](const Inputs& in) { return layer_norm(in[0], gain, bias); };
    Rows rows =
        compared({"dx"}, y, {Tensor::from({1, 4}, {1, 2, 4, 5})}, Tensor::from({1, 4}, {1, 0, 0, 0}), {dx});
    double sum = 0, dot = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        sum += dx[i];
        dot += dx[i] * f.x_hat[i];
    }
    claim(std::abs(sum) < 1e-6 && std::abs(dot) < 1e-4,
          "a layer norm passes no gradient along 1 and along x̂");
    rows.insert(rows.end(), {{"Σ dx", fixed(sum, 4), "", ""}, {"Σ dx x̂", fixed(dot, 4), "", ""}});
    table(out, rows);
}

void layer_norm_forward(std::ostream& out) {
    const Row x = {1, 2, 4, 5};
    const Normed f = normed(x, 1e-5);
    Rows rows = {{"", "x", "x̂ = (x − mean) rstd"}};
    for (std::size_t i = 0; i < 4; ++i)
        rows.push_back({join("[", i, "]"), number(x[i]), fixed(f.x_hat[i], 4)});
    rows.insert(rows.end(), {{"mean", number(f.mean), ""}, {"rstd", fixed(f.rstd, 4), ""}});
    table(out, rows);
}

}  // namespace

Computed autograd_derivatives() {
    return {.sections = {{"autograd.product", Effort::quick, product},
                         {"autograd.softmax", Effort::quick, softmax_table},
                         {"autograd.softmax_gradient", Effort::quick, softmax_gradient},
                         {"autograd.sure", Effort::quick, sure},
                         {"autograd.cross_entropy", Effort::quick, cross_entropy_gradient},
                         {"autograd.surprise", Effort::quick, surprise},
                         {"autograd.layer_norm", Effort::quick, layer_norm_forward},
                         {"autograd.layer_norm_gradient", Effort::quick, layer_norm_gradient}}};
}

}  // namespace plaingrad::chapters
