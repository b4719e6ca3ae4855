// Masks: the patterns as pictures, what a causal mask makes possible, and why masked keys are skipped and not
// filled.
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "autograd/ops.h"
#include "models/families/one_stack.h"
#include "tests/chapters/mask_map.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

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
        std::vector<std::string> row = {std::to_string(t + 1)};
        for (int64_t s = 0; s < 4; ++s)
            row.push_back(s > t ? "hidden" : fixed(static_cast<double>(weights.data()[t * 4 + s])));
        rows.push_back(row);
    }
    table(out, rows);
    Tensor changed = x.clone();
    changed.mutable_data()[3 * 4] += 100;  // the last token
    const Tensor y = attention(q, x, x, {.mask = Mask::causal()});
    const Tensor z = attention(q, changed, changed, {.mask = Mask::causal()});
    for (int64_t i = 0; i < 3 * 4; ++i)
        claim(y.data()[i] == z.data()[i], "a later token changes no earlier output, not by a bit");
}

// An untrained language model reads a text in one pass, and each beginning of it in a pass of its own.
void beginnings(std::ostream& out) {
    const std::vector<std::string> words = {"the", "cat", "slept", "because", "it", "was", "tired"};
    const int64_t T = std::ssize(words) - 1;
    const models::LanguageModel model({.vocabulary = T + 1,
                                       .max_length = T,
                                       .n_layers = 2,
                                       .block = {.d_model = 32, .n_heads = 4, .d_ff = 64}},
                                      Rng(1));
    const Tokens text(1, T + 1, {0, 1, 2, 3, 4, 5, 6}, -1);
    const Tensor whole = model(text.slice(0, T), kEval);  // (1, T, V)
    Rows rows = {{"reads", "must predict", "loss, one pass over all six", "loss, a pass of its own"}};
    std::string read;
    for (int64_t t = 0; t < T; ++t) {
        const Tokens next = text.slice(t + 1, t + 2);
        const Tensor own = slice(model(text.slice(0, t + 1), kEval), 1, t, t + 1);  // (1, 1, V)
        const Real one = cross_entropy(slice(whole, 1, t, t + 1), next).item(),
                   other = cross_entropy(own, next).item();
        claim(std::memcmp(&one, &other, sizeof one) == 0, "both passes give the same bits");
        read += (t > 0 ? " " : "") + words[static_cast<std::size_t>(t)];
        rows.push_back({read, words[static_cast<std::size_t>(t) + 1], fixed(static_cast<double>(one), 4),
                        fixed(static_cast<double>(other), 4)});
    }
    table(out, rows, "ttnn");
}

// What most code does: hidden scores become -1e9 before the softmax. q (T, D), k and v (S, D)
Tensor filled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& may_see) {
    const Tensor scores = matmul(q, k, true) / std::sqrt(static_cast<Real>(q.size(1)));  // (T, S)
    return matmul(softmax(where(may_see, scores, Real(-1e9))), v);                       // (T, D)
}

void filling(std::ostream& out) {
    const Tensor q = Tensor::from({1, 2}, {1, 0}), k = Tensor::from({3, 2}, {1, 0, 0, 1, 1, 1});
    const Tensor v = Tensor::from({3, 1}, {1, 2, 6});
    const Tensor bad = Tensor::from({3, 1}, {1, 2, std::numeric_limits<Real>::quiet_NaN()});
    const auto text = [](const Tensor& y) {
        return std::isnan(y.data()[0]) ? "NaN" : fixed(static_cast<double>(y.data()[0]), 3);
    };
    Rows rows = {{"values 1, 2, 6", "filled with -1e9", "skipped, as here"}};
    const auto row = [&](const std::string& what, const Tensor& values, const std::vector<uint8_t>& may_see) {
        const std::vector<Real> numbers(may_see.begin(), may_see.end());
        const Tensor filled = filled_attention(q, k, values, Tensor::from({1, 3}, numbers));
        const Tensor wide = concat({values, Tensor::zeros({3, 1})}, 1);  // (3, 2), as wide as the keys
        const Tensor skipped = attention(unsqueeze(q, 0), unsqueeze(k, 0), unsqueeze(wide, 0),
                                         {.mask = Mask::allowed(1, 1, 3, may_see)});
        rows.push_back({what, text(filled), text(skipped)});
    };
    row("the third key is hidden", v, {1, 1, 0});
    row("the third key is hidden, and its value is NaN", bad, {1, 1, 0});
    row("all keys are hidden", v, {0, 0, 0});
    claim(
        rows[1][1] == rows[1][2] && rows[2][1] == "NaN" && rows[2][2] == rows[1][2] && rows[3][2] == "0.000",
        "skipping is what filling is where filling works");
    table(out, rows);
}

std::string draw_masks() {
    const std::vector<std::string> src = {"she", "laughs", "<pad>"}, tgt = {"<sos>", "elle", "rit", "<pad>"};
    const Tokens src_ids(1, 3, {4, 5, 0}, 0), tgt_ids(1, 4, {1, 4, 5, 0}, 0);
    return figures::svg("The three masks of an encoder-decoder",
                        "Blue: the query may see the key. The encoder hides padding, the decoder's "
                        "self-attention also what comes "
                        "later, its cross-attention the source's padding.",
                        {mask_map("encoder", Mask::padding(src_ids), src, src),
                         mask_map("decoder: self-attention", Mask::padding(tgt_ids).and_causal(), tgt, tgt),
                         mask_map("decoder: cross-attention", Mask::padding(src_ids), tgt, src)},
                        3);
}

}  // namespace

Computed attention_masks() {
    return {.sections = {{"nn.masks.causal", Effort::quick, causal},
                         {"nn.masks.beginnings", Effort::quick, beginnings},
                         {"nn.masks.filled", Effort::quick, filling}},
            .figures = {{"nn/figures/masks.svg", Effort::quick, draw_masks}}};
}

}  // namespace plaingrad::chapters
