// Matrix products and the layers around them.
#include <cmath>

#include "autograd/base/check.h"
#include "tests/trust/programs/draw.h"

namespace plaingrad::trust {
namespace {

using autograd::Activation;
using autograd::join;

const char* text(Precision p) { return autograd::kPrecisionNames[static_cast<int>(p)]; }

// Of a sum of k products of numbers whose signs differ.
double size_of_sums(double a, double b, int64_t k) { return a * b * std::sqrt(static_cast<double>(k + 1)); }

// A width so that rows * k * width remains small.
int64_t width(Draw& d, int64_t rows, int64_t k) {
    return d.size(std::min(d.most() / std::max<int64_t>(1, std::max(rows, k)), d.room(rows * k)));
}

void draw_matmul(Draw& d) {
    const int a = d.any(2);
    const Shape shape = d.shape_of(a);
    const int64_t k = shape[-1], n = width(d, shape.without(-1).numel(), k);
    const bool transposed = d.chance(0.4);
    const Precision p = d.precision();
    int b = a;
    if (!(transposed && d.chance(0.3)) && !(shape[-1] == shape[-2] && d.chance(0.3))) {
        Shape other = transposed ? Shape{n, k} : Shape{k, n};
        if (shape.rank() >= 3 && d.chance(0.6)) {  // leading dims, broadcast or not
            const int64_t lead = d.chance(0.3) ? 1 : shape[-3];
            other = shape.rank() == 4 && d.chance(0.5) ? Shape{shape[0], lead, other[0], other[1]}
                                                       : Shape{lead, other[0], other[1]};
        }
        if (other.numel() > 2 * d.most())
            return;
        b = d.like(other);
    }
    d.op("matmul", {a, b}, [=](const Inputs& in, Branches&) { return matmul(in[0], in[1], transposed); },
         {.arguments = join(transposed ? "transposed, " : "", text(p)),
          .bf16 = p == Precision::bf16,
          .size = size_of_sums(d.size_of(a), d.size_of(b), k)});
}

void draw_linear(Draw& d) {
    const int x = d.any(1);
    const int64_t k = d.shape_of(x)[-1], n = width(d, d.shape_of(x).without(-1).numel(), k);
    const Precision p = d.precision();
    const bool transposed = d.chance(0.5);
    std::vector<int> inputs = {x, d.like(transposed ? Shape{n, k} : Shape{k, n})};
    double size = size_of_sums(d.size_of(x), d.size_of(inputs[1]), k);
    if (d.chance(0.7)) {
        inputs.push_back(d.like({n}));
        size += d.size_of(inputs[2]);
    }
    const auto bias = [](const Inputs& in) { return in.size() > 2 ? in[2] : Tensor(); };
    d.op(transposed ? "linear_transposed" : "linear", inputs,
         [=](const Inputs& in, Branches&) {
             return transposed ? linear_transposed(in[0], in[1], bias(in)) : linear(in[0], in[1], bias(in));
         },
         {.arguments = text(p), .bf16 = p == Precision::bf16, .size = size});
}

void draw_feed_forward(Draw& d) {
    const int x = d.any(1);
    const int64_t k = d.shape_of(x)[-1], rows = d.shape_of(x).without(-1).numel();
    const bool gated = d.chance(0.5), back = d.chance(0.5);
    const int64_t hidden = width(d, 2 * rows, k), n = back ? k : width(d, rows, hidden);
    const int64_t first = gated ? 2 * hidden : hidden;
    const Precision p = d.precision();
    const auto f = static_cast<Activation>(d.below(static_cast<int>(Activation::count)));
    const int w1 = d.like({k, first}), b1 = d.like({first}), w2 = d.like({hidden, n}), b2 = d.like({n});
    const double one = size_of_sums(d.size_of(x), d.size_of(w1), k) + d.size_of(b1);
    d.op("feed_forward", {x, w1, b1, w2, b2},
         [=](const Inputs& in, Branches& b) {
             if (f == Activation::relu && b.wanted) {
                 const Tensor h = linear(in[0], in[1], in[2]).detach();
                 b.sign(gated ? slice(h, -1, 0, hidden) : h);
             }
             return feed_forward(in[0], in[1], in[2], in[3], in[4], f, gated);
         },
         {.arguments =
              join(gated ? "gated, " : "", autograd::kActivationNames[static_cast<int>(f)], ", ", text(p)),
          .bf16 = p == Precision::bf16,
          .size = size_of_sums(gated ? one * one : one, d.size_of(w2), hidden) + d.size_of(b2)});
}

void draw_glu(Draw& d) {
    const int x = d.any(1);
    const auto f = static_cast<Activation>(d.below(static_cast<int>(Activation::count)));
    d.op("glu", {x},
         [=](const Inputs& in, Branches& b) {
             if (f == Activation::relu && b.wanted && in[0].size(-1) % 2 == 0)
                 b.sign(slice(in[0].detach(), -1, 0, in[0].size(-1) / 2));
             return glu(in[0], f);
         },
         {.arguments = autograd::kActivationNames[static_cast<int>(f)], .size = d.size_of(x) * d.size_of(x)});
}

void draw_bf16(Draw& d) {
    const bool gradient = d.chance(0.5);
    d.op(gradient ? "gradient_to_bf16" : "to_bf16", {d.any()},
         [=](const Inputs& in, Branches&) { return gradient ? gradient_to_bf16(in[0]) : to_bf16(in[0]); },
         {.bf16 = true});
}

}  // namespace

void draw_products(Draw& d) {
    switch (d.below(8)) {
        case 0:
        case 1:
            return draw_matmul(d);
        case 2:
        case 3:
        case 4:
            return draw_linear(d);
        case 5:
        case 6:
            return draw_feed_forward(d);
        default:
            return d.bf16() ? draw_bf16(d) : draw_glu(d);
    }
}

void draw_mistake(Draw& d) {
    const int a = d.any(), b = d.any(), c = d.any();
    d.may_fail = true;
    switch (d.below(7)) {
        case 0:
            d.op("matmul", {a, b}, [](const Inputs& in, Branches&) { return matmul(in[0], in[1]); },
                 {.size = 100});
            break;
        case 1:
            d.op("linear", {a, b, c}, [](const Inputs& in, Branches&) { return linear(in[0], in[1], in[2]); },
                 {.size = 100});
            break;
        case 2:
            d.op("attention", {a, b, c},
                 [](const Inputs& in, Branches&) { return attention(in[0], in[1], in[2], {.n_heads = 2}); });
            break;
        case 3:
            d.op("layer_norm", {a, b, c},
                 [](const Inputs& in, Branches&) { return layer_norm(in[0], in[1], in[2], Real(1e-2)); },
                 {.size = 20});
            break;
        case 4:
            d.op("reshape", {a},
                 [](const Inputs& in, Branches&) {
                     return reshape(in[0], {7, -1});
                 },
                 {.exact = true});
            break;
        case 5: {
            const Tokens ids(1, 2, {0, 1'000'000});
            d.op("embedding", {a}, [ids](const Inputs& in, Branches&) { return embedding(in[0], ids); },
                 {.exact = true, .sums = true});
            break;
        }
        default:
            d.op("concat", {a, b, c}, [](const Inputs& in, Branches&) { return concat(in, -1); },
                 {.exact = true});
    }
    d.may_fail = false;
}

}  // namespace plaingrad::trust
