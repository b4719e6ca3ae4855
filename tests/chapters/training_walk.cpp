// One encoder layer step by step: the shapes at the paper's sizes, and one token's vector in a small one.
#include <cmath>
#include <ostream>

#include "models/families/encoder.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

models::Config stack_of(int64_t d_model, int64_t n_heads, int64_t d_ff) {
    return {.block = {.d_model = d_model, .n_heads = n_heads, .d_ff = d_ff}};
}

struct Step {
    std::string name;
    Tensor value;
};

// The steps of models::EncoderLayer (post-norm, no dropout).
std::vector<Step> walk(const models::EncoderLayer& layer, const Tensor& x) {
    const nn::MultiHeadAttention& attention = layer.self_attention;
    const Tensor qkv = attention.in_proj(x);
    const Tensor heads = self_attention(qkv, {.n_heads = attention.n_heads});
    const Tensor attended = attention.out_proj(heads);
    const Tensor y = layer.residual1.norm(x + attended);
    const Tensor hidden = relu(layer.feed_forward.linear1(y));
    const Tensor processed = layer.feed_forward.linear2(hidden);
    return {{"x", x},
            {"q, k and v of all heads: x times W_Q, W_K, W_V", qkv},
            {"weighted means of the heads, side by side", heads},
            {"attention(x): those, times W_O", attended},
            {"y = norm(x + attention(x))", y},
            {"ReLU(y W1 + b1)", hidden},
            {"feed_forward(y): that, times W2, + b2", processed},
            {"norm(y + feed_forward(y))", layer.residual2.norm(y + processed)}};
}

void steps(std::ostream& out) {
    const models::EncoderLayer base(stack_of(512, 8, 2048), Rng(1)), small(stack_of(4, 2, 8), Rng(1));
    const std::vector<Step> shapes = walk(base, Tensor::randn({2, 10, 512}, Rng(2)));
    const Tensor x = Tensor::randn({1, 3, 4}, Rng(2));
    const std::vector<Step> vectors = walk(small, x);
    Rows rows = {{"step", "shape, base model, 2 sentences of 10", "one token's vector, d_model = 4"}};
    for (std::size_t i = 0; i < shapes.size(); ++i)
        rows.push_back(
            {shapes[i].name, join(shapes[i].value.shape()), vector_text(vectors[i].value[0][0], 1)});
    table(out, rows);
    const Tensor y = small(x, {.mode = kEval});
    for (int64_t i = 0; i < y.numel(); ++i)
        claim(std::abs(static_cast<double>(y.data()[i] - vectors.back().value.data()[i])) < 1e-5,
              "the layer takes these steps");
}

}  // namespace

Computed training_walk() { return {.sections = {{"nn.layer.walk", Effort::quick, steps}}}; }

}  // namespace plaingrad::chapters
