// Ops that move elements, and reductions.
#include "tests/trust/peers/ops.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

std::vector<int> any_dims(OpCase& c, Dice& draw, const Shape& s) {
    std::vector<int64_t> words;
    for (int dim = 0; dim < s.rank(); ++dim)
        if (draw.one_in(2))
            words.push_back(draw.one_in(2) ? dim : dim - s.rank());
    c.option("dims", words);
    return {words.begin(), words.end()};
}

// sum and mean, of all elements or over some dims; there is no mean of nothing.
template <bool kMean>
void draw_sum(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 4, !kMean);
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    if (draw.one_in(4))
        return c.returns([=] { return kMean ? mean(x) : sum(x); });
    const std::vector<int> dims = any_dims(c, draw, s);
    const bool keep = c.option("keep", draw.one_in(2));
    c.returns([=] { return kMean ? mean(x, dims, keep) : sum(x, dims, keep); });
}

void draw_max(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4, false);
    const int dim = any_dim(c, draw, s);
    const bool keep = c.option("keep", draw.one_in(2));
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return max(x, dim, keep); });
}

void draw_argmax(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 3, false);
    const int dim = any_dim(c, draw, s);
    const Tensor x = c.constant("x", any_numbers(draw, s));
    c.returns([=] {
        const Tokens found = argmax(x, dim);
        return Tensor::from({found.batch(), found.length()},
                            std::vector<Real>(found.ids().begin(), found.ids().end()));
    });
}

void draw_reshape(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 4);
    std::vector<int64_t> sizes = sizes_of(s);
    for (std::size_t i = sizes.size(); i > 1; --i)  // its sizes in another order
        std::swap(sizes[i - 1], sizes[static_cast<std::size_t>(draw.below(static_cast<int64_t>(i)))]);
    if (!sizes.empty() && s.numel() > 0 && draw.one_in(2))
        sizes[static_cast<std::size_t>(draw.below(std::ssize(sizes)))] = -1;
    c.option("sizes", sizes);
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return reshape(x, sizes); });
}

void draw_squeeze(OpCase& c, Dice& draw) {
    const Shape s = any_narrowed(draw, any_shape(draw, 4, 4));
    const Tensor x = c.leaf("x", any_numbers(draw, s.rank() > 0 ? s : Shape{1}));
    const int dim = any_dim(c, draw, x.shape());
    c.returns([=] { return squeeze(x, dim); });
}

void draw_unsqueeze(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 3);
    const auto dim = c.option("dim", draw.below(s.rank() + 1));
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return unsqueeze(x, static_cast<int>(dim)); });
}

void draw_permute(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4);
    std::vector<int64_t> order;
    for (int64_t d = 0; d < s.rank(); ++d)
        order.insert(order.begin() + draw.below(d + 1), d);
    c.option("order", order);
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return permute(x, std::vector<int>(order.begin(), order.end())); });
}

void draw_transpose(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4);
    const int dim = any_dim(c, draw, s);
    const auto other = c.option("other", draw.below(s.rank()));
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return transpose(x, dim, static_cast<int>(other)); });
}

void draw_slice(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4);
    const int dim = any_dim(c, draw, s);
    const auto begin = c.option("begin", draw.below(s[dim] + 1));
    const auto end = c.option("end", begin + draw.below(s[dim] - begin + 1));
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.returns([=] { return slice(x, dim, begin, end); });
}

// The first part is there twice: its gradients are added.
void draw_concat(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4);
    const int dim = any_dim(c, draw, s);
    const Tensor a = c.leaf("a", any_numbers(draw, s));
    const Tensor b = c.leaf("b", any_numbers(draw, s.with(dim, any_size_or_0(draw))));
    c.returns([=] { return concat({a, b, a}, dim); });
}

void draw_stack(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 0, 3);
    const auto dim = c.option("dim", draw.below(s.rank() + 1));
    const Tensor a = c.leaf("a", any_numbers(draw, s)), b = c.leaf("b", any_numbers(draw, s));
    c.returns([=] { return stack({a, b}, static_cast<int>(dim)); });
}

void draw_split(OpCase& c, Dice& draw) {
    const Shape s = any_shape(draw, 1, 4, false);
    const int dim = any_dim(c, draw, s);
    const auto size = c.option("size", any_size(draw));
    const Tensor x = c.leaf("x", any_numbers(draw, s));
    c.f = [=] { return split(x, size, dim); };
}

}  // namespace

void add_movers(OpKinds& kinds) {
    kinds["sum"] = draw_sum<false>;
    kinds["mean"] = draw_sum<true>;
    kinds["max"] = draw_max;
    kinds["argmax"] = draw_argmax;
    kinds["reshape"] = draw_reshape;
    kinds["squeeze"] = draw_squeeze;
    kinds["unsqueeze"] = draw_unsqueeze;
    kinds["permute"] = draw_permute;
    kinds["transpose"] = draw_transpose;
    kinds["slice"] = draw_slice;
    kinds["concat"] = draw_concat;
    kinds["stack"] = draw_stack;
    kinds["split"] = draw_split;
}

}  // namespace plaingrad::trust
