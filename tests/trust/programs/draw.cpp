#include "tests/trust/programs/draw.h"

#include <algorithm>

#include "autograd/base/check.h"

namespace plaingrad::trust {

using autograd::join;

Draw::Draw(uint64_t seed) : Dice(Rng(seed).fork("program")), program_{.seed = seed} {
    program_.bf16 = chance(0.12);
    empty_dims_ = chance(0.15);
    scale_ = chance(0.7) ? 0 : chance(0.8) ? 1 : 2;
    most_ = std::initializer_list<int64_t>{1 << 9, 1 << 12, 1 << 15}.begin()[scale_];
    most_work_ = std::initializer_list<int64_t>{1 << 14, 1 << 18, 1 << 22}.begin()[scale_];
    nodes_ = scale_ == 2 ? 4 + below(9) : 3 + below(kMaxNodes - 2);
    for (int64_t i = 1 + below(3); i > 0; --i)
        leaf(shape(1, 3));
}

int64_t Draw::size(int64_t most) {
    if (empty_dims_ && chance(0.04))
        return 0;
    // A vector has 16 lanes, a tile 6 rows and 16 or 64 columns, attention takes 16 and 64 queries at a time.
    static constexpr int64_t kSmall[] = {1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18, 19};
    static constexpr int64_t kMedium[] = {31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 95, 96, 97, 127, 128, 129};
    // Products have blocks of 512 terms and bands of 192 rows, attention 512 keys, sums 64 rows and 4096.
    static constexpr int64_t kLarge[] = {191,  192,  193,  255,  256,  257,  383,  511,
                                         512,  513,  767,  768,  769,  1023, 1024, 1025,
                                         2047, 2049, 4095, 4096, 4097, 8191, 8192, 8193};
    const auto from = [&](const auto& sizes) { return sizes[below(std::ssize(sizes))]; };
    for (int tries = 0; tries < 8; ++tries) {
        const bool large = scale_ == 2 && chance(0.45), medium = scale_ > 0 && chance(0.4);
        const int64_t n = large ? from(kLarge) : medium ? from(kMedium) : from(kSmall);
        if (n <= most)
            return n;
    }
    return 1 + below(std::min<int64_t>(std::max<int64_t>(most, 1), 4));
}

Shape Draw::shape(int min_rank, int max_rank) {
    const int rank = min_rank + static_cast<int>(below(max_rank - min_rank + 1));
    Shape shape = {};
    for (int i = 0; i < rank; ++i) {
        std::vector<int64_t> sizes(shape.begin(), shape.end());
        sizes.insert(sizes.begin(), size(most_ / std::max<int64_t>(1, shape.numel())));
        shape = Shape(sizes.data(), i + 1);
    }
    return shape;
}

std::vector<int> Draw::alive(int min_rank, int max_rank) const {
    std::vector<int> found;
    for (std::size_t i = 0; i < zeros_.size(); ++i)
        if (zeros_[i].defined() && zeros_[i].rank() >= min_rank && zeros_[i].rank() <= max_rank)
            found.push_back(static_cast<int>(i));
    return found;
}

int Draw::any(int min_rank, int max_rank) {
    const std::vector<int> there = alive(min_rank, max_rank);
    if (there.empty() || chance(0.04))
        return leaf(shape(std::max(min_rank, 1), std::max(1, std::min(max_rank, 3))));
    // The newest half of the time, so that programs get deep.
    return chance(0.5) ? there.back() : there[static_cast<std::size_t>(below(std::ssize(there)))];
}

int Draw::like(const Shape& shape) {
    std::vector<int> same, views;
    for (const int x : alive(0, Shape::kMaxRank)) {
        if (shape_of(x) == shape)
            same.push_back(x);
        else if (shape_of(x).numel() == shape.numel())
            views.push_back(x);
    }
    if (!same.empty() && chance(0.6))
        return same[static_cast<std::size_t>(below(std::ssize(same)))];
    if (!views.empty() && chance(0.4))
        return view(views[static_cast<std::size_t>(below(std::ssize(views)))], shape);
    return leaf(shape);
}

int Draw::add(Node node, Tensor zeros, double size) {
    node.shape = zeros.defined() ? zeros.shape() : Shape();
    program_.nodes.push_back(std::move(node));
    zeros_.push_back(std::move(zeros));
    sizes_.push_back(size);
    return static_cast<int>(program_.nodes.size()) - 1;
}

int Draw::leaf(const Shape& shape) {
    Node node = {.kind = Node::Kind::leaf, .wanted = chance(0.8)};
    return add(std::move(node), Tensor::zeros(shape), 2);
}

// Calls are drawn without looking at every size: of these errors, and of no others, it is known that they may
// come.
static bool is_expected(const std::string& op, const std::string& error) {
    struct Refusal {
        const char *ops, *words;
    };
    constexpr Refusal kRefusals[] = {
        {"glu", "it must be g | u"},
        {"operator[]", "there is no row"},
        {"reshape", "cannot be divided into"},
        {"attention cross_attention", "causal attention needs at least as many keys"},
        {"cross_entropy linear_cross_entropy", "no target is counted"},
        {"mean mse_loss bce_with_logits", "the mean of no numbers is not defined"},
        {"argmax", "four dimensions"},
        {"argmax max", "is empty"},
        {"gather embedding cross_entropy linear_cross_entropy", "outside the vocabulary of 0"}};
    return std::any_of(std::begin(kRefusals), std::end(kRefusals), [&](const Refusal& refusal) {
        return (std::string(" ") + refusal.ops + " ").find(" " + op + " ") != std::string::npos &&
               error.find(refusal.words) != error.npos;
    });
}

int Draw::op(const char* name, std::vector<int> inputs, Call call, Traits traits) {
    Node node = {.op = name,
                 .arguments = std::move(traits.arguments),
                 .inputs = std::move(inputs),
                 .call = std::move(call),
                 .terms = std::move(traits.terms),
                 .log_of_1 = traits.log_of_1,
                 .exact = traits.exact,
                 .sums = traits.sums,
                 .bf16 = traits.bf16};
    if (node.bf16)
        node.call = [call = std::move(node.call)](const Inputs& in, Branches& branches) {
            const autograd::UsePrecision bf16(Precision::bf16);
            return call(in, branches);
        };
    node.no_grad = no_grad_left > 0;
    no_grad_left -= no_grad_left > 0;
    Inputs x;
    double size = traits.size;
    for (const int i : node.inputs) {
        x.push_back(zeros_[static_cast<std::size_t>(i)]);
        size = std::max(size, traits.size > 0 ? 0 : size_of(i));
    }
    Tensor zeros;
    try {
        const autograd::NoGrad no_grad;
        Branches branches;
        zeros = Tensor::zeros(node.call(x, branches).shape());
    } catch (const autograd::Error& error) {
        node.kind = Node::Kind::fails;
        node.refused = may_fail || is_expected(node.op, error.what()) ? "" : error.what();
        add(std::move(node), {}, 0);
        return -1;
    }
    const int result = add(std::move(node), zeros, size);
    constexpr double kMost = 16;
    if (size <= kMost)
        return result;
    Real scale = 1;
    for (; size > 4; size /= 2)
        scale /= 2;
    return op("mul", {result}, [scale](const Inputs& in, Branches&) { return in[0] * scale; },
              {.arguments = join(scale), .exact = true, .size = size});
}

int Draw::view(int x, const Shape& shape) {
    return op("reshape", {x},
              [shape](const Inputs& in, Branches&) {
                  return reshape(in[0], std::vector<int64_t>(shape.begin(), shape.end()));
              },
              {.arguments = join(shape), .exact = true});
}

int Draw::other_view(int x) {
    const Shape shape = shape_of(x);
    return view(view(x, {shape.numel()}), shape);
}

Tokens Draw::ids(int64_t batch, int64_t length, int64_t vocabulary) {
    const int32_t pad =
        chance(0.5) ? Tokens::kNoPadding : static_cast<int32_t>(below(std::max<int64_t>(vocabulary, 1)));
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i)
        ids.push_back(static_cast<int32_t>(below(std::max<int64_t>(vocabulary, 1))));
    return Tokens(batch, length, std::move(ids), pad);
}

autograd::Mask Draw::mask(int64_t batch, int64_t queries, int64_t keys) {
    using autograd::Mask;
    std::vector<int32_t> counts;
    std::vector<uint8_t> pairs;
    switch (below(5)) {
        case 0:
            return Mask::none();
        case 1:
            return Mask::causal();
        case 2:
        case 3:
            for (int64_t b = 0; b < batch; ++b)
                counts.push_back(static_cast<int32_t>(chance(0.4) ? keys : below(keys + 1)));
            return chance(0.5) ? Mask::key_counts(counts) : Mask::key_counts(counts).and_causal();
        default:
            for (int64_t i = 0; i < batch * queries * keys; ++i)
                pairs.push_back(chance(0.7));
            return Mask::allowed(batch, queries, keys, pairs);
    }
}

void Draw::release(int x) {
    add({.kind = Node::Kind::release, .inputs = {x}}, {}, 0);
    zeros_[static_cast<std::size_t>(x)] = {};
}

void Draw::backward() { add({.kind = Node::Kind::backward}, {}, 0); }

// Proposals of a few nodes may have gone beyond the number.
Program Draw::finished() && {
    if (std::ssize(program_.nodes) > kMaxNodes)
        program_.nodes.resize(kMaxNodes);
    return std::move(program_);
}

Program draw(uint64_t seed) {
    Draw d(seed);
    while (!d.is_full()) {
        struct Group {
            double share;
            void (*draw)(Draw&);
        };
        static constexpr Group kGroups[] = {
            {0.24, draw_arithmetic}, {0.14, draw_moves},     {0.08, draw_reductions}, {0.14, draw_rows},
            {0.14, draw_products},   {0.12, draw_attention}, {0.08, draw_look_up},    {0.02, draw_mistake}};
        double at = static_cast<double>(d.below(1000)) / 1000;
        for (const Group& group : kGroups)
            if ((at -= group.share) < 0) {
                group.draw(d);
                break;
            }
        if (at >= 0.020)
            d.release(d.any());
        else if (at >= 0.010)
            d.backward();
        else if (at >= 0)
            d.no_grad_left = 1 + d.below(3);
    }
    return std::move(d).finished();
}

}  // namespace plaingrad::trust
