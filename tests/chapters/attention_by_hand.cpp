// Attention of three tokens with two numbers each: step by step, and as four lines of code.
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

const std::vector<std::string> kWords = {"cat", "slept", "it"};

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
        rows.push_back({kWords[static_cast<std::size_t>(t)], whole(e.x[t]), whole(e.q[t]), whole(e.k[t]),
                        whole(e.v[t])});
    table(out, rows);
}

// The query of `it` against each of the three keys.
void one_query(std::ostream& out) {
    const Example e;
    const Tensor products = matmul(unsqueeze(e.q[2], 0), e.k, true);  // (1, 3)
    double exps[3], sum = 0, output[2] = {0, 0};
    for (int64_t s = 0; s < 3; ++s) {
        const double score = value(products, s) / std::sqrt(2.0);
        exps[s] = portable::exp(score);
        sum += exps[s];
        out << kit::left(autograd::join("score(it, ", kWords[static_cast<std::size_t>(s)], ")"), 17) << "= "
            << whole(e.q[2]) << " · " << kit::left(whole(e.k[s]), 7)
            << " / √2 = " << kit::right(fixed(value(products, s), 0), 2)
            << " / 1.414 = " << kit::right(fixed(score), 5) << "     exp: " << fixed(exps[s]) << '\n';
    }
    out << std::string(57, ' ') << "sum: " << fixed(sum) << "\n\n";
    std::string text;
    for (int64_t s = 0; s < 3; ++s) {
        out << "weight of " << kWords[static_cast<std::size_t>(s)] << " = " << fixed(exps[s]) << " / "
            << fixed(sum) << " = " << fixed(exps[s] / sum, 3) << '\n';
        text += (s > 0 ? " + " : "") + fixed(exps[s] / sum, 3) + " " + whole(e.v[s]);
        for (int64_t i = 0; i < 2; ++i)
            output[i] += exps[s] / sum * value(e.v[s], i);
    }
    out << "\noutput of it = " << text << " = (" << fixed(output[0]) << ", " << fixed(output[1]) << ")\n";
}

void all_queries(std::ostream& out) {
    const Example e;
    const Tensor y = attention_in_four_lines(e.q, e.k, e.v);
    table(out, {{"query", "output"},
                {"cat", vector_text(y[0])},
                {"slept", vector_text(y[1])},
                {"it", vector_text(y[2])}});
}

// The sharper the scores, the nearer the weighted mean comes to a look-up.
void sharper(std::ostream& out) {
    const Example e;
    Rows rows = {{"query of `it` times", "cat", "slept", "it", "output"}};
    for (const Real factor : {Real(0), Real(1), Real(2), Real(8)}) {
        const Tensor q = unsqueeze(e.q[2], 0) * factor;                             // (1, 2)
        const Tensor weights = softmax(matmul(q, e.k, true) / std::sqrt(Real(2)));  // (1, 3)
        rows.push_back({number(static_cast<double>(factor))});
        for (int64_t s = 0; s < 3; ++s)
            rows.back().push_back(fixed(value(weights, s), 3));
        rows.back().push_back(vector_text(matmul(weights, e.v)));
    }
    table(out, rows);
}

// d (first number of the output of `it`) / d score of each key, by the formula and by backward.
void score_gradient(std::ostream& out) {
    const Example e;
    const Tensor scores = (matmul(e.q, e.k, true) / std::sqrt(Real(2)))[2].detach().require_grad();  // (3)
    const Tensor weights = softmax(scores), y = matmul(unsqueeze(weights, 0), e.v);  // (3), (1, 2)
    sum(slice(y, 1, 0, 1)).backward();
    Rows rows = {
        {"key", "weight", "first number of its value, minus the output's", "product", "by backward"}};
    for (int64_t s = 0; s < 3; ++s) {
        const double w = value(weights, s), difference = value(e.v[s]) - value(y);
        rows.push_back({kWords[static_cast<std::size_t>(s)], fixed(w, 3), fixed(difference, 3),
                        fixed(w * difference, 3), fixed(value(scores.grad(), s), 3)});
        claim(rows.back()[3] == rows.back()[4], "d output / d score is weight · (value - output)");
    }
    table(out, rows);
}

const Adds kHere({{"nn.hand.inputs", Effort::quick, inputs},
                  {"nn.hand.query", Effort::quick, one_query},
                  {"nn.hand.program", Effort::quick, all_queries},
                  {"nn.hand.sharper", Effort::quick, sharper},
                  {"nn.hand.gradient", Effort::quick, score_gradient}});

}  // namespace

}  // namespace plaingrad::chapters
