// Rows of the table of ops: softmax, losses, look-up, dropout, norms.
#include <cmath>
#include <optional>

#include "tests/ops.h"

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
        return linear_cross_entropy(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), t.tokens, t.options);
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

Tensor or_none(const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }

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

}  // namespace

std::vector<OpRow> loss_rows() {
    return {
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
}

std::vector<OpRow> norm_rows() {
    return {
        {"rms_norm", "rms_norm(c, x)", draw_rms_norm},
        {"layer_norm", "layer_norm(c, x)", draw_layer_norm},
        {"residual", "x + dropped(c, y)", draw_residual},
        {"residual_norm", "layer_norm(c, x + dropped(c, y))", draw_residual_norm},
    };
}

}  // namespace plaingrad::tests
