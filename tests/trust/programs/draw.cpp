#include "tests/trust/programs/draw.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/check.h"

namespace plaingrad::trust {

using autograd::join;

Draw::Draw(uint64_t seed) : Dice(autograd::Rng(seed).fork("program")), program_{.seed = seed} {
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
        {"operator[]", "there is no row"},
        {"reshape", "cannot be divided into"},
        {"split", "there are no parts"},
        {"cross_entropy linear_cross_entropy", "no target is counted"},
        {"mean mse_loss bce_with_logits", "the mean of no numbers is not defined"},
        {"argmax max", "is empty"},
        {"gather embedding cross_entropy linear_cross_entropy", "outside the vocabulary of 0"}};
    return std::any_of(std::begin(kRefusals), std::end(kRefusals), [&](const Refusal& refusal) {
        return (std::string(" ") + refusal.ops + " ").find(" " + op + " ") != std::string::npos &&
               error.find(refusal.words) != error.npos;
    });
}

int Draw::op(Node node, double size) {
    node.no_grad = no_grad_left > 0;
    no_grad_left -= no_grad_left > 0;
    Inputs x;
    const bool as_inputs = size == 0;
    for (const int i : node.inputs) {
        x.push_back(zeros_[static_cast<std::size_t>(i)]);
        size = as_inputs ? std::max(size, size_of(i)) : size;
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
    return op({.op = "mul",
               .arguments = join(scale),
               .inputs = {result},
               .call = [scale](const Inputs& in, Branches&) { return in[0] * scale; },
               .rounding = {.exact = true}},
              size);
}

int Draw::view(int x, const Shape& shape) {
    return op({.op = "reshape",
               .arguments = join(shape),
               .inputs = {x},
               .call =
                   [shape](const Inputs& in, Branches&) {
                       return reshape(in[0], std::vector<int64_t>(shape.begin(), shape.end()));
                   },
               .rounding = {.exact = true}});
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

// ---- a call from the table of ops, whose inputs are results of other nodes

namespace {

using tests::Domain;
using tests::Numbers;
using tests::OpRow;

Tensor within(Domain domain, const Tensor& x) {
    switch (domain) {
        case Domain::nonzero:
            return x * x + Real(0.5);
        case Domain::positive:
            return Real(0.25) * (x * x) + Real(0.5);
        case Domain::bounded:
            return tanh(x);
        case Domain::fraction:
            return sigmoid(x);
        default:
            return x;
    }
}

class NodeCall : public tests::OpCall {
public:
    NodeCall(Draw& d, const OpRow& row) : OpCall(d.fork()), d_(d), row_(row) { row.draw(*this); }

    int64_t size(int64_t at_most) override { return d_.size(std::min(at_most, d_.most())); }
    int64_t length(int64_t width, int64_t scores) override {
        const auto pairs = std::sqrt(16 * static_cast<double>(d_.most()) /
                                     static_cast<double>(std::max<int64_t>(1, scores)));
        return d_.size(std::min({d_.most() / width, d_.room(width) / 8, static_cast<int64_t>(pairs)}));
    }
    int64_t columns(int64_t rows, int64_t k) override {
        return d_.size(std::min(d_.most() / std::max<int64_t>(1, std::max(rows, k)), d_.room(rows * k)));
    }
    Shape any(const std::string&, int least_rank, int most_rank, Numbers numbers) override {
        return place(d_.any(least_rank, most_rank), numbers.domain);
    }
    void input(const std::string&, const Shape& s, Numbers numbers) override {
        const bool same = !nodes_.empty() && d_.shape_of(nodes_.back()) == s && one_in(4);
        place(same ? nodes_.back() : d_.like(s), numbers.domain);
    }
    double largest(std::size_t i) const override {
        const double size = d_.size_of(nodes_[i]);
        switch (domains_[i]) {
            case Domain::nonzero:
            case Domain::positive:
                return size * size + 0.5;
            case Domain::bounded:
            case Domain::fraction:
                return 1;
            default:
                return size;
        }
    }
    bool wants_bf16() override { return d_.bf16() && chance(0.6); }

    // is_mistake: another tensor takes the place of an input, which most probably does not fit.
    void add(bool is_mistake) {
        if (is_mistake)
            nodes_[index(nodes_.size())] = d_.any();
        const bool as_it_is =
            std::all_of(domains_.begin(), domains_.end(), [](Domain d) { return d == Domain::any; });
        tests::Rounding rounding = *this;
        rounding.exact &= as_it_is;
        if (terms)
            rounding.terms = [of = terms, domains = domains_](const Inputs& in) {
                return of(mapped(in, domains));
            };
        d_.may_fail = is_mistake;
        d_.op({.op = row_.op,
               .arguments = words,
               .inputs = nodes_,
               .call = call_of(static_cast<std::size_t>(below(3)), is_mistake),
               .rounding = rounding},
              is_mistake ? 100 : most);
        d_.may_fail = false;
    }

private:
    const Shape& place(int node, Domain domain) {
        nodes_.push_back(node);
        domains_.push_back(domain);
        return d_.shape_of(node);
    }
    // has_graph: otherwise an op may have no backward.
    static Inputs mapped(const Inputs& in, const std::vector<Domain>& domains, bool has_graph = true) {
        Inputs x;
        for (std::size_t i = 0; i < in.size(); ++i)
            x.push_back(within(domains[i], has_graph ? in[i] : in[i].detach()));
        return x;
    }
    // One of the outputs.
    Call call_of(std::size_t which, bool is_mistake) const {
        return [=, call = call, kinks = kinks, domains = domains_, bf16 = bf16, has_graph = row_.has_graph](
                   const Inputs& in, Branches& branches) {
            const Inputs x = mapped(in, domains, has_graph);
            const std::vector<Tensor> outputs = call(x);
            if (kinks && branches.wanted && !is_mistake) {
                const autograd::NoGrad no_grad;
                const autograd::UsePrecision use(bf16 ? autograd::Precision::bf16
                                                      : autograd::Precision::float32);
                branches.sign(kinks(x));
            }
            return outputs[which % outputs.size()];
        };
    }

    Draw& d_;
    const OpRow& row_;
    std::vector<int> nodes_;
    std::vector<Domain> domains_;
};

const OpRow& any_row(Draw& d) {
    // Of elementwise ops there are many, which shall not be most.
    static constexpr double kShares[] = {0.24, 0.24, 0.16, 0.18, 0.08, 0.10};
    static const std::vector<OpRow>& rows = tests::op_rows();
    double at = d.uniform(0, 1);
    int subject = 0;
    while (subject < 5 && (at -= kShares[subject]) >= 0)
        ++subject;
    for (;;) {
        const OpRow& row = rows[d.index(rows.size())];
        if (row.subject == subject && (d.bf16() || !row.op.ends_with("to_bf16")))
            return row;
    }
}

// What a Tensor does by itself.
void draw_handle(Draw& d) {
    const int x = d.any();
    const int64_t how = d.shape_of(x).rank() > 0 ? d.below(3) : 1 + d.below(2);
    const int64_t row = d.below(how == 0 ? d.shape_of(x)[0] + 1 : 1);  // the last one is beyond the end
    const char* const kNames[] = {"operator[]", "clone", "detach"};
    d.op({.op = kNames[how],
          .arguments = join(row),
          .inputs = {x},
          .call =
              [=](const Inputs& in, Branches&) {
                  return how == 0 ? in[0][row] : how == 1 ? in[0].clone() : in[0].detach();
              },
          .rounding = {.exact = true}});
}

}  // namespace

Program draw(uint64_t seed) {
    Draw d(seed);
    while (!d.is_full()) {
        const int64_t at = d.below(100);
        if (at < 92)
            NodeCall(d, any_row(d)).add(false);
        else if (at < 94)
            NodeCall(d, any_row(d)).add(true);
        else if (at < 96)
            draw_handle(d);
        else if (at < 98)
            d.release(d.any());
        else if (at < 99)
            d.backward();
        else
            d.no_grad_left = 1 + d.below(3);
    }
    return std::move(d).finished();
}

}  // namespace plaingrad::trust
