// Of the table of ops: rotary positions and attention.
#include <cmath>

#include "tests/ops/family.h"

namespace plaingrad::tests {

using namespace autograd;  // NOLINT

namespace {

// In some calls in the memory of a value that nothing else refers to, which x + 0 is.
void draw_rotary(OpCall& c) {
    const int64_t B = 1 + c.below(3), D = 1 + c.size(40), H = 1 + c.below(4), T = c.length(B * D * H);
    const int64_t R = 2 * c.below(D / 2 + 1), first = c.option("first", c.below(5));
    const int64_t heads = c.option("n_heads", 1 + c.below(H));
    c.option("head_dim", D);
    const Tensor turns = Tensor::uninitialized({first + T + c.below(3), R});
    for (int64_t p = 0; p < turns.size(0); ++p)
        for (int64_t i = 0; i < R; ++i) {
            const double angle = static_cast<double>(p) / static_cast<double>(1 + i % (R / 2));
            turns.mutable_data()[p * R + i] =
                static_cast<Real>(static_cast<float>(i < R / 2 ? std::cos(angle) : std::sin(angle)));
        }
    c.constant("turns", turns);
    c.input("x", {B, T, H * D});
    c.most = 3 * c.largest(0);
    const bool moved = c.one_in(2);
    c.returns([=](const Inputs& x) {
        const RotaryHeads heads_of_x = {.n_heads = heads, .head_dim = D, .first = first};
        return moved ? rotary(x[0] + Real(0), turns, heads_of_x) : rotary(x[0], turns, heads_of_x);
    });
}

// The sizes and options of an attention. G heads of keys and values, each read by the same number of heads of
// queries.
class Heads {
public:
    enum Kind { of_three, of_one, of_two };  // tensors that hold q, k and v

    Heads(OpCall& c, Kind kind) : rng_(c.fork()) {
        B = c.one_in(20) ? 0 : 1 + c.below(3);
        G = 1 + c.below(3);
        H = G * (1 + c.below(3));
        D = std::max<int64_t>(1, c.size(kind == of_one ? 65 : 130));
        const int64_t heads = std::max<int64_t>(1, B) * H;
        T = c.length(heads * D * (kind == of_one ? 3 : 1), heads);
        S = kind == of_one || c.one_in(3) ? T : c.length(heads * D, heads);
        options_.n_heads = c.option("n_heads", H);
        options_.n_kv_heads = c.option("n_kv_heads", G == H && c.one_in(2) ? 0 : G);
        options_.mask = mask(c);
        if (S >= T && c.option("causal", c.one_in(2)))
            options_.mask = options_.mask.and_causal();
        options_.dropout = c.option("p", c.one_in(3) ? Real(0.25) : Real(0));
        const bool tells = c.tells_dropped() && options_.dropout > 0;
        with_weights_ = c.option("weights", tells || c.one_in(6));
        numbers = D > 33 ? kSmall : Numbers{};
    }

    // The result, and sometimes the weights of each head. f takes inputs and options.
    template <class F>
    void returns(OpCall& c, std::size_t values, const F& f) const {
        c.most = std::fmax(2, c.largest(values));
        c.terms = [root = std::sqrt(static_cast<double>(D))](const Inputs& x) {
            double most = 1;
            for (const Tensor& input : x)
                for (const Real each : input.to_vector())
                    most = std::fmax(most, std::abs(static_cast<double>(each)));
            return root * most * most;
        };
        c.returns([=, own = *this](const Inputs& x) -> std::vector<Tensor> {
            Tensor weights;
            AttentionOptions o = own.options_;
            o.rng = &own.rng_;
            o.weights = own.with_weights_ ? &weights : nullptr;
            const Tensor y = f(x, o);
            return own.with_weights_ ? std::vector<Tensor>{y, weights} : std::vector<Tensor>{y};
        });
    }

    int64_t B, T, S, H, G, D;
    Numbers numbers;  // which give no scores so large that one key gets all of the weight

private:
    Mask mask(OpCall& c) const {
        const int64_t kind = c.below(3);
        if (kind == 0)
            return Mask::none();
        std::vector<int32_t> counts;
        std::vector<uint8_t> pairs;
        for (int64_t b = 0; b < B; ++b)
            counts.push_back(static_cast<int32_t>(c.one_in(3) ? S : c.below(S + 1)));
        for (int64_t i = 0; kind == 2 && i < B * T * S; ++i)
            pairs.push_back(!c.one_in(3));
        if (kind == 1) {
            c.constant("counts", Tensor::from({B}, std::vector<Real>(counts.begin(), counts.end())));
            return Mask::key_counts(counts);
        }
        c.constant("allowed", Tensor::from({B, T, S}, std::vector<Real>(pairs.begin(), pairs.end())));
        return Mask::allowed(B, T, S, pairs);
    }

    Rng rng_;
    AttentionOptions options_;
    bool with_weights_;
};

void draw_attention(OpCall& c) {
    c.precision();
    const Heads a(c, Heads::of_three);
    c.input("q", {a.B, a.T, a.H * a.D}, a.numbers);
    c.input("k", {a.B, a.S, a.G * a.D}, a.numbers);
    c.input("v", {a.B, a.S, a.G * a.D}, a.numbers);
    a.returns(c, 2,
              [](const Inputs& x, const AttentionOptions& o) { return attention(x[0], x[1], x[2], o); });
}

// Backward takes 64 queries at a time. With more, it matters which inputs are the same tensor, and no mask
// may hide this.
void draw_same_tensors(OpCall& c) {
    const int64_t same = c.below(4);
    c.option("n_heads", 2);
    c.option("n_kv_heads", 0);
    c.option("p", Real(0));
    c.input("q", {1, 66, 2});
    if (same > 0)
        c.input(same == 1 ? "v" : "k", {1, 66, 2});
    const char* const kSame[] = {"q", "q", "q", "k"};  // same: q = k = v, q = k, q = v, k = v
    if (same != 1)
        c.option("same.v", kSame[same]);
    if (same < 2)
        c.option("same.k", "q");
    c.terms = [](const Inputs&) { return 8.0; };
    c.returns([=](const Inputs& x) {
        const Tensor other = x.size() > 1 ? x[1] : x[0];
        const Tensor k = same < 2 ? x[0] : other, v = same == 2 ? x[0] : other;
        return attention(x[0], k, v, {.n_heads = 2});
    });
}

// More keys than are taken at a time, with scores that grow: what is rounded depends on the largest so far.
void draw_growing_scores(OpCall& c) {
    c.precision();
    c.option("n_heads", 1);
    c.option("n_kv_heads", 0);
    c.option("p", Real(0));
    c.input("q", {1, 2, 2}, kSmall);
    c.input("k", {1, 1030, 2}, kSmall);
    c.input("v", {1, 1030, 2});
    const Tensor growth =
        Tensor::from_function({1030, 1}, [](uint64_t s) { return 1 + static_cast<double>(s / 512); });
    c.constant("growth", growth);
    c.terms = [](const Inputs&) { return 40.0; };
    c.returns([=](const Inputs& x) { return attention(x[0], x[1] * growth, x[2], {}); });
}

void draw_self_attention(OpCall& c) {
    c.precision();
    const Heads a(c, Heads::of_one);
    c.input("qkv", {a.B, a.T, (a.H + 2 * a.G) * a.D}, a.numbers);
    a.returns(c, 0, [](const Inputs& x, const AttentionOptions& o) { return self_attention(x[0], o); });
}

void draw_cross_attention(OpCall& c) {
    c.precision();
    const Heads a(c, Heads::of_two);
    c.input("q", {a.B, a.T, a.H * a.D}, a.numbers);
    c.input("kv", {a.B, a.S, 2 * a.G * a.D}, a.numbers);
    a.returns(c, 1,
              [](const Inputs& x, const AttentionOptions& o) { return cross_attention(x[0], x[1], o); });
}

// Each row of q reads the keys of a sentence of its own choice, of which only the first are read.
void draw_decoding(OpCall& c) {
    const Heads a(c, Heads::of_two);
    std::vector<int32_t> rows;
    for (int64_t b = 0; b < a.B; ++b)
        rows.push_back(static_cast<int32_t>(c.below(a.B)));
    c.constant("rows", Tensor::from({a.B}, std::vector<Real>(rows.begin(), rows.end())));
    c.input("q", {a.B, a.T, a.H * a.D}, a.numbers);
    c.input("kv", {a.B, a.S, 2 * a.G * a.D}, a.numbers);
    a.returns(c, 1, [=](const Inputs& x, AttentionOptions o) {
        o.kv_rows = &rows;
        return cross_attention(x[0], x[1], o);
    });
}

const std::vector<OpRow> kOpRows = {
    {"rotary", "rotary(c)", draw_rotary},
    {"attention", "attention(c, q, k, v)", draw_attention},
    {"attention", "attention(c, q, k, v)", draw_same_tensors},
    {"attention", "attention(c, q, k * growth, v)", draw_growing_scores},
    {"self_attention", "self_attention(c)", draw_self_attention},
    {"cross_attention", "cross_attention(c)", draw_cross_attention},
    {"cross_attention", "cross_attention(c)", draw_decoding, false},
};

std::vector<Known> values() {
    // Scores are products: of the second query 0 and ln 3, so that its weights are 1/4 and 3/4.
    const double ln3 = 1.09861229;
    const Tensor q = tensor({1, 2, 1}, {0, 1}), k = tensor({1, 2, 1}, {0, ln3}),
                 v = tensor({1, 2, 1}, {4, 8}), kv = tensor({1, 2, 2}, {0, 4, ln3, 8}),
                 turns = tensor({2, 2}, {1, 0, 0, 1});
    return {
        // The second position is turned by a right angle; what is no head stays.
        KNOWN(rotary(tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}), turns, {.head_dim = 2}),
              tensor({1, 2, 3}, {1, 2, 3, -5, 4, 6})),
        KNOWN(rotary(tensor({1, 1, 4}, {1, 2, 3, 4}), turns, {.n_heads = 2, .head_dim = 2, .first = 1}),
              tensor({1, 1, 4}, {-2, 1, -4, 3})),
        KNOWN(attention(q, k, v), tensor({1, 2, 1}, {6, 7})),
        KNOWN(attention(q, k, v, {.mask = Mask::causal()}), tensor({1, 2, 1}, {4, 7})),
        KNOWN(attention(q, k, v, {.mask = Mask::key_counts({1})}), tensor({1, 2, 1}, {4, 4})),
        KNOWN(attention(q, k, v, {.mask = Mask::key_counts({0})}), tensor({1, 2, 1}, {0, 0})),
        // Four columns: the score 2 ln 3 is divided by 2.
        KNOWN(attention(tensor({1, 1, 4}, {2, 0, 0, 0}), tensor({1, 2, 4}, {0, 0, 0, 0, ln3, 0, 0, 0}),
                        counting({1, 2, 4})),
              tensor({1, 1, 4}, {3, 4, 5, 6})),
        KNOWN(self_attention(tensor({1, 2, 3}, {0, 0, 4, 1, ln3, 8})), tensor({1, 2, 1}, {6, 7})),
        KNOWN(cross_attention(q, kv), tensor({1, 2, 1}, {6, 7})),
        KNOWN(cross_attention(tensor({1, 1, 2}, {0, 1}), kv, {.n_heads = 2, .n_kv_heads = 1}),
              tensor({1, 1, 2}, {6, 7})),
    };
}

const std::vector<int32_t> kRows = {0, 5}, kBefore = {0, -1};
const Calls kWrongCalls = {
    CALL(rotary(kNone, t({3, 4}), {1, 4})),
    CALL(rotary(t({1, 2, 4}), kNone, {1, 4})),
    CALL(rotary(t({2, 4}), t({3, 4}), {1, 4})),
    CALL(rotary(t({1, 2, 4}), t({3, 3}), {1, 4})),
    CALL(rotary(t({1, 2, 4}), t({3, 4}), {2, 4})),
    CALL(rotary(t({1, 2, 4}), t({3, 4}), {0, 4})),
    CALL(rotary(t({1, 2, 4}), t({3, 4}), {1, 4, 2})),
    CALL(rotary(t({1, 2, 4}), t({3, 4}), {1, 4, -1})),
    CALL(rotary(t({1, 2, 4}), t({3, 4}), {1, 4, INT64_MAX})),
    CALL(attention(kNone, t({1, 2, 4}), t({1, 2, 4}))),
    CALL(attention(t({1, 2, 4}), kNone, t({1, 2, 4}))),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), kNone)),
    CALL(attention(t({2, 4}), t({2, 4}), t({2, 4}))),
    CALL(attention(t({1, 2, 4}), t({1, 3, 4}), t({1, 2, 4}))),
    CALL(attention(t({1, 2, 4}), t({2, 2, 4}), t({2, 2, 4}))),
    CALL(attention(t({1, 2, 4}), t({1, 2, 6}), t({1, 2, 6}))),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.n_heads = 3})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.n_heads = 0})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.n_heads = -2})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.n_heads = 4, .n_kv_heads = 3})),
    CALL(attention(t({2, 3, 6}), t({2, 3, 6}), t({2, 3, 6}), {.n_heads = 3, .n_kv_heads = 1})),
    CALL(attention(t({2, 3, 6}), t({2, 3, 6}), t({2, 3, 6}), {.n_heads = 3, .n_kv_heads = -1})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.dropout = Real(0.1)})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.dropout = 1, .rng = &kRng})),
    CALL(attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = kNan, .rng = &kRng})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.mask = Mask::key_counts({3})})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.mask = Mask::key_counts({1, 1})})),
    CALL(attention(t({1, 3, 4}), t({1, 2, 4}), t({1, 2, 4}), {.mask = Mask::causal()})),
    CALL(attention(t({1, 2, 4}), t({1, 2, 4}), t({1, 2, 4}), {.kv_rows = &kRows})),
    CALL(self_attention(kNone)),
    CALL(self_attention(t({2, 12}))),
    CALL(self_attention(t({1, 2, 4}))),
    CALL(self_attention(t({1, 2, 12}), {.n_heads = 3})),
    CALL(self_attention(t({2, 3, 12}), {.n_heads = 3, .n_kv_heads = 2})),
    CALL(self_attention(t({2, 3, 14}), {.n_heads = 3, .n_kv_heads = 2})),
    CALL(self_attention(t({1, 2, 12}), {.n_heads = 2, .mask = Mask::key_counts({9})})),
    CALL(self_attention(t({2, 2, 12}), {.kv_rows = &kRows})),
    CALL(self_attention(t({1, 2, 12}), {.kv_length = 1})),
    CALL(cross_attention(kNone, t({1, 2, 8}))),
    CALL(cross_attention(t({1, 2, 4}), kNone)),
    CALL(cross_attention(t({1, 2, 4}), t({1, 2, 6}))),
    CALL(cross_attention(t({1, 2, 4}), t({2, 2, 8}))),
    CALL(cross_attention(t({2, 3, 4}), t({2, 8}))),
    CALL(cross_attention(t({2, 2, 4}), t({5, 2, 8}), {.kv_rows = &kRows})),
    CALL(cross_attention(t({2, 2, 4}), t({5, 2, 8}), {.kv_rows = &kBefore})),
    CALL(cross_attention(t({3, 2, 4}), t({5, 2, 8}), {.kv_rows = &kRows})),
    CALL(sum(cross_attention(t({2, 2, 4}).require_grad(), t({6, 2, 8}), {.kv_rows = &kRows})).backward()),
    CALL(sum(cross_attention(t({1, 2, 4}).require_grad(), t({1, 2, 8}), {.kv_length = 1})).backward()),
    CALL(cross_attention(t({1, 2, 4}), t({1, 2, 8}), {.kv_length = -1})),
    CALL(cross_attention(t({1, 2, 4}), t({1, 2, 8}), {.kv_length = 3})),
};

}  // namespace

const OpFamily kAttention = {kOpRows, values, kWrongCalls};

}  // namespace plaingrad::tests
