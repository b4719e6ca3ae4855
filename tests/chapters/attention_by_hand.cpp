// Attention of three tokens with two numbers each: step by step, as four lines of code, and as the layer.
#include <cmath>
#include <ostream>

#include "apps/kit/text.h"
#include "autograd/base/portable_math.h"
#include "autograd/ops.h"
#include "nn/attention.h"
#include "nn/probe.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

const std::vector<std::string> kWords = {"cat", "slept", "it"};
const std::string& word(int64_t t) { return kWords[static_cast<std::size_t>(t)]; }

// The first number of a vector says how noun-like the token is, the second how verb-like.
struct Example {
    Tensor x = Tensor::from({3, 2}, {1, 0, 0, 1, 1, 1});
    Tensor w_q = Tensor::from({2, 2}, {1, -1, 1, 1});
    Tensor w_k = Tensor::from({2, 2}, {1, 0, -1, 1});
    Tensor w_v = Tensor::from({2, 2}, {2, 1, 0, 3});
    Tensor q = matmul(x, w_q), k = matmul(x, w_k), v = matmul(x, w_v);  // (3, 2)
};

// q (T, D), k and v (S, D) -> (T, D)
Tensor attention_in_four_lines(const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor products = matmul(q, k, true);                                // (T, S) = Q Kᵀ
    const Tensor scores = products / std::sqrt(static_cast<Real>(q.size(1)));  // (T, S)
    const Tensor weights = softmax(scores);                                    // (T, S), each row sums to 1
    return matmul(weights, v);                                                 // (T, D)
}

std::string whole(const Tensor& row) { return vector_text(row, 0); }

void inputs(std::ostream& out) {
    const Example e;
    Rows rows = {{"token", "x", "q = x W_Q", "k = x W_K", "v = x W_V"}};
    for (int64_t t = 0; t < 3; ++t)
        rows.push_back({word(t), whole(e.x[t]), whole(e.q[t]), whole(e.k[t]), whole(e.v[t])});
    table(out, rows);
}

// exp(score) of the query of `it` against each of the three keys. Prints how each comes about.
std::vector<double> exps_of_it(const Example& e, std::ostream& out) {
    const double root = std::sqrt(2.0);
    const auto at = [](const Tensor& x, int64_t t, int64_t i) { return static_cast<double>(x[t].data()[i]); };
    const auto whole_number = [](double x, std::size_t width) { return kit::right(fixed(x, 0), width); };
    std::vector<double> exps;
    for (int64_t s = 0; s < 3; ++s) {
        const double product = at(e.q, 2, 0) * at(e.k, s, 0) + at(e.q, 2, 1) * at(e.k, s, 1);
        exps.push_back(portable::exp(product / root));
        out << "score(it, " << word(s) << ")" << std::string(6 - word(s).size(), ' ') << "= ("
            << whole_number(at(e.q, 2, 0), 1) << "·" << whole_number(at(e.k, s, 0), 2) << " + "
            << whole_number(at(e.q, 2, 1), 1) << "·" << whole_number(at(e.k, s, 1), 2)
            << ") / √2 = " << whole_number(product, 2) << " / " << fixed(root, 3) << " = "
            << kit::right(fixed(product / root), 5) << "     exp: " << kit::right(fixed(exps.back()), 4)
            << '\n';
    }
    return exps;
}

void one_query(std::ostream& out) {
    const Example e;
    const std::vector<double> exps = exps_of_it(e, out);
    const double sum = exps[0] + exps[1] + exps[2];
    out << std::string(52, ' ') << "sum: " << fixed(sum) << "\n\n";
    double output[2] = {0, 0};
    std::string text;
    for (int64_t s = 0; s < 3; ++s) {
        const double now = exps[static_cast<std::size_t>(s)], weight = now / sum;
        out << "weight of " << word(s) << " = " << fixed(now) << " / " << fixed(sum) << " = "
            << fixed(weight, 3) << '\n';
        for (int64_t i = 0; i < 2; ++i)
            output[i] += weight * static_cast<double>(e.v[s].data()[i]);
        text += (s > 0 ? " + " : "") + fixed(weight, 3) + " " + whole(e.v[s]);
    }
    out << "\noutput of it = " << text << " = (" << fixed(output[0]) << ", " << fixed(output[1]) << ")\n";
    const Tensor row = attention_in_four_lines(e.q, e.k, e.v)[2];
    claim(std::abs(static_cast<double>(row.data()[0]) - output[0]) < 1e-5 &&
              std::abs(static_cast<double>(row.data()[1]) - output[1]) < 1e-5,
          "the hand and the four lines agree");
}

// The layer of nn/attention.h with these matrices, and an output projection that changes nothing.
Tensor by_the_layer(const Example& e, Tensor& weights) {
    const nn::MultiHeadAttention layer(2, 1, Rng(1), {.bias = false});
    const Tensor joint = concat({e.w_q, e.w_k, e.w_v}, 1);  // (2, 6)
    nn::copy_values({{"joint", joint}, {"out", Tensor::from({2, 2}, {1, 0, 0, 1})}},
                    {{"joint", layer.in_proj.weight}, {"out", layer.out_proj.weight}});
    nn::Probe seen;
    const Tensor y = layer(unsqueeze(e.x, 0), {.mode = nn::Mode::eval(&seen)})[0];  // (1, 3, 2) -> (3, 2)
    weights = seen.of(layer);                                                       // (1, 1, 3, 3)
    return y;
}

void by_program(std::ostream& out) {
    const Example e;
    Tensor weights;
    const Tensor y = by_the_layer(e, weights), four = attention_in_four_lines(e.q, e.k, e.v);
    Rows rows = {
        {"query", "weight of cat", "weight of slept", "weight of it", "output, four lines", "output, layer"}};
    for (int64_t t = 0; t < 3; ++t) {
        std::vector<std::string> row = {word(t)};
        for (int64_t s = 0; s < 3; ++s)
            row.push_back(fixed(static_cast<double>(weights.data()[t * 3 + s]), 3));
        row.push_back(vector_text(four[t]));
        row.push_back(vector_text(y[t]));
        rows.push_back(row);
        claim(rows.back()[4] == rows.back()[5], "the layer computes the four lines");
    }
    table(out, rows);
}

// The sharper the scores, the nearer the weighted mean comes to a look-up.
void sharper(std::ostream& out) {
    const Example e;
    Rows rows = {{"query of `it` times", "cat", "slept", "it", "output"}};
    for (const Real factor : {Real(0), Real(1), Real(2), Real(4), Real(8)}) {
        const Tensor q = unsqueeze(e.q[2], 0) * factor;  // (1, 2)
        const Tensor weights = softmax(matmul(q, e.k, true) / std::sqrt(Real(2)));
        std::vector<std::string> row = {fixed(static_cast<double>(factor), 0)};
        for (int64_t s = 0; s < 3; ++s)
            row.push_back(fixed(static_cast<double>(weights.data()[s]), 3));
        row.push_back(vector_text(matmul(weights, e.v)));
        rows.push_back(row);
    }
    table(out, rows);
}

// d output / d score of each key, by the formula and by backward.
void score_gradient(std::ostream& out) {
    const Example e;
    Tensor scores = (matmul(e.q, e.k, true) / std::sqrt(Real(2)))[2].detach().require_grad();  // (3)
    const Tensor weights = softmax(scores), y = matmul(unsqueeze(weights, 0), e.v);            // (3), (1, 2)
    sum(y * Tensor::from({1, 2}, {1, 0})).backward();  // its first number
    Rows rows = {
        {"key", "weight", "first number of its value, minus the output's", "product", "by backward"}};
    for (int64_t s = 0; s < 3; ++s) {
        const double w = static_cast<double>(weights.data()[s]);
        const double difference = static_cast<double>(e.v.data()[s * 2] - y.data()[0]);
        const double by_backward = static_cast<double>(scores.grad().data()[s]);
        claim(std::abs(w * difference - by_backward) < 1e-6,
              "d output / d score is weight · (value - output)");
        rows.push_back(
            {word(s), fixed(w, 3), fixed(difference, 3), fixed(w * difference, 3), fixed(by_backward, 3)});
    }
    table(out, rows);
}

}  // namespace

Computed attention_by_hand() {
    return {.sections = {{"nn.hand.inputs", Effort::quick, inputs},
                         {"nn.hand.query", Effort::quick, one_query},
                         {"nn.hand.program", Effort::quick, by_program},
                         {"nn.hand.sharper", Effort::quick, sharper},
                         {"nn.hand.gradient", Effort::quick, score_gradient}}};
}

}  // namespace plaingrad::chapters
