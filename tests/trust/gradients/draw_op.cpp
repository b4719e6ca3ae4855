// Ops with random shapes: sizes 0 and 1, broadcasting, sizes beside those of vectors.
#include <algorithm>
#include <optional>

#include "autograd/base/check.h"
#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

int64_t size(Draw& draw) { return draw.one_of<int64_t>({1, 1, 2, 3, 4, 5, 7, 17}); }
int64_t size_or_0(Draw& draw) { return draw.one_in(25) ? 0 : size(draw); }

// Of rank least ... most, and not more than some hundred numbers.
Shape shape(Draw& draw, int64_t least, int64_t most, bool with_0 = true) {
    std::vector<int64_t> sizes;
    for (int64_t rank = least + draw.below(most - least + 1), numel = 1; rank > 0; --rank) {
        sizes.push_back(numel > 100 ? 1 + draw.below(2) : with_0 ? size_or_0(draw) : size(draw));
        numel *= sizes.back();
    }
    return shape_of(sizes);
}

// What broadcasts to this shape: some sizes are 1, and leading dims may be left out.
Shape narrowed(Draw& draw, const Shape& s) {
    std::vector<int64_t> sizes;
    for (int dim = static_cast<int>(draw.one_in(3) ? draw.below(s.rank() + 1) : 0); dim < s.rank(); ++dim)
        sizes.push_back(draw.one_in(3) ? 1 : s[dim]);
    return shape_of(sizes);
}

int any_dim(Draw& draw, const Shape& s) {
    return static_cast<int>(draw.below(s.rank())) - (draw.one_in(2) ? static_cast<int>(s.rank()) : 0);
}

Case two_tensors(Draw& draw) {
    using Two = Tensor (*)(const Tensor&, const Tensor&);
    const auto [name, f] = draw.one_of<std::pair<const char*, Two>>(
        {{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}, {"maximum", maximum}, {"minimum", minimum}});
    const Shape all = shape(draw, 0, 4);
    const bool first = draw.one_in(2);
    Case c(name, f == maximum || f == minimum);
    const Tensor a = c.leaf(nonzero(draw, first ? narrowed(draw, all) : all));
    const Tensor b = c.leaf(nonzero(draw, first && draw.one_in(2) ? all : narrowed(draw, all)));
    c.f = [f = f, a, b] { return f(a, b); };
    return c;
}

Case choice(Draw& draw) {
    const Shape all = shape(draw, 1, 3);
    Case c("where", true);
    const Tensor condition = numbers(draw, narrowed(draw, all)) < 0;
    const Tensor a = c.leaf(numbers(draw, all)), b = c.leaf(numbers(draw, narrowed(draw, all)));
    c.f = [=] { return where(condition, a, b); };
    return c;
}

Case one_tensor(Draw& draw) {
    using One = Tensor (*)(const Tensor&);
    struct Function {
        const char* name;
        One f;
        bool positive, has_kink;
    };
    const auto r = draw.one_of<Function>({{"neg", neg, false, false},
                                          {"exp", exp, false, false},
                                          {"log", log, true, false},
                                          {"sqrt", sqrt, true, false},
                                          {"tanh", tanh, false, false},
                                          {"sigmoid", sigmoid, false, false},
                                          {"abs", abs, false, false},
                                          {"relu", relu, false, true},
                                          {"gelu", gelu, false, false},
                                          {"gelu_tanh", gelu_tanh, false, false},
                                          {"silu", silu, false, false}});
    Case c(r.name, r.has_kink);
    const Shape s = shape(draw, 0, 4);
    const Tensor x = c.leaf(r.positive ? numbers(draw, s, 0.2, 3) : nonzero(draw, s));
    c.f = [=] { return r.f(x); };
    return c;
}

Case reduction(Draw& draw) {
    const Shape s = shape(draw, 1, 4, false);
    const bool keep = draw.one_in(2);
    const std::string name = draw.one_of<std::string>({"sum", "mean", "max"});
    Case c(name);
    const Tensor x = c.leaf(numbers(draw, s));
    if (name == "max") {
        c.f = [=, dim = any_dim(draw, s)] { return max(x, dim, keep); };
        return c;
    }
    std::vector<int> dims;
    for (int dim = 0; dim < s.rank(); ++dim)
        if (draw.one_in(2))
            dims.push_back(draw.one_in(2) ? dim : dim - static_cast<int>(s.rank()));
    c.f = [=] { return name == "sum" ? sum(x, dims, keep) : mean(x, dims, keep); };
    return c;
}  // namespace

Case product(Draw& draw) {
    const Shape batch = shape(draw, 0, 2);
    const int64_t m = size_or_0(draw), k = size(draw), n = size_or_0(draw);
    const bool transposed = draw.one_in(2);
    const auto with = [](const Shape& front, int64_t rows, int64_t columns) {
        std::vector<int64_t> sizes;
        for (int dim = 0; dim < front.rank(); ++dim)
            sizes.push_back(front[dim]);
        sizes.insert(sizes.end(), {rows, columns});
        return shape_of(sizes);
    };
    Case c("matmul");
    const Tensor a = c.leaf(numbers(draw, with(narrowed(draw, batch), m, k)));
    const Tensor b = c.leaf(
        numbers(draw, transposed ? with(narrowed(draw, batch), n, k) : with(narrowed(draw, batch), k, n)));
    c.f = [=] { return matmul(a, b, transposed); };
    return c;
}

Case fused_linear(Draw& draw) {
    const int64_t in = size(draw), hidden = size(draw), out = size(draw);
    const auto f = draw.one_of<Activation>({Activation::gelu, Activation::gelu_tanh, Activation::silu});
    const bool with_bias = !draw.one_in(4);
    Case c;
    const Tensor x = c.leaf(numbers(draw, Shape({size_or_0(draw), size(draw)}).with(1, in)));
    const auto matrix = [&](int64_t rows, int64_t columns) {
        return c.leaf(numbers(draw, {rows, columns}, -1, 1));
    };
    const auto bias = [&](int64_t n) { return with_bias ? c.leaf(numbers(draw, {n})) : Tensor(); };
    switch (draw.below(6)) {
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
            c.name = "linear_columns";
            const Tensor w = matrix(in, out + 3), b = bias(out + 3);
            c.f = [=, first = draw.below(4)] { return linear_columns(x, w, b, first, out); };
            break;
        }
        case 3: {
            c.name = "linear_activation";
            const Tensor w = matrix(in, out), b = bias(out);
            c.f = [=] { return linear_activation(x, w, b, f); };
            break;
        }
        case 4: {
            c.name = "feed_forward";
            const Tensor w1 = matrix(in, hidden), b1 = bias(hidden), w2 = matrix(hidden, out), b2 = bias(out);
            c.f = [=] { return feed_forward(x, w1, b1, w2, b2, f); };
            break;
        }
        default: {
            c.name = "gated_feed_forward";
            const Tensor w1 = matrix(in, 2 * hidden), b1 = bias(2 * hidden), w2 = matrix(hidden, out),
                         b2 = bias(out);
            c.f = [=] { return gated_feed_forward(x, w1, b1, w2, b2, f); };
        }
    }
    return c;
}

Case norm(Draw& draw) {
    const int64_t n = size(draw);
    const Shape s = shape(draw, 1, 3).with(-1, n);
    const Real eps = draw.one_in(2) ? Real(0.1) : Real(0.01);
    const Rng rng = Rng(static_cast<uint64_t>(draw.below(1000)));
    const Real p = draw.one_in(2) ? Real(0.3) : 0;
    Case c("", n == 1 || p > 0);
    const Tensor x = c.leaf(numbers(draw, s)), gain = c.leaf(numbers(draw, {n}, 0.5, 2));
    switch (draw.below(4)) {
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
        case 2: {
            c.name = "residual_norm";
            const Tensor y = c.leaf(numbers(draw, s)), bias = c.leaf(numbers(draw, {n}));
            c.f = [=] { return residual_norm(x, y, p, rng, gain, bias, eps); };
            break;
        }
        default: {
            c.name = "residual_rms_norm";
            const Tensor y = c.leaf(numbers(draw, s));
            c.f = [=] { return residual_rms_norm(x, y, p, rng, gain, eps); };
        }
    }
    return c;
}

Tokens tokens(Draw& draw, int64_t batch, int64_t length, int64_t vocabulary) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i)
        ids.push_back(static_cast<int32_t>(draw.below(vocabulary)));
    return Tokens(batch, length, ids);
}

Case softmax_or_loss(Draw& draw) {
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

Case look_up(Draw& draw) {
    const int64_t B = size_or_0(draw), T = 1 + draw.below(5), V = size(draw), N = size(draw);
    const Tokens ids = tokens(draw, B, T, V);
    Case c("", true);
    if (draw.one_in(3)) {
        c.name = "gather";
        const Tensor x = c.leaf(numbers(draw, {B, T, V}));
        c.f = [=] { return gather(x, ids); };
    } else if (draw.one_in(2)) {
        c.name = "embedding";
        const Tensor table = c.leaf(numbers(draw, {V, N}));
        c.f = [=] { return embedding(table, ids); };
    } else {
        c.name = "input_embedding";
        const Tensor table = c.leaf(numbers(draw, {V, N})), positions = c.leaf(numbers(draw, {T, N}));
        c.f = [=] { return input_embedding(table, ids, Real(1.5), positions, Real(0.2), Rng(3)); };
    }
    return c;
}

Case mover(Draw& draw) {
    const Shape s = shape(draw, 1, 4);
    const int dim = any_dim(draw, s);
    Case c;
    const Tensor x = c.leaf(numbers(draw, s));
    switch (draw.below(6)) {
        case 0: {
            std::vector<int> order;
            for (int d = 0; d < s.rank(); ++d)
                order.insert(order.begin() + draw.below(d + 1), d);
            c.name = "permute";
            c.f = [=] { return permute(x, order); };
            break;
        }
        case 1: {
            const int64_t begin = draw.below(s[dim] + 1), end = begin + draw.below(s[dim] - begin + 1);
            c.name = "slice";
            c.may_be_zero = begin == end;
            c.f = [=] { return slice(x, dim, begin, end); };
            break;
        }
        case 2: {
            const Tensor y = c.leaf(numbers(draw, s.with(dim, size_or_0(draw))));
            c.name = "concat";
            c.f = [=] { return concat({x, y, x}, dim); };
            break;
        }
        case 3: {
            const Tensor y = c.leaf(numbers(draw, s));
            c.name = "stack";
            c.f = [=] { return stack({x, y}, dim); };
            break;
        }
        case 4:
            c.name = "reshape, unsqueeze";
            c.f = [=] { return unsqueeze(reshape(x, {1, x.numel()}), 1); };
            break;
        default: {
            c.name = "split";
            c.f = [=, n = size(draw)] {
                const std::vector<Tensor> parts = split(x, n, dim);
                return parts.empty() ? x : parts.back() * parts.back() + sum(parts.front());
            };
        }
    }
    return c;
}

Case attend(Draw& draw) {
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

// A second consumer of the first leaf, before or after the op: gradients are added.
void use_again(Draw& draw, Case& c) {
    const Tensor x = c.leaves[0].tensor;
    c.name += ", and another consumer";
    const Real scale = Real(1) / static_cast<Real>(1 + x.numel());
    c.f = [=, f = c.f, first = draw.one_in(2)] {
        if (first) {
            const Tensor square = sum(x * x) * scale;
            return f() + square;
        }
        const Tensor y = f();
        return y + sum(x * x) * scale;
    };
}

}  // namespace

Case draw_op(int64_t number, Draw& draw) {
    constexpr Case (*kKinds[])(Draw&) = {two_tensors,  one_tensor,      product, reduction,
                                         fused_linear, attend,          norm,    mover,
                                         choice,       softmax_or_loss, look_up};
    Case c = kKinds[static_cast<std::size_t>(number) % std::size(kKinds)](draw);
    if (draw.one_in(4))
        use_again(draw, c);
    for (const nn::NamedParameter& leaf : c.leaves)
        c.name += join(" ", leaf.tensor.shape());
    return c;
}

}  // namespace plaingrad::trust
