// Ops on rows: softmax, norms, losses.
#include <cmath>

#include "autograd/base/check.h"
#include "tests/trust/programs/draw.h"

namespace plaingrad::trust {
namespace {

using autograd::CrossEntropyOptions;
using autograd::join;

void draw_softmax(Draw& d) {
    const int x = d.any(1);
    const int dim = d.chance(0.6) ? -1 : static_cast<int>(d.below(d.shape_of(x).rank()));
    const bool log = d.chance(0.4);
    d.op(log ? "log_softmax" : "softmax", {x},
         [=](const Inputs& in, Branches&) { return log ? log_softmax(in[0], dim) : softmax(in[0], dim); },
         {.arguments = join("dim ", dim),
          .size = log ? 2 * d.size_of(x) + 4 : 1,
          .terms = [](const Inputs&) { return 2.0; },
          .log_of_1 = log});
}

// Of a norm: 1 / the smallest deviation of a row, times the largest gain.
double terms_of_norm(const Tensor& sum, const Tensor& gain, bool centred, Real eps) {
    if (sum.numel() == 0)
        return 0;
    const Tensor x = centred ? sum - mean(sum, {-1}, true) : sum;
    const Tensor deviations = sqrt(mean(x * x, {-1}) + eps);
    return largest(gain) * largest(1 / deviations);
}

void draw_norm(Draw& d) {
    const int x = d.any(1);
    const int64_t n = d.shape_of(x)[-1];
    const int gain = d.like({n});
    const Real eps = d.chance(0.5) ? Real(1e-5) : Real(1e-2);
    if (d.chance(0.35)) {
        d.op("rms_norm", {x, gain},
             [eps](const Inputs& in, Branches&) { return rms_norm(in[0], in[1], eps); },
             {.arguments = join(eps), .size = 4 * d.size_of(gain), .terms = [eps](const Inputs& in) {
                  return terms_of_norm(in[0], in[1], false, eps);
              }});
        return;
    }
    std::vector<int> inputs = {x, gain};
    double size = 4 * d.size_of(gain);
    if (d.chance(0.7)) {
        inputs.push_back(d.chance(0.2) ? gain : d.like({n}));
        size += d.size_of(inputs.back());
    }
    d.op("layer_norm", inputs,
         [eps](const Inputs& in, Branches&) {
             return layer_norm(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), eps);
         },
         {.arguments = join(eps), .size = size, .terms = [eps](const Inputs& in) {
              return terms_of_norm(in[0], in[1], true, eps);
          }});
}

void draw_residual_norm(Draw& d) {
    const int x = d.any(1), y = d.chance(0.25) ? x : d.like(d.shape_of(x));
    const int64_t n = d.shape_of(x)[-1];
    const Real p = d.one_of<Real>({0, Real(0.25), Real(0.5)}), eps = Real(1e-2);
    const Rng rng = d.fork();
    const int gain = d.like({n});
    const double size = 4 * d.size_of(gain);
    const Terms terms = [=](const Inputs& in) {
        return terms_of_norm(residual(in[0], in[1], p, rng), in[2], true, eps);
    };
    std::vector<int> inputs = {x, y, gain};
    if (d.chance(0.7))
        inputs.push_back(d.like({n}));
    d.op("residual_norm", inputs,
         [=](const Inputs& in, Branches&) {
             return residual_norm(in[0], in[1], p, rng, in[2], in.size() > 3 ? in[3] : Tensor(), eps);
         },
         {.arguments = join("p ", p), .size = size + d.size_of(inputs.back()), .terms = terms});
}

CrossEntropyOptions draw_options(Draw& d, int64_t vocabulary) {
    CrossEntropyOptions options = {.label_smoothing = d.one_of<Real>({0, 0, Real(0.125), Real(0.5)})};
    if (d.chance(0.3))
        options.ignore = static_cast<int32_t>(d.below(vocabulary));
    return options;
}

void draw_cross_entropy(Draw& d) {
    const int x = d.any(1);
    const int64_t last = d.shape_of(x)[-1], rows = d.shape_of(x).without(-1).numel();
    const bool of_rank_3 = d.shape_of(x).rank() == 3;
    const int64_t batch = of_rank_3 ? d.shape_of(x)[0] : rows, length = of_rank_3 ? d.shape_of(x)[1] : 1;
    if (d.chance(0.5)) {
        const Tokens targets = d.ids(batch, length, last);
        const CrossEntropyOptions options = draw_options(d, std::max<int64_t>(last, 1));
        d.op("cross_entropy", {x},
             [=](const Inputs& in, Branches&) { return cross_entropy(in[0], targets, options); },
             {.arguments = join("smoothing ", options.label_smoothing),
              .size = 2 * d.size_of(x) + 4,
              .terms = [](const Inputs&) { return 1.0; },
              .log_of_1 = true});
        return;
    }
    const int64_t vocabulary =
        d.positive(std::min(d.most() / std::max<int64_t>(1, last), d.room(rows * last)));
    const Tokens targets = d.ids(batch, length, vocabulary);
    const CrossEntropyOptions options = draw_options(d, vocabulary);
    const Precision p = d.precision();
    std::vector<int> inputs = {x, d.like({vocabulary, last})};
    if (d.chance(0.5))
        inputs.push_back(d.like({vocabulary}));
    d.op("linear_cross_entropy", inputs,
         [=](const Inputs& in, Branches&) {
             return linear_cross_entropy(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), targets, options);
         },
         {.arguments = join("smoothing ", options.label_smoothing),
          .bf16 = p == Precision::bf16,
          .size = 16,
          .terms = [n = std::sqrt(static_cast<double>(vocabulary))](
                       const Inputs& in) { return n * std::max(largest(in[0]), largest(in[1])); },
          .log_of_1 = true});
}

void draw_small_loss(Draw& d) {
    const int x = d.any(), y = d.chance(0.1) ? x : d.like(d.shape_of(x));
    const double a = d.size_of(x), b = d.size_of(y);
    if (d.chance(0.5))
        d.op("mse_loss", {x, y}, [](const Inputs& in, Branches&) { return mse_loss(in[0], in[1]); },
             {.size = (a + b) * (a + b)});
    else
        d.op("bce_with_logits", {x, y},
             [](const Inputs& in, Branches&) { return bce_with_logits(in[0], sigmoid(in[1])); },
             {.arguments = "the sigmoid of the second",
              .size = a + 1,
              // The gradient of a target is the difference of two logarithms.
              .terms =
                  [](const Inputs& in) {
                      return (1 + largest(in[0])) / static_cast<double>(std::max<int64_t>(in[0].numel(), 1));
                  },
              .log_of_1 = true});
}

}  // namespace

void draw_rows(Draw& d) {
    switch (d.below(7)) {
        case 0:
        case 1:
            return draw_softmax(d);
        case 2:
        case 3:
            return draw_norm(d);
        case 4:
            return draw_residual_norm(d);
        case 5:
            return draw_cross_entropy(d);
        default:
            return draw_small_loss(d);
    }
}

}  // namespace plaingrad::trust
