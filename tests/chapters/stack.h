// Stacks of layers with and without residual connections and norms, and a task that needs the whole stack.
#pragma once

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "tests/chapters/experiment.h"

namespace plaingrad::chapters {

using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;

// What is around each sub-layer f.
enum class Around { nothing, norm, residual, post, pre };

inline constexpr int64_t kStackWidth = 32;

// Attention and feed-forward are the two sub-layers f.
struct Layer {
    explicit Layer(const Rng& rng)
        : attention(kStackWidth, 4, rng.fork("attention")),
          feed_forward(kStackWidth, 4 * kStackWidth, rng.fork("feed_forward")),
          norm1(kStackWidth),
          norm2(kStackWidth) {}
    void visit(nn::Visitor& v) const {
        v("attention", attention);
        v("feed_forward", feed_forward);
        v("norm1", norm1);
        v("norm2", norm2);
    }
    nn::MultiHeadAttention attention;
    nn::FeedForward feed_forward;
    nn::Norm norm1, norm2;
};

template <class F>
Tensor around(Around how, const Tensor& x, const nn::Norm& norm, const F& f) {
    const Tensor y = f(how == Around::pre ? norm(x) : x);
    const Tensor sum = how == Around::nothing || how == Around::norm ? y : x + y;
    return how == Around::norm || how == Around::post ? norm(sum) : sum;
}

struct Stack {
    Stack(Around how_, int64_t depth, const Rng& rng) : how(how_) {
        for (int64_t i = 0; i < depth; ++i)
            layers.emplace_back(rng.fork(static_cast<uint64_t>(i)));
    }
    void visit(nn::Visitor& v) const { v("layers", layers); }
    Tensor operator()(Tensor x) const {  // (B, T, d) -> (B, T, d)
        for (const Layer& l : layers) {
            x = around(how, x, l.norm1, [&](const Tensor& y) { return l.attention(y, {.mode = kEval}); });
            x = around(how, x, l.norm2, [&](const Tensor& y) { return l.feed_forward(y, kEval); });
        }
        return x;
    }
    std::vector<Layer> layers;
    Around how;
};

inline constexpr int64_t kMirrorSymbols = 8, kMirrorLength = 8;
// A stack between an embedding and an output layer; the task: each position says the symbol that stands at
// the mirrored place.
struct MirrorModel {
    MirrorModel(Around how, int64_t depth, const Rng& rng)
        : symbols(kMirrorSymbols, kStackWidth, rng.fork("symbols"), nn::Init::pytorch),
          positions(nn::Positions::learned, kMirrorLength, kStackWidth, rng.fork("positions"),
                    nn::Init::pytorch),
          stack(how, depth, rng.fork("stack")),
          norm(kStackWidth),
          out(kStackWidth, kMirrorSymbols, rng.fork("out")) {}
    void visit(nn::Visitor& v) const {
        v("symbols", symbols);
        v("positions", positions);
        v("stack", stack);
        v("norm", norm);
        v("out", out);
    }
    Tensor operator()(const Tokens& ids) const {
        return out(norm(stack(positions(symbols(ids), nn::Mode::eval()))));
    }
    nn::Embedding symbols;
    nn::PositionalEncoding positions;
    Stack stack;
    nn::Norm norm;
    nn::Linear out;
};

// The loss of a batch of random sequences.
inline Tensor mirror_loss(const MirrorModel& model, const Rng& rng) {
    constexpr int64_t B = 16, T = kMirrorLength;
    const Tokens ids = random_tokens(B, T, kMirrorSymbols, rng);
    std::vector<int32_t> mirrored;
    for (int64_t b = 0; b < B; ++b)
        for (int64_t t = 0; t < T; ++t)
            mirrored.push_back(ids.at(b, T - 1 - t));
    return cross_entropy(model(ids), Tokens(B, T, mirrored));
}

}  // namespace plaingrad::chapters
