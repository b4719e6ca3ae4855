// The small layers: a layer step by step, norms, feed-forward, dropout, embeddings, and initial values.
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "models/families/encoder.h"
#include "nn/embedding.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The steps of models::EncoderLayer (post-norm, no dropout), their shapes at the paper's sizes, and one
// token's vector in a small layer.
std::vector<std::pair<std::string, Tensor>> walk(const models::EncoderLayer& layer, const Tensor& x) {
    const nn::MultiHeadAttention& attention = layer.self_attention;
    const Tensor qkv = attention.in_proj(x), heads = self_attention(qkv, {.n_heads = attention.n_heads});
    const Tensor attended = attention.out_proj(heads), y = layer.residual1.norm(x + attended);
    const Tensor hidden = relu(layer.feed_forward.linear1(y)), processed = layer.feed_forward.linear2(hidden);
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
    const auto layer = [](int64_t d_model, int64_t n_heads) {
        return models::EncoderLayer(
            {.block = {.d_model = d_model, .n_heads = n_heads, .d_ff = (d_model > 4 ? 4 : 2) * d_model}},
            Rng(1));
    };
    const Tensor x = Tensor::randn({1, 3, 4}, Rng(2));
    const auto shapes = walk(layer(512, 8), Tensor::randn({2, 10, 512}, Rng(2))),
               vectors = walk(layer(4, 2), x);
    Rows rows = {{"step", "shape, base model, 2 sentences of 10", "one token's vector, d_model = 4"}};
    for (std::size_t i = 0; i < shapes.size(); ++i)
        rows.push_back(
            {shapes[i].first, join(shapes[i].second.shape()), vector_text(vectors[i].second[0][0], 1)});
    table(out, rows);
    claim(rms(layer(4, 2)(x, {.mode = kEval}) - vectors.back().second) < 1e-5, "the layer takes these steps");
}

void norm_by_hand(std::ostream& out) {
    const Tensor x = Tensor::from({4}, {2, 4, 6, 12}), centred = x - mean(x);
    const double variance = value(mean(centred * centred));
    const nn::Norm norm(4);
    out << "x        = " << vector_text(x, 0) << "\n"
        << "mean     = (2 + 4 + 6 + 12) / 4 = " << number(value(mean(x))) << "\n"
        << "x - mean = " << vector_text(centred, 0) << "\n"
        << "variance = (16 + 4 + 0 + 36) / 4 = " << number(variance) << ", its root "
        << fixed(std::sqrt(variance)) << "\n"
        << "norm(x)  = " << vector_text(norm(x)) << "\n\n"
        << "norm(10 x)    = " << vector_text(norm(x * 10)) << "\n"
        << "norm(x + 100) = " << vector_text(norm(x + 100)) << "\n";
}

void rms_norm_by_hand(std::ostream& out) {
    const Tensor x = Tensor::from({4}, {2, 4, 6, 12});
    const nn::Norm norm(4, {.kind = nn::NormKind::rms});
    out << "mean square = (4 + 16 + 36 + 144) / 4 = " << number(value(mean(x * x))) << ", its root "
        << fixed(rms(x)) << "\n"
        << "norm(x)     = " << vector_text(norm(x)) << "\n\n"
        << "norm(10 x)    = " << vector_text(norm(x * 10)) << "\n"
        << "norm(x + 100) = " << vector_text(norm(x + 100)) << "\n";
}

// Exclusive or: one of two features, not both. Two hidden units suffice; a linear layer cannot.
void exclusive_or(std::ostream& out) {
    const Tensor w1 = Tensor::ones({2, 2}), b1 = Tensor::from({2}, {0, -1}),
                 w2 = Tensor::from({2, 1}, {1, -2});
    Rows rows = {{"x", "x W1 + b1", "after ReLU", "output"}};
    for (const std::vector<Real>& input : std::vector<std::vector<Real>>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}) {
        const Tensor x = Tensor::from({1, 2}, input), before = matmul(x, w1) + b1, hidden = relu(before);
        rows.push_back({vector_text(x, 0), vector_text(before, 0), vector_text(hidden, 0),
                        number(value(matmul(hidden, w2)))});
    }
    table(out, rows);
}

// Two gated hidden units multiply the two numbers of a vector: silu(z) - silu(-z) = z.
void gated_product(std::ostream& out) {
    const Tensor gate = Tensor::from({2, 2}, {1, -1, 0, 0}), up = Tensor::from({2, 2}, {0, 0, 1, -1});
    Rows rows = {{"x", "x W_gate", "its silu", "x W_up", "their products", "output"}};
    for (const std::vector<Real>& input : std::vector<std::vector<Real>>{{3, 2}, {-3, 2}, {0.5, 8}}) {
        const Tensor x = Tensor::from({1, 2}, input), z = matmul(x, gate), u = matmul(x, up), y = silu(z) * u;
        rows.push_back({vector_text(x, 1), vector_text(z, 1), vector_text(silu(z)), vector_text(u, 1),
                        vector_text(y), fixed(value(sum(y)))});
    }
    table(out, rows, "tttttn");
}

void dropped(std::ostream& out) {
    const auto text = [](uint64_t step) {
        return vector_text(dropout(Tensor::ones({8}), Real(0.25), Rng(1).fork(step)));
    };
    out << "x                   = " << vector_text(Tensor::ones({8})) << "\n"
        << "dropout(x), step 1  = " << text(1) << "\n"
        << "dropout(x), step 2  = " << text(2) << "\n";
}

// The first loss of a model whose output matrix is its embedding, N(0, 1/d) or N(0, 1).
void first_loss(std::ostream& out) {
    constexpr int64_t V = 1000, d = 512, n = 200;
    const Tensor x = nn::Norm(d)(Tensor::randn({1, n, d}, Rng(1)));  // as the last layer's norm leaves it
    const Tokens targets = random_tokens(1, n, V, Rng(3));
    Rows rows = {{"embeddings", "deviation of a logit", "first loss"}};
    const auto row = [&](const std::string& name, nn::Init init) {
        const Tensor logits = linear_transposed(x, nn::Embedding(V, d, Rng(2), init).table);
        rows.push_back({name, digits(rms(logits)), digits(value(cross_entropy(logits, targets)))});
    };
    row("N(0, 1/d)", nn::Init::xavier);
    row("N(0, 1)", nn::Init::pytorch);
    rows.push_back({"all logits equal: ln " + std::to_string(V), "0", digits(portable::log(double{V}))});
    table(out, rows);
}

// RMS after each of ten layers of ReLU(x W), W of N(0, c²/n).
void initial(std::ostream& out) {
    constexpr int64_t n = 256;
    Rows rows = {{join("deviation of a weight, n = ", n), "after 1 layer", "after 5", "after 10",
                  "gradient at the input"}};
    const auto row = [&](const std::string& name, double factor) {
        const Tensor x = Tensor::randn({64, n}, Rng(1)).require_grad();
        Tensor y = x;
        rows.push_back({name});
        for (uint64_t layer = 1; layer <= 10; ++layer) {
            y = relu(matmul(y, nn::normal({n, n}, factor / std::sqrt(double{n}), Rng(2).fork(layer))));
            if (layer == 1 || layer == 5 || layer == 10)
                rows.back().push_back(digits(rms(y)));
        }
        sum(y * Tensor::randn(y.shape(), Rng(3))).backward();
        rows.back().push_back(digits(rms(x.grad())));
    };
    row("0.5 / √n", 0.5);
    row("1 / √n", 1);
    row("√2 / √n", std::sqrt(2.0));
    row("2 / √n", 2);
    table(out, rows);
}

const Adds kHere({{"nn.layer.walk", Effort::quick, steps},
                  {"nn.norm.hand", Effort::quick, norm_by_hand},
                  {"nn.norm.rms", Effort::quick, rms_norm_by_hand},
                  {"nn.ffn.xor", Effort::quick, exclusive_or},
                  {"nn.ffn.gated", Effort::quick, gated_product},
                  {"nn.dropout", Effort::quick, dropped},
                  {"nn.embedding.loss", Effort::quick, first_loss},
                  {"nn.init", Effort::quick, initial}});

}  // namespace

}  // namespace plaingrad::chapters
