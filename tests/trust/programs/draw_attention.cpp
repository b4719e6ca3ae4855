// Attention, whose queries, keys and values are often one tensor, or views or parts of one; rotary positions;
// look-up and dropout.
#include <cmath>

#include "autograd/base/check.h"
#include "tests/trust/programs/draw.h"

namespace plaingrad::trust {
namespace {

using autograd::AttentionOptions;
using autograd::join;
using autograd::Mask;

struct Sizes {
    int64_t batch, queries, keys, heads, groups, d;
    Precision p;
    Mask mask;
    Real dropout;
    Rng rng;

    AttentionOptions options() const {
        return {.n_heads = heads, .n_kv_heads = groups, .mask = mask, .dropout = dropout, .rng = &rng};
    }
    Traits traits(double size) const {
        return {.arguments =
                    join("B ", batch, ", T ", queries, ", S ", keys, ", H ", heads, ", G ", groups, ", D ", d,
                         dropout > 0 ? ", dropout" : "", p == Precision::bf16 ? ", bf16" : ""),
                .bf16 = p == Precision::bf16,
                .size = size,
                .terms = [n = std::sqrt(static_cast<double>(d))](const Inputs& in) {
                    double most = 1;
                    for (const Tensor& x : in)
                        most = std::max(most, largest(x));
                    return n * most * most;
                }};
    }
};

// A divisor of n.
int64_t divisor(Draw& d, int64_t n) {
    for (;;)
        if (const int64_t i = 1 + d.below(n); n % i == 0)
            return i;
}

// one_length: as many keys as queries.
Sizes draw_sizes(Draw& d, bool one_length, int columns) {
    const int64_t batch = 1 + d.below(3), most = d.most() / batch / columns;
    const int64_t heads = d.one_of<int64_t>({1, 1, 2, 3, 4, 6}),
                  size = d.positive(std::min<int64_t>(most / heads, 130));
    const int64_t width = heads * size, most_length = std::min(most / width, d.room(width * batch) / 8);
    // The plain form keeps the scores of all pairs.
    const int64_t pairs = 16 * d.most() / batch / heads;
    const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(pairs)));
    const int64_t queries = d.size(one_length ? std::min(most_length, root) : most_length);
    const int64_t most_keys = std::min(most_length, pairs / std::max<int64_t>(1, queries));
    const int64_t keys = one_length ? queries : d.size(most_keys);
    const Precision p = d.precision();
    const Mask mask = d.mask(batch, queries, keys);
    const Real dropout = d.chance(0.2) ? Real(0.25) : Real(0);
    return {batch, queries, keys, heads,   d.chance(0.6) ? heads : divisor(d, heads),
            size,  p,       mask, dropout, d.fork()};
}

// Three parts of one tensor, along its columns.
int columns_of(Draw& d, int x, int64_t first, int64_t count) {
    return d.op("slice", {x},
                [=](const Inputs& in, Branches&) { return slice(in[0], 2, first, first + count); },
                {.arguments = join("dim 2, ", first, " to ", first + count), .exact = true});
}

void draw_three(Draw& d) {
    Sizes s = draw_sizes(d, d.chance(0.7), 1);
    const int64_t width = s.heads * s.d;
    const Shape of_q = {s.batch, s.queries, width}, of_k = {s.batch, s.keys, s.groups * s.d};
    int q = d.like(of_q), k = d.like(of_k), v = d.like(of_k);
    const bool alike = of_q == of_k;
    const int64_t alias = d.below(8);
    if (alias == 0 && alike) {
        k = v = q;
    } else if (alias == 1 && alike) {
        v = q;
    } else if (alias == 2 && alike) {
        k = q;
    } else if (alias == 3) {
        v = k;
    } else if (alias == 4 && alike) {
        k = d.other_view(q);
        v = d.chance(0.5) ? d.other_view(q) : k;
    } else if (alias == 5 && alike) {
        const int whole = d.like({s.batch, s.queries, 3 * width});
        q = columns_of(d, whole, 0, width);
        k = columns_of(d, whole, d.chance(0.5) ? 0 : width, width);
        v = columns_of(d, whole, 2 * width, width);
    }
    const double size = d.size_of(v);
    const bool weights = d.chance(0.15);
    d.op(
        "attention", {q, k, v},
        [=](const Inputs& in, Branches&) {
            AttentionOptions options = s.options();
            Tensor w;
            options.weights = weights ? &w : nullptr;
            const Tensor out = attention(in[0], in[1], in[2], options);
            return weights ? w.detach() : out;
        },
        [&] {
            Traits traits = s.traits(weights ? 2 : size);
            traits.arguments += weights ? ", the weights" : "";
            return traits;
        }());
}

void draw_packed(Draw& d) {
    if (d.chance(0.6)) {
        const Sizes s = draw_sizes(d, true, 3);
        const int qkv = d.like({s.batch, s.queries, (s.heads + 2 * s.groups) * s.d});
        d.op(
            "self_attention", {qkv},
            [s](const Inputs& in, Branches&) { return self_attention(in[0], s.options()); },
            s.traits(d.size_of(qkv)));
        return;
    }
    const Sizes s = draw_sizes(d, false, 2);
    const int q = d.like({s.batch, s.queries, s.heads * s.d}),
              kv = d.like({s.batch, s.keys, 2 * s.groups * s.d});
    d.op(
        "cross_attention", {q, kv},
        [s](const Inputs& in, Branches&) { return cross_attention(in[0], in[1], s.options()); },
        s.traits(d.size_of(kv)));
}

void draw_rotary(Draw& d) {
    const Sizes s = draw_sizes(d, true, 1);
    const int x = d.like({s.batch, s.queries, s.heads * s.d});
    const int64_t heads = 1 + d.below(s.heads), turned = d.below(s.d / 2 + 1) * 2, first = d.below(3);
    const Tensor turns = Tensor::from_function({first + s.queries + d.below(2), turned}, [turned](
                                                                                             uint64_t i) {
        const auto row = static_cast<double>(i / static_cast<uint64_t>(turned));
        const auto at = static_cast<int64_t>(i % static_cast<uint64_t>(turned));
        const double angle = row / static_cast<double>(1 + at % (turned / 2));
        return static_cast<double>(static_cast<float>(at < turned / 2 ? std::cos(angle) : std::sin(angle)));
    });
    const bool in_place = d.chance(0.5);
    d.op("rotary", {x},
         [=](const Inputs& in, Branches&) {
             Tensor from = in_place ? in[0] * Real(2) : in[0];
             return autograd::rotary(in_place ? std::move(from) : from, turns,
                                     {.n_heads = heads, .head_dim = s.d, .first = first});
         },
         {.arguments = join(heads, " heads of ", s.d, ", ", turned, " turned", in_place ? ", in place" : ""),
          .size = d.size_of(x) * 3});
}

}  // namespace

void draw_attention(Draw& d) {
    switch (d.below(6)) {
        case 0:
            return draw_rotary(d);
        case 1:
        case 2:
            return draw_packed(d);
        default:
            return draw_three(d);
    }
}

void draw_look_up(Draw& d) {
    const Real p = d.one_of<Real>({0, Real(0.25), Real(0.5)});
    switch (d.below(6)) {
        case 0:
        case 1: {
            const int table = d.any(2, 2);
            const int64_t batch = 1 + d.below(3), n = std::max<int64_t>(1, d.shape_of(table)[1]);
            const int64_t length = d.size(d.most() / n / batch);
            const Tokens ids = d.ids(batch, length, d.shape_of(table)[0]);
            d.op("embedding", {table}, [ids](const Inputs& in, Branches&) { return embedding(in[0], ids); },
                 {.arguments = join("(", batch, ", ", length, ") ids"), .exact = true, .sums = true});
            return;
        }
        case 2: {
            const int x = d.any(1);
            const Tokens ids = d.ids(1, d.shape_of(x).without(-1).numel(), d.shape_of(x)[-1]);
            d.op("gather", {x}, [ids](const Inputs& in, Branches&) { return gather(in[0], ids); },
                 {.exact = true});
            return;
        }
        case 3:
        case 4: {
            const int x = d.any();
            const Rng rng = d.fork();
            d.op("dropout", {x}, [=](const Inputs& in, Branches&) { return dropout(in[0], p, rng); },
                 {.arguments = join("p ", p), .size = 2 * d.size_of(x)});
            return;
        }
        default: {
            const int x = d.any(), y = d.chance(0.25) ? x : d.like(d.shape_of(x));
            const Rng rng = d.fork();
            d.op("residual", {x, y},
                 [=](const Inputs& in, Branches&) { return residual(in[0], in[1], p, rng); },
                 {.arguments = join("p ", p), .size = d.size_of(x) + 2 * d.size_of(y)});
        }
    }
}

}  // namespace plaingrad::trust
