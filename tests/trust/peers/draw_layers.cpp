// Norms, residual connections, rotary positions, attention.
#include "tests/trust/peers/ops.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

// What a norm, with a residual connection or without one, takes.
struct NormInputs {
    NormInputs(OpCase& c, Dice& draw, bool with_bias, bool with_residual) : rng(draw.fork()) {
        const int64_t n = any_size(draw);
        const Shape s = any_rows(draw, n);
        eps = c.option("eps", draw.one_of<Real>({Real(1e-5), Real(1e-2), Real(0.1)}));
        // Some rows are so small that eps, and not their variance, decides: of roots of eps, and below.
        const double range = draw.one_of<double>({2, 2, 0.1, 0.003, 0.0003});
        x = c.leaf("x", any_numbers(draw, s, -range, range));
        gain = c.leaf("gain", any_numbers(draw, {n}, 0.5, 2));
        if (with_bias && draw.one_in(2))
            bias = c.leaf("bias", any_numbers(draw, {n}));
        if (!with_residual)
            return;
        y = c.leaf("y", any_numbers(draw, s, -range, range));
        p = any_rate(c, draw, s, rng);
    }
    Rng rng;
    Real eps, p = 0;
    Tensor x, y, gain, bias;
};

void draw_layer_norm(OpCase& c, Dice& draw) {
    const NormInputs i(c, draw, true, false);
    c.returns([=] { return layer_norm(i.x, i.gain, i.bias, i.eps); });
}

void draw_rms_norm(OpCase& c, Dice& draw) {
    const NormInputs i(c, draw, false, false);
    c.returns([=] { return rms_norm(i.x, i.gain, i.eps); });
}

void draw_residual_norm(OpCase& c, Dice& draw) {
    const NormInputs i(c, draw, true, true);
    c.returns([=] { return residual_norm(i.x, i.y, i.p, i.rng, i.gain, i.bias, i.eps); });
}

void draw_residual(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 4);
    const Rng rng = draw.fork();
    const Real p = any_rate(c, draw, s, rng);
    const Tensor x = c.leaf("x", any_numbers(draw, s)), y = c.leaf("y", any_numbers(draw, s));
    c.returns([=] { return residual(x, y, p, rng); });
}

// Also in the memory of a value that nothing else refers to, which x + 0 is.
void draw_rotary(OpCase& c, Dice& draw) {
    const int64_t B = 1 + draw.below(3), T = any_size(draw), D = 1 + draw.below(40), H = 1 + draw.below(4);
    const int64_t R = 2 * draw.below(D / 2 + 1), first = draw.below(5);
    const RotaryHeads options = {.n_heads = c.option("n_heads", H),
                                 .head_dim = c.option("head_dim", D),
                                 .first = c.option("first", first)};
    const Tensor turns = c.constant("turns", any_numbers(draw, {first + T + draw.below(3), R}, -1, 1));
    const Tensor x = c.leaf("x", any_numbers(draw, {B, T, H * D + draw.below(20)}));
    const bool moved = draw.one_in(2);
    c.returns([=] { return moved ? rotary(x + Real(0), turns, options) : rotary(x, turns, options); });
}

// Lengths of a text: some beyond the 64 queries that backward takes at a time.
int64_t any_length(Dice& draw) { return draw.one_in(5) ? 60 + draw.below(80) : any_size(draw); }

class Attention {
public:
    Attention(OpCase& c, Dice& draw, bool self)
        : B(draw.one_in(20) ? 0 : 1 + draw.below(3)),
          T(any_length(draw)),
          S(self ? T : any_length(draw)),
          D(draw.one_of<int64_t>({1, 2, 3, 5, 8, 15, 16, 17, 33})),
          G(1 + draw.below(3)),
          H(G * (1 + draw.below(3))),
          rng(draw.fork()) {
        options.n_heads = c.option("n_heads", H);
        options.n_kv_heads = c.option("n_kv_heads", G == H && draw.one_in(2) ? 0 : G);
        options.mask = mask(c, draw);
        if (S >= T && c.option("causal", draw.one_in(2)))
            options.mask = options.mask.and_causal();
        options.dropout = c.option("p", draw.one_in(3) ? Real(0.25) : Real(0));
    }
    // The result, and the weights of each head, whose zeros are what dropout has dropped. f takes options.
    template <class F>
    void returns(OpCase& c, const F& f) const {
        c.f = [=, own = *this]() -> std::vector<Tensor> {
            Tensor weights;
            AttentionOptions o = own.options;
            o.rng = &own.rng;
            o.weights = &weights;
            const Tensor y = f(o);
            return {y, weights};
        };
    }

    const int64_t B, T, S, D, G, H;
    const Rng rng;
    AttentionOptions options;

private:
    Mask mask(OpCase& c, Dice& draw) const {
        const int64_t kind = draw.below(3);
        if (kind == 0)
            return Mask::none();
        std::vector<int32_t> counts;
        std::vector<uint8_t> pairs;
        for (int64_t b = 0; b < B; ++b)
            counts.push_back(static_cast<int32_t>(draw.below(S + 1)));
        for (int64_t i = 0; kind == 2 && i < B * T * S; ++i)
            pairs.push_back(!draw.one_in(3));
        if (kind == 1) {
            c.constant("counts", Tensor::from({B}, std::vector<Real>(counts.begin(), counts.end())));
            return Mask::key_counts(counts);
        }
        c.constant("allowed", Tensor::from({B, T, S}, std::vector<Real>(pairs.begin(), pairs.end())));
        return Mask::allowed(B, T, S, pairs);
    }
};

void draw_attention(OpCase& c, Dice& draw) {
    const Attention a(c, draw, false);
    const Tensor q = c.leaf("q", any_numbers(draw, {a.B, a.T, a.H * a.D})),
                 k = c.leaf("k", any_numbers(draw, {a.B, a.S, a.G * a.D})),
                 v = c.leaf("v", any_numbers(draw, {a.B, a.S, a.G * a.D}));
    a.returns(c, [=](const AttentionOptions& o) { return attention(q, k, v, o); });
}

void draw_self_attention(OpCase& c, Dice& draw) {
    const Attention a(c, draw, true);
    const Tensor qkv = c.leaf("qkv", any_numbers(draw, {a.B, a.T, (a.H + 2 * a.G) * a.D}));
    a.returns(c, [=](const AttentionOptions& o) { return self_attention(qkv, o); });
}

// Of some, each row of q reads the keys of a sentence of its own choice, which needs no gradient.
void draw_cross_attention(OpCase& c, Dice& draw) {
    const Attention a(c, draw, false);
    const Tensor q = any_numbers(draw, {a.B, a.T, a.H * a.D}),
                 kv = any_numbers(draw, {a.B, a.S, 2 * a.G * a.D});
    std::vector<int32_t> rows;
    for (int64_t b = 0; b < a.B; ++b)
        rows.push_back(static_cast<int32_t>(draw.below(a.B)));
    const bool chosen = a.B > 0 && draw.one_in(4);
    if (!chosen) {
        const Tensor of_q = c.leaf("q", q), of_kv = c.leaf("kv", kv);
        return a.returns(c, [=](const AttentionOptions& o) { return cross_attention(of_q, of_kv, o); });
    }
    c.constant("q", q);
    c.constant("kv", kv);
    c.constant("rows", Tensor::from({a.B}, std::vector<Real>(rows.begin(), rows.end())));
    a.returns(c, [=](AttentionOptions o) {
        o.kv_rows = &rows;
        return cross_attention(q, kv, o);
    });
}

}  // namespace

void add_layers(OpKinds& kinds) {
    kinds["layer_norm"] = draw_layer_norm;
    kinds["rms_norm"] = draw_rms_norm;
    kinds["residual_norm"] = draw_residual_norm;
    kinds["residual"] = draw_residual;
    kinds["rotary"] = draw_rotary;
    kinds["attention"] = draw_attention;
    kinds["self_attention"] = draw_self_attention;
    kinds["cross_attention"] = draw_cross_attention;
}

}  // namespace plaingrad::trust
