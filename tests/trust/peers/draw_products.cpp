// Products of matrices, and the layers that are made of them.
#include "tests/trust/peers/ops.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

Shape with_matrix(const Shape& batch, int64_t rows, int64_t columns) {
    std::vector<int64_t> sizes = sizes_of(batch);
    sizes.insert(sizes.end(), {rows, columns});
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
}

void draw_matmul(OpCase& c, Dice& draw) {
    const int64_t m = any_size_or_0(draw), k = any_size_or_0(draw), n = any_size_or_0(draw);
    const bool small = m * k + k * n + m * n < 3000;
    const Shape batch = draw.one_in(2) || !small ? Shape{} : Shape{1 + draw.below(3), 1 + draw.below(4)};
    const bool transposed = c.option("transposed", draw.one_in(2));
    any_precision(c, draw);
    const Tensor a = c.leaf("a", any_numbers(draw, with_matrix(any_narrowed(draw, batch), m, k)));
    const Shape b_batch = any_narrowed(draw, batch);
    const Tensor b =
        c.leaf("b", any_numbers(draw, transposed ? with_matrix(b_batch, n, k) : with_matrix(b_batch, k, n)));
    c.returns([=] { return matmul(a, b, transposed); });
}

// The inputs of a layer, and its weights: matrices of small numbers, and biases that may be left out.
class Layer {
public:
    Layer(OpCase& c, Dice& draw)
        : in(any_size(draw)), out(any_size(draw)), c_(c), draw_(draw), biased_(!draw.one_in(4)) {
        x = c.leaf("x", any_numbers(draw, any_rows(draw, in)));
    }
    Tensor matrix(const std::string& name, int64_t rows, int64_t columns) {
        return c_.leaf(name, any_numbers(draw_, {rows, columns}, -1, 1));
    }
    Tensor bias(const std::string& name, int64_t n) {
        return biased_ ? c_.leaf(name, any_numbers(draw_, {n})) : Tensor();
    }

    const int64_t in, out;
    Tensor x;

private:
    OpCase& c_;
    Dice& draw_;
    const bool biased_;
};

void draw_linear(OpCase& c, Dice& draw) {
    Layer l(c, draw);
    any_precision(c, draw);
    const Tensor w = l.matrix("weight", l.in, l.out), b = l.bias("bias", l.out);
    c.returns([=, x = l.x] { return linear(x, w, b); });
}

void draw_linear_transposed(OpCase& c, Dice& draw) {
    Layer l(c, draw);
    any_precision(c, draw);
    const Tensor w = l.matrix("weight", l.out, l.in), b = l.bias("bias", l.out);
    c.returns([=, x = l.x] { return linear_transposed(x, w, b); });
}

template <bool kGated>
void draw_feed_forward(OpCase& c, Dice& draw) {
    Layer l(c, draw);
    const Activation f = any_activation(c, draw);
    any_precision(c, draw);
    const int64_t hidden = any_size(draw), width = kGated ? 2 * hidden : hidden;
    const Tensor w1 = l.matrix("w1", l.in, width), b1 = l.bias("b1", width);
    const Tensor w2 = l.matrix("w2", hidden, l.out), b2 = l.bias("b2", l.out);
    c.returns([=, x = l.x] { return feed_forward(x, w1, b1, w2, b2, f, kGated); });
}

void draw_glu(OpCase& c, Dice& draw) {
    const Activation f = any_activation(c, draw);
    const Tensor x = c.leaf("x", any_numbers(draw, any_rows(draw, 2 * any_size(draw))));
    c.returns([=] { return glu(x, f); });
}

}  // namespace

void add_products(OpKinds& kinds) {
    kinds["matmul"] = draw_matmul;
    kinds["linear"] = draw_linear;
    kinds["linear_transposed"] = draw_linear_transposed;
    kinds["feed_forward"] = draw_feed_forward<false>;
    kinds["feed_forward_gated"] = draw_feed_forward<true>;
    kinds["glu"] = draw_glu;
}

}  // namespace plaingrad::trust
