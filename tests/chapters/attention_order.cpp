// Attention does not know order: its keys are a set.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "nn/attention.h"
#include "nn/positional_encoding.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

double largest_difference(const Tensor& a, const Tensor& b) {
    double largest = 0;
    for (int64_t i = 0; i < a.numel(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(a.data()[i] - b.data()[i])));
    return largest;
}

// One query, four keys and values; the same in another order; and the keys alone in another order.
void permuted(std::ostream& out) {
    const Tensor q = Tensor::from({1, 1, 2}, {1, 2});
    const std::vector<Real> k = {1, 0, 0, 1, -1, 1, 1, 1}, v = {1, 0, 0, 1, 2, 2, -1, 3};
    const auto in_order = [](const std::vector<Real>& rows, const std::vector<std::size_t>& order) {
        std::vector<Real> chosen;
        for (const std::size_t i : order)
            chosen.insert(chosen.end(), {rows[2 * i], rows[2 * i + 1]});
        return Tensor::from({1, 4, 2}, chosen);
    };
    const std::vector<std::size_t> order = {0, 1, 2, 3}, other = {2, 0, 3, 1};
    const std::string first = vector_text(attention(q, in_order(k, order), in_order(v, order)), 3);
    const std::string both = vector_text(attention(q, in_order(k, other), in_order(v, other)), 3);
    const std::string keys = vector_text(attention(q, in_order(k, other), in_order(v, order)), 3);
    claim(first == both, "keys and values in another order change nothing");
    claim(first != keys, "keys without their values do");
    table(out, {{"keys", "values", "output of the query (1, 2)"},
                {"a b c d", "a b c d", first},
                {"c a d b", "c a d b", both},
                {"c a d b", "a b c d", keys}});
}

// The vector of `bites` in "dog bites man" and in "man bites dog".
void sentences(std::ostream& out) {
    constexpr int64_t d = 16;
    const nn::MultiHeadAttention layer(d, 2, Rng(3));
    const nn::PositionalEncoding positions(nn::Positions::sinusoidal, 3, d, Rng(1));
    const Tensor words = Tensor::randn({3, d}, Rng(4));  // dog, bites, man
    const auto sentence = [&](std::vector<int32_t> ids) { return embedding(words, {1, 3, std::move(ids)}); };
    const Tensor x = sentence({0, 1, 2}), y = sentence({2, 1, 0});  // (1, 3, d)
    const auto bites = [&](const Tensor& input) { return layer(input, {.mode = kEval})[0][1]; };
    const auto row = [&](const std::string& what, const Tensor& a, const Tensor& b) {
        const auto start = [](const Tensor& z) { return vector_text(slice(z, 0, 0, 3)); };
        return std::vector<std::string>{what, start(a), start(b), fixed(largest_difference(a, b), 3)};
    };
    const Tensor a = bites(positions(x, kEval)), b = bites(positions(y, kEval));
    claim(largest_difference(bites(x), bites(y)) < 1e-5, "without positions the order does not matter");
    claim(largest_difference(a, b) > 0.01, "with positions it does");
    table(out, {{"the first three numbers of `bites`", "in `dog bites man`", "in `man bites dog`",
                 "largest difference"},
                row("without positions", bites(x), bites(y)),
                row("with positions", a, b)});
}

}  // namespace

Computed attention_order() {
    return {.sections = {{"nn.order.keys", Effort::quick, permuted},
                         {"nn.order.sentences", Effort::quick, sentences}}};
}

}  // namespace plaingrad::chapters
