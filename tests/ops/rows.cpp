// Of the table of ops: softmax, losses, look-up, dropout, norms.
#include <cmath>
#include <optional>

#include "tests/ops/family.h"

namespace plaingrad::tests {

using namespace autograd;  // NOLINT

namespace {

double largest_of(const Tensor& x) {
    double most = 0;
    for (const Real each : x.to_vector())
        most = std::fmax(most, std::abs(static_cast<double>(each)));
    return most;
}

// ---- softmax, losses

template <class F>
void draw_softmax(OpCall& c, bool log, const F& f) {
    const double spread = c.one_of<double>({2, 5, 60});
    const Shape s = c.any("x", 1, 4, {Domain::any, -spread, spread});
    const int dim = c.dim(s);
    c.most = log ? 2 * c.largest(0) + 4 : 1;
    c.terms = [](const Inputs&) { return 2.0; };
    c.log_of_1 = log;
    c.returns([=](const Inputs& x) { return f(x[0], dim); });
}

// Of which the first counts: a loss of nothing is an error. Others are ignored by an id, or as padding.
struct Targets {
    Targets(OpCall& c, int64_t batch, int64_t length, int64_t vocabulary)
        : tokens(c.ids("targets", batch, length, vocabulary)) {
        const int32_t first = tokens.ids().empty() ? 0 : tokens.ids()[0];
        if (tokens.pad() == first || c.one_in(2)) {
            const int64_t id = c.below(std::max<int64_t>(vocabulary, 1));
            options.ignore = static_cast<int32_t>(id == first ? -1 : id);
        }
        c.option("ignore", int64_t{options.ignore.value_or(tokens.pad())});
        options.label_smoothing = c.option("smoothing", c.one_of<Real>({0, 0, Real(0.125), Real(0.5)}));
    }
    Tokens tokens;
    CrossEntropyOptions options = {};
};

void draw_cross_entropy(OpCall& c) {
    const Shape s = c.any("x", 2, 3, {Domain::any, -5, 5});
    const bool has_batch = s.rank() == 3;
    const Targets t(c, has_batch ? s[0] : 1, s[has_batch ? 1 : 0], s[-1]);
    c.most = 2 * c.largest(0) + 4;
    c.terms = [](const Inputs&) { return 1.0; };
    c.log_of_1 = true;
    c.returns([=](const Inputs& x) { return cross_entropy(x[0], t.tokens, t.options); });
}

// The second row of the table has more rows than are taken at a time.
void draw_linear_cross_entropy(OpCall& c, std::optional<int64_t> rows) {
    c.precision();
    if (rows)
        c.input("x", {2, *rows / 2, 2});
    const Shape s = rows ? Shape{2, *rows / 2, 2} : c.any("x", 2, 3);
    const int64_t batch = s.rank() == 3 ? s[0] : 1, n = s[-1];
    const int64_t vocabulary = rows ? 3 : std::max<int64_t>(1, c.columns(s.without(-1).numel(), n));
    const Targets t(c, batch, s[-2], vocabulary);
    c.input("weight", {vocabulary, n});
    if (c.one_in(2))
        c.input("bias", {vocabulary});
    c.most = 16;
    c.terms = [root = std::sqrt(static_cast<double>(vocabulary))](const Inputs& x) {
        return root * std::fmax(largest_of(x[0]), largest_of(x[1]));
    };
    c.log_of_1 = true;
    c.returns([=](const Inputs& x) {
        return linear_cross_entropy(x[0], x[1], or_none(x, 2), t.tokens, t.options);
    });
}

void draw_mse_loss(OpCall& c) {
    c.input("target", c.any("x", 0, 4));
    c.most = std::pow(c.largest(0) + c.largest(1), 2);
    c.returns([](const Inputs& x) { return mse_loss(x[0], x[1]); });
}

void draw_bce_with_logits(OpCall& c) {
    c.input("target", c.any("x", 0, 4, {Domain::any, -20, 20}), kFraction);
    c.most = c.largest(0) + 1;
    // The gradient of a target is the difference of two logarithms.
    c.terms = [](const Inputs& x) {
        return (1 + largest_of(x[0])) / static_cast<double>(std::max<int64_t>(x[0].numel(), 1));
    };
    c.log_of_1 = true;
    c.returns([](const Inputs& x) { return bce_with_logits(x[0], x[1]); });
}

// ---- look-up, dropout

void draw_embedding(OpCall& c) {
    const Shape s = c.any("table", 2, 2);
    const int64_t batch = 1 + c.below(3);
    const Tokens ids = c.ids("ids", batch, c.columns(batch * std::max<int64_t>(1, s[1]), 1), s[0]);
    c.exact = c.sums = true;
    c.returns([=](const Inputs& x) { return embedding(x[0], ids); });
}

void draw_gather(OpCall& c) {
    const Shape s = c.any("x", 2, 4);
    const Tokens ids = c.ids("ids", 1, s.without(-1).numel(), s[-1]);
    c.exact = true;
    c.returns([=](const Inputs& x) { return gather(x[0], ids); });
}

void draw_dropout(OpCall& c) {
    const Shape s = c.any("x", 0, 4);
    const Rng rng = c.fork();
    const Real p = c.rate(s, rng);
    c.most = 2 * c.largest(0);
    c.returns([=](const Inputs& x) { return dropout(x[0], p, rng); });
}

// ---- norms, residual connections

// Some rows are so small that eps, and not their variance, decides.
Numbers range_of_rows(OpCall& c) {
    const double range = c.one_of<double>({2, 2, 0.1, 0.003, 0.0003});
    return {Domain::any, -range, range};
}

// Of a norm: 1 / the smallest deviation of a row, times the largest gain.
double terms_of_norm(const Tensor& x, const Tensor& gain, bool centred, Real eps) {
    if (x.numel() == 0)
        return 0;
    const Tensor moved = centred ? x - mean(x, {-1}, true) : x;
    return largest_of(gain) * largest_of(1 / sqrt(mean(moved * moved, {-1}) + eps));
}

void draw_rms_norm(OpCall& c) {
    const Real eps = c.option("eps", c.one_of<Real>({Real(1e-5), Real(1e-2), Real(0.1)}));
    const Shape s = c.any("x", 1, 4, range_of_rows(c));
    c.input("gain", {s[-1]}, kGain);
    c.most = 4 * c.largest(1);
    c.terms = [eps](const Inputs& x) { return terms_of_norm(x[0], x[1], false, eps); };
    c.returns([eps](const Inputs& x) { return rms_norm(x[0], x[1], eps); });
}

void draw_layer_norm(OpCall& c) {
    const Real eps = c.option("eps", c.one_of<Real>({Real(1e-5), Real(1e-2), Real(0.1)}));
    const Shape s = c.any("x", 1, 4, range_of_rows(c));
    c.input("gain", {s[-1]}, kGain);
    if (c.one_in(2))
        c.input("bias", {s[-1]});
    c.most = 4 * c.largest(1) + 2;
    c.terms = [eps](const Inputs& x) { return terms_of_norm(x[0], x[1], true, eps); };
    c.returns([eps](const Inputs& x) { return layer_norm(x[0], x[1], or_none(x, 2), eps); });
}

void draw_residual(OpCall& c) {
    const Shape s = c.any("x", 0, 4);
    const Rng rng = c.fork();
    const Real p = c.rate(s, rng);
    c.input("y", s);
    c.most = c.largest(0) + 2 * c.largest(1);
    c.returns([=](const Inputs& x) { return residual(x[0], x[1], p, rng); });
}

void draw_residual_norm(OpCall& c) {
    const Real eps = c.option("eps", c.one_of<Real>({Real(1e-2), Real(0.1)}));
    const Numbers range = range_of_rows(c);
    const Shape s = c.any("x", 1, 4, range);
    const Rng rng = c.fork();
    const Real p = c.rate(s, rng);
    c.input("y", s, range);
    c.input("gain", {s[-1]}, kGain);
    if (c.one_in(2))
        c.input("bias", {s[-1]});
    c.most = 4 * c.largest(2) + 2;
    c.terms = [=](const Inputs& x) { return terms_of_norm(residual(x[0], x[1], p, rng), x[2], true, eps); };
    c.returns([=](const Inputs& x) { return residual_norm(x[0], x[1], p, rng, x[2], or_none(x, 3), eps); });
}

const std::vector<OpRow> kLossRows = {
    {"softmax", "x.softmax(dim)", [](OpCall& c) { draw_softmax(c, false, softmax); }},
    {"log_softmax", "x.log_softmax(dim)", [](OpCall& c) { draw_softmax(c, true, log_softmax); }},
    {"cross_entropy", "entropy(c, x)", draw_cross_entropy},
    {"linear_cross_entropy", "linear_entropy(c)", [](OpCall& c) { draw_linear_cross_entropy(c, {}); }},
    {"linear_cross_entropy", "linear_entropy(c)", [](OpCall& c) { draw_linear_cross_entropy(c, 1030); }},
    {"mse_loss", "F.mse_loss(x, target)", draw_mse_loss},
    {"bce_with_logits", "F.binary_cross_entropy_with_logits(x, target)", draw_bce_with_logits},
    {"embedding", "embedding(c)", draw_embedding},
    {"gather", "gather(c)", draw_gather},
    {"dropout", "dropped(c, x)", draw_dropout},
};

std::vector<Known> loss_values() {
    const Tensor logits = tensor({3, 3}, {1, 2, 4, 0, 3, 1, 2, 2, 0}), row = vec({1, 2});
    const Tokens targets(1, 3, {0, 1, 2});
    return {
        KNOWN(embedding(tensor({3, 2}, {kNan, kNan, 2, 3, 4, 5}), Tokens(1, 3, {2, 1, 0}, 0)),
              tensor({1, 3, 2}, {4, 5, 2, 3, 0, 0})),
        SLOPE(embedding(x, Tokens(1, 4, {2, 1, 2, 0}, 0)), counting({3, 2}),
              tensor({1, 4, 2}, {1, 2, 3, 4, 10, 20, kNan, kNan}), tensor({3, 2}, {0, 0, 3, 4, 11, 22})),
        KNOWN(gather(tensor({2, 2, 3}, {1, 5, 2, 7, 7, 0, -1, kNan, 3, -kInf, -2, -1}),
                     Tokens(2, 2, {1, 0, 1, 2})),
              tensor({2, 2}, {5, 7, kNan, -1})),
        KNOWN(gather(tensor({2, 2}, {1, 2, kNan, kNan}), Tokens(1, 2, {1, 9}, 9)), vec({2, 0})),
        SLOPE(gather(x, Tokens(1, 2, {1, 9}, 9)), tensor({2, 2}, {1, 2, kNan, kNan}), vec({3, kNan}),
              tensor({2, 2}, {0, 3, 0, 0})),
        KNOWN(softmax(vec({1, 2, 4})), vec({0.0420100661, 0.114195199, 0.843794734})),
        KNOWN(softmax(tensor({2, 2}, {0, 5, 0, 5}), 0), tensor({2, 2}, {0.5, 0.5, 0.5, 0.5})),
        KNOWN(softmax(vec({1e4, -1e4, 0})), vec({1, 0, 0})),
        KNOWN(softmax(vec({1e4, 1e4 - 1})), vec({0.731058579, 0.268941421})),
        KNOWN(softmax(vec({1e30, -1e30, 1e30})), vec({0.5, 0, 0.5})),
        KNOWN(softmax(vec({-1e30, -1e30, -1e30})), vec({1.0 / 3, 1.0 / 3, 1.0 / 3})),
        KNOWN(softmax(vec({-1e30})), vec({1})),
        KNOWN(softmax(vec({kMost, -kMost})), vec({1, 0})),
        KNOWN(softmax(vec({-kInf, 0, -kInf})), vec({0, 1, 0})),
        KNOWN(softmax(vec({1, kNan, 2})), vec({kNan, kNan, kNan})),
        KNOWN(log_softmax(vec({1, 2, 4})), vec({-3.16984602, -2.16984602, -0.16984602})),
        KNOWN(log_softmax(tensor({2, 2}, {0, 5, 0, 5}), 0), Tensor::full({2, 2}, Real(-0.693147181))),
        KNOWN(log_softmax(vec({1e4, -1e4, 0})), vec({0, -2e4, -1e4})),
        KNOWN(log_softmax(vec({1e4, 1e4 - 1})), vec({-0.313261688, -1.31326169})),
        KNOWN(log_softmax(vec({1e30, -1e30, 0})), vec({0, -2e30, -1e30})),
        KNOWN(cross_entropy(logits, targets), Real(2.0327719)),
        KNOWN(cross_entropy(logits, targets, {.ignore = 1}), Real(2.96423485)),
        KNOWN(cross_entropy(logits, Tokens(1, 3, {0, 1, 2}, 1)), Real(2.96423485)),
        KNOWN(cross_entropy(logits, targets, {.label_smoothing = Real(0.25)}), Real(1.94943857)),
        KNOWN(cross_entropy(logits, Tokens(1, 3, {0, 1, 2}, 2), {.label_smoothing = Real(0.25)}),
              Real(1.71151269)),
        KNOWN(cross_entropy(Tensor::full({2, 3, 17}, 5), Tokens(2, 3, {4, 0, 16, 2, 2, 0})),
              std::log(Real(17))),
        KNOWN(cross_entropy(vec({-100, 300, 0}), Tokens(1, 1, {1})), 0),
        KNOWN(cross_entropy(vec({1e30, 0}), Tokens(1, 1, {1})), Real(1e30)),
        SLOPE(cross_entropy(x, Tokens(1, 1, {0})), vec({-1e30, 1e30, 0}), 1, vec({-1, 1, 0})),
        KNOWN(linear_cross_entropy(vec({1}), tensor({3, 1}, {1, 2, 0}), vec({0, 0, 4}), Tokens(1, 1, {0})),
              Real(3.16984602)),
        KNOWN(mse_loss(vec({1, 2, 3}), vec({2, 2, 5})), Real(5) / 3),
        KNOWN(bce_with_logits(vec({-200, -20, -1, 0, 0.5, 20, 200}), vec({0, 1, 0.3, 1, 0, 1, 1})),
              Real(3.18292655)),
        KNOWN(bce_with_logits(vec({-200}), vec({1})), 200),  // the logarithm of 0 would be infinite
        SLOPE(bce_with_logits(x, vec({0})), vec({0}), 1, vec({0.5})),
        KNOWN(dropout(row, 0, kRng), row),
    };
}

const Calls kLossWrongCalls = {
    CALL(softmax(kNone)),
    CALL(softmax(t({}))),
    CALL(softmax(t({2, 3}), 2)),
    CALL(log_softmax(kNone)),
    CALL(log_softmax(t({2, 3}), -3)),
    CALL(cross_entropy(kNone, Tokens(1, 2, {0, 1}))),
    CALL(cross_entropy(t({2, 3}), Tokens())),
    CALL(cross_entropy(t({}), Tokens(1, 1, {0}))),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 3, {0, 1, 2}))),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {0, 3}))),
    CALL(cross_entropy(t({2, 2, 3}), Tokens(2, 2, {0, 1, 7, 0}))),
    CALL(cross_entropy(t({2, 3, 5}), Tokens(3, 2, {0, 1, 2, 3, 4, 0}))),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.ignore = 1})),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {0, 0}, 0))),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {0, 1}), {.label_smoothing = 1})),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {0, 1}), {.label_smoothing = Real(-0.1)})),
    CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {0, 1}), {.label_smoothing = kNan})),
    CALL(mse_loss(kNone, t({2}))),
    CALL(mse_loss(t({2}), kNone)),
    CALL(mse_loss(t({2}), t({1}))),
    CALL(mse_loss(t({0}), t({0}))),
    CALL(bce_with_logits(kNone, t({2}))),
    CALL(bce_with_logits(t({2}), t({2, 1}))),
    CALL(bce_with_logits(t({0}), t({0}))),
    CALL(embedding(kNone, Tokens(1, 1, {0}))),
    CALL(embedding(t({3}), Tokens(1, 1, {0}))),
    CALL(embedding(t({3, 2}), Tokens(1, 1, {3}))),
    CALL(embedding(t({3, 2}), Tokens(2, 2, {0, 1, 2, 3}))),
    CALL(gather(kNone, Tokens(1, 1, {0}))),
    CALL(gather(t({2, 3}), Tokens(1, 1, {0}))),
    CALL(gather(t({1, 3}), Tokens(1, 1, {3}))),
    CALL(gather(t({2, 3}), Tokens(1, 2, {0, 3}))),
    CALL(gather(t({}), Tokens(1, 1, {0}))),
    CALL(dropout(kNone, 0.5, kRng)),
    CALL(dropout(t({2}), 1, kRng)),
    CALL(dropout(t({2}), Real(-0.1), kRng)),
    CALL(dropout(t({2}), kNan, kRng)),
    CALL(linear_cross_entropy(kNone, t({4, 3}), {}, Tokens(1, 2, {0, 1}))),
    CALL(linear_cross_entropy(t({2, 3}), kNone, {}, Tokens(1, 2, {0, 1}))),
    CALL(linear_cross_entropy(t({2, 3}), t({3, 4}), {}, Tokens(1, 2, {0, 1}))),
    CALL(linear_cross_entropy(t({2, 3}), t({4, 3}), t({3}), Tokens(1, 2, {0, 1}))),
    CALL(linear_cross_entropy(t({2, 3}), t({4, 3}), {}, Tokens(1, 2, {0, 4}))),
    CALL(linear_cross_entropy(t({2, 3}), t({4, 3}), {}, Tokens(1, 3, {0, 1, 2}))),
    CALL(linear_cross_entropy(t({2, 3}), t({4, 3}), {}, Tokens(1, 2, {0, 1}), {.label_smoothing = 2})),
    CALL(linear_cross_entropy(t({2, 3, 5}), t({4, 5}), {}, Tokens(3, 2, {0, 1, 2, 3, 3, 0}))),
};

const std::vector<OpRow> kNormRows = {
    {"rms_norm", "rms_norm(c, x)", draw_rms_norm},
    {"layer_norm", "layer_norm(c, x)", draw_layer_norm},
    {"residual", "x + dropped(c, y)", draw_residual},
    {"residual_norm", "layer_norm(c, x + dropped(c, y))", draw_residual_norm},
};

std::vector<Known> norm_values() {
    const Tensor row = vec({1, 2}), one = Tensor::ones({4}), zero = Tensor::zeros({4});
    return {
        // PyTorch's: the biased variance, eps inside of the root. (With the unbiased deviation, and eps
        // outside of it, this would be 1.5, -0.5, -0.5, -0.5.)
        KNOWN(layer_norm(vec({1, 0, 0, 0}), one, zero),
              vec({1.73200462, -0.577334874, -0.577334874, -0.577334874})),
        KNOWN(layer_norm(vec({1, 3}), vec({2, 4}), vec({1, 1}), 3), vec({0, 3})),
        KNOWN(layer_norm(Tensor::full({4}, 37), one, zero), zero),
        KNOWN(layer_norm(Tensor::full({4}, -1e4), one, one), one),
        KNOWN(rms_norm(vec({1, 0, 0, 0}), one), vec({1.99996, 0, 0, 0})),
        KNOWN(rms_norm(vec({3, 3, -3, 3}), one, 0), vec({1, 1, -1, 1})),  // it keeps the mean
        KNOWN(rms_norm(zero, one), zero),
        KNOWN(residual(row, row, 0, kRng), vec({2, 4})),
        KNOWN(residual_norm(vec({0, 1}), row, 0, kRng, vec({2, 4}), vec({1, 1}), 3), vec({0, 3})),
    };
}

Tensor moved_from(Tensor x) {
    const Tensor to = std::move(x);
    return x;  // NOLINT: what is left
}
const Calls kNormWrongCalls = {
    CALL(layer_norm(kNone, t({3}), t({3}))),
    CALL(layer_norm(t({2, 3}), kNone, t({3}))),
    CALL(layer_norm(t({2, 3}), t({2}), t({2}))),
    CALL(layer_norm(t({2, 3}), t({3}), t({2}))),
    CALL(layer_norm(t({}), t({1}), t({1}))),
    CALL(layer_norm(t({2, 3}), t({3}), t({3}), -1)),
    CALL(layer_norm(t({2, 3}), t({3}), t({3}), kNan)),
    CALL(rms_norm(kNone, t({3}))),
    CALL(rms_norm(t({2, 3}), kNone)),
    CALL(rms_norm(t({2, 3}), t({2}))),
    CALL(rms_norm(t({2, 3}), t({3}), -1)),
    CALL(residual(kNone, t({2}), 0, kRng)),
    CALL(residual(t({2}), kNone, 0, kRng)),
    CALL(residual(t({2}), t({1}), 0, kRng)),
    CALL(residual(t({2}), t({2}), 1, kRng)),
    CALL(residual(t({2}), t({2}), kNan, kRng)),
    CALL(residual_norm(kNone, t({2, 3}), 0, kRng, t({3}), t({3}))),
    CALL(residual_norm(t({2, 3}), t({3}), 0, kRng, t({3}), t({3}))),
    CALL(residual_norm(t({2, 3}), t({2, 3}), 2, kRng, t({3}), t({3}))),
    CALL(residual_norm(t({2, 3}), t({2, 3}), 0, kRng, t({2}), t({3}))),
    CALL(residual_norm(t({2, 3}), t({2, 3}), 0, kRng, t({3}), t({3}), kNan)),
    CALL(residual_norm(t({2, 3}), moved_from(t({2, 3})), 0, kRng, t({3}), t({3}))),
};

}  // namespace

const OpFamily kLosses = {kLossRows, loss_values, kLossWrongCalls};
const OpFamily kNorms = {kNormRows, norm_values, kNormWrongCalls};

}  // namespace plaingrad::tests
