// The small layers: layer norm, feed-forward, dropout, embeddings, and their initial values.
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "models/config.h"
#include "models/families/transformer.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

double value_of(const Tensor& x) { return static_cast<double>(x.item()); }

// ------------------------------------------------------------------------------------------------ layer norm

void norm_by_hand(std::ostream& out) {
    const Tensor x = Tensor::from({4}, {2, 4, 6, 12});
    const double m = value_of(mean(x)), variance = value_of(mean((x - mean(x)) * (x - mean(x))));
    const nn::Norm norm(4);
    out << "x        = " << vector_text(x, 0) << "\n"
        << "mean     = (2 + 4 + 6 + 12) / 4 = " << fixed(m, 0) << "\n"
        << "x - mean = " << vector_text(x - mean(x), 0) << "\n"
        << "variance = (16 + 4 + 0 + 36) / 4 = " << fixed(variance, 0) << ", its root "
        << fixed(std::sqrt(variance)) << "\n"
        << "norm(x)  = " << vector_text(norm(x)) << "\n\n"
        << "norm(10 x)    = " << vector_text(norm(x * 10)) << "\n"
        << "norm(x + 100) = " << vector_text(norm(x + 100)) << "\n";
    claim(vector_text(norm(x)) == vector_text(norm(x * 10)) &&
              vector_text(norm(x)) == vector_text(norm(x + 100)),
          "a norm forgets scale and mean");
}

void rms_norm_by_hand(std::ostream& out) {
    const Tensor x = Tensor::from({4}, {2, 4, 6, 12});
    const double square = value_of(mean(x * x));
    const nn::Norm norm(4, {.kind = nn::NormKind::rms});
    out << "mean square = (4 + 16 + 36 + 144) / 4 = " << fixed(square, 0) << ", its root "
        << fixed(std::sqrt(square)) << "\n"
        << "norm(x)     = " << vector_text(norm(x)) << "\n\n"
        << "norm(10 x)    = " << vector_text(norm(x * 10)) << "\n"
        << "norm(x + 100) = " << vector_text(norm(x + 100)) << "\n";
    claim(vector_text(norm(x)) == vector_text(norm(x * 10)), "RMS norm forgets scale");
    claim(rms(norm(x + 100) - Tensor::ones({4})) < 0.05, "RMS norm makes a large shift to ones");
}

// ---------------------------------------------------------------------------------------------- feed-forward

// Exclusive or: one of two features, not both. Two hidden units suffice; a linear layer cannot.
void exclusive_or(std::ostream& out) {
    const nn::FeedForward ffn(2, 2, Rng(1));
    nn::copy_values({{"w1", Tensor::from({2, 2}, {1, 1, 1, 1})},
                     {"b1", Tensor::from({2}, {0, -1})},
                     {"w2", Tensor::from({2, 2}, {1, 0, -2, 0})},
                     {"b2", Tensor::zeros({2})}},
                    {{"w1", ffn.linear1.weight},
                     {"b1", ffn.linear1.bias},
                     {"w2", ffn.linear2.weight},
                     {"b2", ffn.linear2.bias}});
    Rows rows = {{"x", "x W1 + b1", "after ReLU", "output, first number"}};
    const std::vector<std::vector<Real>> inputs = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    for (const auto& input : inputs) {
        const Tensor x = Tensor::from({1, 2}, input), before = ffn.linear1(x);
        const Tensor y = ffn(x, kEval);
        rows.push_back({vector_text(x, 0), vector_text(before, 0), vector_text(relu(before), 0),
                        fixed(static_cast<double>(y.data()[0]), 0)});
        claim(y.data()[0] == (input[0] != input[1]), "the feed-forward computes exclusive or");
    }
    table(out, rows);
    Tensor three = Tensor::randn({1, 3, 2}, Rng(2));
    const Tensor before = ffn(three, kEval).clone();
    three.mutable_data()[2] += 1;  // a number of the second token
    const Tensor after = ffn(three, kEval);
    for (int64_t i = 0; i < 6; ++i)
        claim(i / 2 == 1 || before.data()[i] == after.data()[i], "the feed-forward keeps positions apart");
}

// Two gated hidden units multiply the two numbers of a vector: silu(z) - silu(-z) = z.
void gated_product(std::ostream& out) {
    const nn::FeedForward ffn(2, 2, Rng(1),
                              {.activation = nn::Activation::silu, .gated = true, .bias = false});
    const Tensor gate = Tensor::from({2, 2}, {1, -1, 0, 0}), up = Tensor::from({2, 2}, {0, 0, 1, -1});
    nn::copy_values({{"w1", concat({gate, up}, 1)}, {"w2", Tensor::from({2, 2}, {1, 0, 1, 0})}},
                    {{"w1", ffn.linear1.weight}, {"w2", ffn.linear2.weight}});
    Rows rows = {{"x", "x W_gate", "its silu", "x W_up", "their products", "output, first number"}};
    const std::vector<std::vector<Real>> inputs = {{3, 2}, {-3, 2}, {0.5, 8}, {1, 0}};
    for (const auto& input : inputs) {
        const Tensor x = Tensor::from({1, 2}, input), z = matmul(x, gate), u = matmul(x, up);
        const double y = static_cast<double>(ffn(x, kEval).data()[0]);
        rows.push_back({vector_text(x, 1), vector_text(z, 1), vector_text(silu(z)), vector_text(u, 1),
                        vector_text(silu(z) * u), fixed(y)});
        claim(std::abs(y - static_cast<double>(input[0] * input[1])) < 1e-5,
              "a gated feed-forward multiplies");
    }
    table(out, rows, "tttttn");
}

void shares(std::ostream& out) {
    const models::EncoderLayer layer({.src_vocabulary = 1, .vocabulary = 1}, Rng(1));
    const double all = static_cast<double>(nn::parameter_count(layer));
    Rows rows = {{"an encoder layer of the paper's base model", "parameters", "share"}};
    const auto row = [&](const std::string& name, int64_t n) {
        rows.push_back({name, std::to_string(n), fixed(100 * static_cast<double>(n) / all, 1) + " %"});
    };
    row("attention: W_Q, W_K, W_V, W_O, 512 × 512 each, and biases",
        nn::parameter_count(layer.self_attention));
    row("feed-forward: 512 × 2048 and 2048 × 512, and biases", nn::parameter_count(layer.feed_forward));
    row("two norms", nn::parameter_count(layer.residual1.norm) + nn::parameter_count(layer.residual2.norm));
    table(out, rows);
}

// --------------------------------------------------------------------------------------------------- dropout

void dropped(std::ostream& out) {
    const Real p = Real(0.25);
    out << "x                   = " << vector_text(Tensor::ones({8})) << "\n"
        << "dropout(x), step 1  = " << vector_text(dropout(Tensor::ones({8}), p, Rng(1).fork(1))) << "\n"
        << "dropout(x), step 2  = " << vector_text(dropout(Tensor::ones({8}), p, Rng(1).fork(2))) << "\n\n";
    const Tensor many = dropout(Tensor::ones({1000000}), p, Rng(1));
    out << "mean of a million elements of dropout(1): " << fixed(value_of(mean(many)), 3)
        << ", without the factor 1/(1 - 0.25) = " << fixed(1 / 0.75, 3) << ": "
        << fixed(0.75 * value_of(mean(many)), 3) << "\n";
    claim(std::abs(value_of(mean(many)) - 1) < 0.002, "dropout keeps the mean");
}

// ------------------------------------------------------------------------------------------------ embeddings

// RMS of a number of the embedding and of the position, without and with √d_model.
void embedding_scale(std::ostream& out) {
    Rows rows = {{"d_model", "RMS of an embedding", "of a position", "of an embedding times √d_model"}};
    for (const int64_t d : {64, 128, 512}) {
        const nn::Embedding words(1000, d, Rng(1));
        const nn::PositionalEncoding positions(nn::Positions::sinusoidal, 100, d, Rng(1));
        const double e = rms(words.table);
        rows.push_back({std::to_string(d), fixed(e, 3), fixed(rms(positions.encodings()), 3),
                        fixed(e * std::sqrt(static_cast<double>(d)), 3)});
        claim(std::abs(e * std::sqrt(static_cast<double>(d)) - 1) < 0.01,
              "times √d_model embeddings have size 1");
    }
    table(out, rows);
}

// The first loss of a model whose output matrix is its embedding, N(0, 1/d) or N(0, 1).
void first_loss(std::ostream& out) {
    constexpr int64_t V = 1000, d = 512, n = 200;
    const nn::Norm norm(d);
    const Tensor x = norm(Tensor::randn({1, n, d}, Rng(1)));  // as the last layer's norm leaves it
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < n; ++i)
        ids.push_back(i * 5);
    const Tokens targets(1, n, ids);
    Rows rows = {{"embeddings", "deviation of a logit", "first loss"}};
    const auto row = [&](const std::string& name, const nn::Parameter& vectors) {
        const Tensor logits = linear_transposed(x, vectors);
        const double loss = value_of(cross_entropy(logits, targets));
        rows.push_back({name, digits(rms(logits)), digits(loss)});
        return loss;
    };
    const double small = row("N(0, 1/d)", nn::Embedding(V, d, Rng(2)).table);
    const double large = row("N(0, 1)", nn::Embedding(V, d, Rng(2), nn::Init::pytorch).table);
    claim(small < 1.1 * portable::log(static_cast<double>(V)) && large > 5 * small,
          "embeddings of variance 1/d make a modest first loss");
    rows.push_back(
        {"all logits equal: ln " + std::to_string(V), "0", digits(portable::log(static_cast<double>(V)))});
    table(out, rows);
}

// The parameters of the paper's base model with its vocabulary, with one matrix and with three.
void tied_parameters(std::ostream& out) {
    constexpr int64_t V = 37000, d = 512, n_layers = 6;
    const models::Config stack = {.src_vocabulary = V, .vocabulary = V};
    const int64_t layers = n_layers * (nn::parameter_count(models::EncoderLayer(stack, Rng(1))) +
                                       nn::parameter_count(models::DecoderLayer(stack, Rng(1))));
    const auto row = [&](const std::string& name, int64_t tables) {
        const std::string total = fixed(1e-6 * static_cast<double>(layers + tables * V * d), 1);
        return std::vector<std::string>{name, fixed(1e-6 * static_cast<double>(layers), 1),
                                        fixed(1e-6 * static_cast<double>(tables * V * d), 1), total};
    };
    table(out,
          {{"the base model with 37000 words, millions of parameters", "6 + 6 layers", "tables", "together"},
           row("three tables", 3),
           row("one table", 1)});
}

// How many rows of the embedding get a gradient in one step.
void tying(std::ostream& out) {
    models::Config config = {.src_vocabulary = 1000,
                             .vocabulary = 1000,
                             .n_layers = 1,
                             .n_decoder_layers = 1,
                             .block = {.d_model = 32, .n_heads = 2, .d_ff = 64}};
    Rows rows = {
        {"one step of 4 sentences of 6 tokens, 1000 words", "rows of the target embedding with a gradient"}};
    for (const bool tied : {false, true}) {
        config.tied = tied;
        const models::Transformer model(config, Rng(1));
        std::vector<int32_t> ids;
        for (int32_t i = 0; i < 24; ++i)
            ids.push_back(4 + 7 * i);
        const Tokens tokens(4, 6, ids);
        model.loss(tokens, tokens, tokens, kEval).backward();
        const Tensor grad = model.tgt_embedding.tokens.table->grad();  // (V, d_model)
        const double moved = value_of(sum(sum(grad * grad, {1}) > 0));
        rows.push_back({tied ? "tied to the output layer" : "untied", fixed(moved, 0)});
    }
    table(out, rows);
}

// -------------------------------------------------------------------------------------------- initial values

// RMS after each of ten layers of ReLU(x W), W of N(0, c²/n).
void initial(std::ostream& out) {
    constexpr int64_t n = 256;
    Rows rows = {{join("deviation of a weight, n = ", n), "after 1 layer", "after 5", "after 10",
                  "gradient at the input"}};
    const auto row = [&](const std::string& name, double factor) {  // -> the RMS after ten layers
        Tensor x = Tensor::randn({64, n}, Rng(1)).require_grad();
        Tensor y = x;
        std::vector<std::string> cells = {name};
        for (uint64_t layer = 1; layer <= 10; ++layer) {
            y = relu(matmul(
                y, nn::normal({n, n}, factor / std::sqrt(static_cast<double>(n)), Rng(2).fork(layer))));
            if (layer == 1 || layer == 5 || layer == 10)
                cells.push_back(digits(rms(y)));
        }
        sum(y * Tensor::randn(y.shape(), Rng(3))).backward();
        cells.push_back(digits(rms(x.grad())));
        rows.push_back(cells);
        return rms(y);
    };
    const double smallest = row("0.5 / √n", 0.5), small = row("1 / √n", 1);
    const double right = row("√2 / √n", std::sqrt(2.0)), large = row("2 / √n", 2);
    table(out, rows);
    claim(smallest < 0.01 * small && small < 0.1 && right > 0.5 && right < 2 && large > 10,
          "only weights of variance 2/n keep the size of vectors through ReLUs");
}

}  // namespace

Computed training_layers() {
    return {.sections = {{"nn.norm.hand", Effort::quick, norm_by_hand},
                         {"nn.norm.rms", Effort::quick, rms_norm_by_hand},
                         {"nn.ffn.xor", Effort::quick, exclusive_or},
                         {"nn.ffn.gated", Effort::quick, gated_product},
                         {"nn.ffn.shares", Effort::quick, shares},
                         {"nn.dropout", Effort::quick, dropped},
                         {"nn.embedding.scale", Effort::quick, embedding_scale},
                         {"nn.embedding.loss", Effort::quick, first_loss},
                         {"nn.embedding.tied", Effort::quick, tied_parameters},
                         {"nn.embedding.tying", Effort::quick, tying},
                         {"nn.init", Effort::quick, initial}}};
}

}  // namespace plaingrad::chapters
