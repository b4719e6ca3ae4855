// Softmax, losses, look-up and dropout.
#include "tests/trust/peers/ops.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

template <bool kLog>
void draw_softmax(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4);
    const int dim = any_dim(c, draw, s);
    const double spread = draw.one_of<double>({1, 5, 60});
    const Tensor x = c.leaf("x", any_numbers(draw, s, -spread, spread));
    c.returns([=] { return kLog ? log_softmax(x, dim) : softmax(x, dim); });
}

// Targets of which the first counts: a loss of nothing is an error. Others are ignored by an id, or padding.
struct Targets {
    Targets(OpCase& c, Dice& draw, int64_t batch, int64_t length, int64_t vocabulary)
        : tokens(any_ids(draw, batch, length, vocabulary, draw.one_in(2))) {
        const int32_t first = tokens.ids()[0];
        if (tokens.pad() == first || draw.one_in(2)) {
            const int64_t id = draw.below(vocabulary);
            options.ignore = static_cast<int32_t>(id == first ? -1 : id);
        }
        c.option("ignore", static_cast<int64_t>(options.ignore.value_or(tokens.pad())));
        options.label_smoothing = c.option("smoothing", static_cast<Real>(draw.below(3)) * Real(0.2));
        c.ids("targets", tokens);
    }
    Tokens tokens;
    CrossEntropyOptions options = {};
};

void draw_cross_entropy(OpCase& c, Dice& draw) {
    const int64_t B = 1 + draw.below(5), T = any_size(draw), V = any_size(draw);
    const Targets t(c, draw, B, T, V);
    const Tensor x = c.leaf("x", any_numbers(draw, draw.one_in(2) ? Shape{B, T, V} : Shape{B * T, V}, -5, 5));
    c.returns([=] { return cross_entropy(x, t.tokens, t.options); });
}

// Sometimes of more rows than it takes at a time.
void draw_linear_cross_entropy(OpCase& c, Dice& draw) {
    const int64_t B = 1 + draw.below(4), T = draw.one_in(6) ? 300 : any_size(draw), V = any_size(draw),
                  N = any_size(draw);
    const Targets t(c, draw, B, T, V);
    const Tensor x = c.leaf("x", any_numbers(draw, {B, T, N})),
                 w = c.leaf("weight", any_numbers(draw, {V, N}));
    const Tensor bias = draw.one_in(2) ? c.leaf("bias", any_numbers(draw, {V})) : Tensor();
    any_precision(c, draw);
    c.returns([=] { return linear_cross_entropy(x, w, bias, t.tokens, t.options); });
}

void draw_mse(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 4, false);
    const Tensor x = c.leaf("x", any_numbers(draw, s)), target = c.leaf("target", any_numbers(draw, s));
    c.returns([=] { return mse_loss(x, target); });
}

void draw_bce(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 4, false);
    const Tensor x = c.leaf("x", any_numbers(draw, s, -20, 20));
    const Tensor target = c.leaf("target", any_numbers(draw, s, 0, 1));
    c.returns([=] { return bce_with_logits(x, target); });
}

void draw_embedding(OpCase& c, Dice& draw) {
    const int64_t V = any_size(draw);
    const Tokens ids = c.ids("ids", any_ids(draw, 1 + draw.below(4), any_size(draw), V, draw.one_in(2)));
    const Tensor table = c.leaf("table", any_numbers(draw, {V, any_size(draw)}));
    c.returns([=] { return embedding(table, ids); });
}

void draw_gather(OpCase& c, Dice& draw) {
    const int64_t B = 1 + draw.below(4), T = any_size(draw), V = any_size(draw);
    const Tokens ids = c.ids("ids", any_ids(draw, B, T, V, draw.one_in(2)));
    const Tensor x = c.leaf("x", any_numbers(draw, {B, T, V}));
    c.returns([=] { return gather(x, ids); });
}

void draw_dropout(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 4);
    const Rng rng = draw.fork();
    const Real p = any_rate(c, draw, s, rng);
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return dropout(x, p, rng); });
}

}  // namespace

void add_rows(OpKinds& kinds) {
    kinds["softmax"] = draw_softmax<false>;
    kinds["log_softmax"] = draw_softmax<true>;
    kinds["cross_entropy"] = draw_cross_entropy;
    kinds["linear_cross_entropy"] = draw_linear_cross_entropy;
    kinds["mse_loss"] = draw_mse;
    kinds["bce_with_logits"] = draw_bce;
    kinds["embedding"] = draw_embedding;
    kinds["gather"] = draw_gather;
    kinds["dropout"] = draw_dropout;
}

}  // namespace plaingrad::trust
