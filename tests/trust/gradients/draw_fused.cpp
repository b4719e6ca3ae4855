// Fused ops with random shapes: layers, norms, losses, look-up, attention.
#include "autograd/base/check.h"
#include "tests/trust/gradients/shapes.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

Case fused_linear(Dice& draw) {
    const int64_t in = size(draw), hidden = size(draw), out = size(draw);
    const auto f = draw.one_of<Activation>({Activation::gelu, Activation::gelu_tanh, Activation::silu});
    const bool with_bias = !draw.one_in(4);
    Case c;
    const Tensor x = c.leaf(numbers(draw, Shape({size_or_0(draw), size(draw)}).with(1, in)));
    const auto matrix = [&](int64_t rows, int64_t columns) {
        return c.leaf(numbers(draw, {rows, columns}, -1, 1));
    };
    const auto bias = [&](int64_t n) { return with_bias ? c.leaf(numbers(draw, {n})) : Tensor(); };
    switch (draw.below(4)) {
        case 0: {
            c.name = "linear";
            const Tensor w = matrix(in, out), b = bias(out);
            c.f = [=] { return linear(x, w, b); };
            break;
        }
        case 1: {
            c.name = "linear_transposed";
            const Tensor w = matrix(out, in), b = bias(out);
            c.f = [=] { return linear_transposed(x, w, b); };
            break;
        }
        case 2: {
            c.name = "feed_forward";
            const Tensor w1 = matrix(in, hidden), b1 = bias(hidden), w2 = matrix(hidden, out), b2 = bias(out);
            c.f = [=] { return feed_forward(x, w1, b1, w2, b2, f); };
            break;
        }
        default: {
            c.name = "feed_forward, gated";
            const Tensor w1 = matrix(in, 2 * hidden), b1 = bias(2 * hidden), w2 = matrix(hidden, out),
                         b2 = bias(out);
            c.f = [=] { return feed_forward(x, w1, b1, w2, b2, f, true); };
        }
    }
    return c;
}

Case norm(Dice& draw) {
    const int64_t n = size(draw);
    const Shape s = shape(draw, 1, 3).with(-1, n);
    const Real eps = draw.one_in(2) ? Real(0.1) : Real(0.01);
    const Rng rng = Rng(static_cast<uint64_t>(draw.below(1000)));
    const Real p = draw.one_in(2) ? Real(0.3) : 0;
    Case c("", n == 1 || p > 0);
    const Tensor x = c.leaf(numbers(draw, s)), gain = c.leaf(numbers(draw, {n}, 0.5, 2));
    switch (draw.below(3)) {
        case 0: {
            c.name = "layer_norm";
            const Tensor bias = draw.one_in(2) ? c.leaf(numbers(draw, {n})) : Tensor();
            c.f = [=] { return layer_norm(x, gain, bias, eps); };
            break;
        }
        case 1:
            c.name = "rms_norm";
            c.f = [=] { return rms_norm(x, gain, eps); };
            break;
        default: {
            c.name = "residual_norm";
            const Tensor y = c.leaf(numbers(draw, s)), bias = c.leaf(numbers(draw, {n}));
            c.f = [=] { return residual_norm(x, y, p, rng, gain, bias, eps); };
        }
    }
    return c;
}

static Tokens tokens(Dice& draw, int64_t batch, int64_t length, int64_t vocabulary) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i)
        ids.push_back(static_cast<int32_t>(draw.below(vocabulary)));
    return Tokens(batch, length, ids);
}

Case softmax_or_loss(Dice& draw) {
    const int64_t B = size(draw), T = 1 + draw.below(4), V = 1 + size(draw), N = size(draw);
    const Tokens targets = tokens(draw, B, T, V);
    const CrossEntropyOptions options = {.label_smoothing = static_cast<Real>(draw.below(3)) * Real(0.2)};
    Case c;
    switch (draw.below(5)) {
        case 0:
        case 1: {
            const Shape s = shape(draw, 1, 4);
            const int dim = any_dim(draw, s);
            const bool log = draw.one_in(2);
            c.name = log ? "log_softmax" : "softmax";
            c.may_be_zero = s[dim] <= 1;
            const Tensor x = c.leaf(numbers(draw, s));
            c.f = [=] { return log ? log_softmax(x, dim) : softmax(x, dim); };
            break;
        }
        case 2: {
            c.name = "cross_entropy";
            const Tensor x = c.leaf(numbers(draw, {B, T, V}));
            c.f = [=] { return cross_entropy(x, targets, options); };
            break;
        }
        case 3: {
            c.name = "linear_cross_entropy";
            const Tensor x = c.leaf(numbers(draw, {B, T, N})), w = c.leaf(numbers(draw, {V, N}));
            const Tensor bias = draw.one_in(2) ? c.leaf(numbers(draw, {V})) : Tensor();
            c.f = [=] { return linear_cross_entropy(x, w, bias, targets, options); };
            break;
        }
        default: {
            c.name = "mse_loss, bce_with_logits";
            const Tensor x = c.leaf(numbers(draw, {B, N})), y = c.leaf(numbers(draw, {B, N}, 0, 1));
            c.f = [=] { return mse_loss(x, y) + bce_with_logits(x, y); };
        }
    }
    return c;
}

Case look_up(Dice& draw) {
    const int64_t B = size_or_0(draw), T = 1 + draw.below(5), V = size(draw), N = size(draw);
    const Tokens ids = tokens(draw, B, T, V);
    Case c("", true);
    if (draw.one_in(3)) {
        c.name = "gather";
        const Tensor x = c.leaf(numbers(draw, {B, T, V}));
        c.f = [=] { return gather(x, ids); };
    } else {
        c.name = "embedding";
        const Tensor table = c.leaf(numbers(draw, {V, N}));
        c.f = [=] { return embedding(table, ids); };
    }
    return c;
}

Case attend(Dice& draw) {
    const int64_t B = size_or_0(draw), T = size(draw), S = size(draw), D = 1 + draw.below(5),
                  G = 1 + draw.below(3);
    const int64_t H = G * (1 + draw.below(3));
    std::vector<int32_t> counts;
    for (int64_t b = 0; b < B; ++b)
        counts.push_back(static_cast<int32_t>(draw.below(S + 1)));
    std::vector<uint8_t> pairs;
    for (int64_t i = 0; i < B * T * S; ++i)
        pairs.push_back(!draw.one_in(3));
    Mask mask = draw.one_of<Mask>({Mask::none(), Mask::key_counts(counts), Mask::allowed(B, T, S, pairs)});
    if (S >= T && draw.one_in(2))
        mask = mask.and_causal();
    static const Rng rng = Rng(5).fork("weights");
    const AttentionOptions options = {.n_heads = H,
                                      .n_kv_heads = G,
                                      .mask = mask,
                                      .dropout = draw.one_in(3) ? Real(0.3) : Real(0),
                                      .rng = &rng};
    Case c("attention", true);
    const Tensor q = c.leaf(numbers(draw, {B, T, H * D}));
    if (draw.one_in(2)) {
        const Tensor k = c.leaf(numbers(draw, {B, S, G * D})),
                     v = draw.one_in(3) ? k : c.leaf(numbers(draw, {B, S, G * D}));
        c.f = [=] { return attention(q, k, v, options); };
    } else {
        const Tensor kv = c.leaf(numbers(draw, {B, S, 2 * G * D}));
        c.name = "cross_attention";
        c.f = [=] { return cross_attention(q, kv, options); };
    }
    return c;
}

}  // namespace plaingrad::trust
