#include "tests/trust/programs/run.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "autograd/base/check.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::trust {
namespace {

using autograd::NoGrad;
using autograd::Plain;
using autograd::Rng;

// From -2 to 2 in steps of 2^-20: floats and doubles have them exactly, and few are equal.
Tensor values_of_leaf(const Program& program, int node, const Shape& shape) {
    const Rng rng = Rng(program.seed).fork("leaf").fork(static_cast<uint64_t>(node));
    Tensor x = Tensor::uninitialized(shape);
    Real* const to = x.mutable_data();
    for (int64_t i = 0; i < x.numel(); ++i)
        to[i] = static_cast<Real>(rng.bits(static_cast<uint64_t>(i)) >> 42) / Real(1 << 20) - Real(2);
    return x;
}

template <class F>
auto without_graph(const F& f) {
    const NoGrad no_grad;
    return f();
}

// x. Backward tells how large the largest element of its gradient is.
Tensor gradient_seen(const Tensor& x, const std::shared_ptr<double>& most) {
    return with_backward("gradient_seen", x.detach(), {&x}, [most, dx = x.sink()](const Tensor& dout) {
        *most = largest(dout);
        dx.pass(dout);
    });
}

// x. Backward adds up to `scale * most` to each element of its gradient.
Tensor gradient_moved(const Tensor& x, const std::shared_ptr<double>& most, double scale, const Rng& rng) {
    return with_backward("gradient_moved", x.detach(), {&x}, [=, dx = x.sink()](const Tensor& dout) {
        for (int64_t i = 0; i < dout.numel(); ++i)
            dout.mutable_data()[i] +=
                static_cast<Real>(scale * *most * (2 * rng.uniform(static_cast<uint64_t>(i)) - 1));
        dx.pass(dout);
    });
}

// 1 + e for each element, with a random e of up to `noise`.
Tensor factors(const Shape& shape, double noise, const Rng& rng) {
    Tensor all = Tensor::uninitialized(shape);
    Real* const to = all.mutable_data();
    for (int64_t i = 0; i < all.numel(); ++i)
        to[i] = static_cast<Real>(1 + noise * (2 * rng.uniform(static_cast<uint64_t>(i)) - 1));
    return all;
}

// x. Backward multiplies each element of its gradient by 1 + e, as rounding a sum of gradients does.
Tensor gradient_rounded(const Tensor& x, double noise, const Rng& rng) {
    return with_backward("gradient_rounded", x.detach(), {&x}, [=, dx = x.sink()](const Tensor& dout) {
        dx.pass(dout * factors(dout.shape(), noise, rng));
    });
}

class Runner {
public:
    Runner(const Program& program, const How& how) : program_(program), how_(how) {
        branches_.wanted = how.branches;
    }

    Run run(std::size_t count) {
        const auto plain = how_.plain ? std::make_unique<Plain>() : nullptr;
        const auto no_grad = how_.held != nullptr ? std::make_unique<NoGrad>() : nullptr;
        try {
            for (std::size_t i = 0; i < count; ++i) {
                x_.emplace_back();
                run_node(static_cast<int>(i), program_.nodes[i]);
            }
            backward(static_cast<int>(count));
        } catch (const autograd::Error& error) {
            run_.failure = error.what();
        }
        for (const auto& [node, leaf] : leaves_)
            if (leaf.has_grad())
                run_.all.push_back({node, true, leaf.grad().to_vector()});
        run_.branches = branches_.hash.value;
        return std::move(run_);
    }

private:
    void run_node(int i, const Node& node) {
        switch (node.kind) {
            case Node::Kind::leaf:
                return add_leaf(i, node);
            case Node::Kind::op:
                x_.back() = result_of(i, node);
                in_graph(i, x_.back().needs_grad());
                if (how_.held == nullptr)
                    run_.all.push_back({i, false, x_.back().to_vector()});
                return;
            case Node::Kind::fails:
                run_.errors.push_back(error_of(node));
                return;
            case Node::Kind::release:
                at(node.inputs[0]) = {};
                return;
            case Node::Kind::backward:
                return backward(i);
        }
    }

    void in_graph(int i, bool is) {
        run_.in_graph.resize(static_cast<std::size_t>(i) + 1);
        run_.in_graph.back() = is;
    }

    Tensor& at(int i) { return x_[static_cast<std::size_t>(i)]; }

    void add_leaf(int i, const Node& node) {
        Tensor x = values_of_leaf(program_, i, node.shape);
        for (int64_t e = 0; how_.step != 0 && node.wanted && e < x.numel(); ++e)
            x.mutable_data()[e] += static_cast<Real>(
                how_.step * direction_at(program_, how_.direction, i, static_cast<uint64_t>(e)));
        if (node.wanted && how_.held == nullptr)
            leaves_.emplace_back(i, x.require_grad());
        at(i) = x;
    }

    Tensor held(int i) const {
        for (const Numbers& numbers : how_.held->all)
            if (numbers.node == i && !numbers.is_gradient)
                return Tensor::from(program_.nodes[static_cast<std::size_t>(i)].shape, numbers.x);
        throw autograd::Error("[programs] nothing is held for a node");
    }

    Tensor result_of(int i, const Node& node) {
        if (how_.held != nullptr && !how_.held->in_graph.at(static_cast<std::size_t>(i)))
            return held(i);
        const tests::Rounding& r = node.rounding;
        const double noise = r.bf16 ? how_.bf16_noise : r.exact ? 0 : how_.noise;
        const auto upstream = std::make_shared<double>(0);
        Inputs x;
        for (std::size_t n = 0; n < node.inputs.size(); ++n)
            x.push_back(r.exact && how_.noise > 0
                            ? gradient_rounded(at(node.inputs[n]), how_.noise, rng_of_noise(i, n))
                            : disturbed(at(node.inputs[n]), noise, i, n));
        if (noise > 0 && r.terms) {
            const double terms = without_graph([&] { return r.terms(x); });
            for (std::size_t n = 0; n < x.size(); ++n)
                x[n] = gradient_moved(x[n], upstream, noise * terms, rng_of_noise(i, 100 + n));
        }
        const auto no_grad = node.no_grad ? std::make_unique<NoGrad>() : nullptr;
        const Tensor out = node.call(x, branches_);
        x.clear();
        const Tensor seen = noise > 0 && r.terms ? gradient_seen(out, upstream) : out;
        const Tensor out_disturbed = disturbed(seen, r.sums ? how_.noise : noise, i, 99);
        if (noise == 0 || !r.log_of_1)
            return out_disturbed;
        return out_disturbed + disturbed(Tensor::ones(out.shape()), noise, i, 98) - Real(1);
    }

    Rng rng_of_noise(int node, std::size_t place) const {
        return Rng(how_.sample).fork("noise").fork(static_cast<uint64_t>(node)).fork(place);
    }

    Tensor disturbed(const Tensor& x, double noise, int node, std::size_t place) const {
        if (noise == 0 || x.numel() == 0)
            return x;
        return x * factors(x.shape(), noise, rng_of_noise(node, place));
    }

    std::string error_of(const Node& node) {
        Inputs x;
        for (const int i : node.inputs)
            x.push_back(at(i));
        try {
            node.call(x, branches_);
        } catch (const autograd::Error& error) {
            return error.what();
        }
        return "";
    }

    // From everything that is left and has a gradient: the sum of its elements, each times a random number.
    void backward(int number) {
        const bool differences = how_.held != nullptr;
        const std::size_t which = run_.roots.size();
        std::vector<int> roots = differences ? how_.held->roots.at(which) : std::vector<int>();
        for (std::size_t i = 0; !differences && i < x_.size(); ++i)
            if (program_.nodes[i].kind == Node::Kind::op && x_[i].defined() && x_[i].needs_grad())
                roots.push_back(static_cast<int>(i));
        Tensor loss;
        for (const int i : roots) {
            const Tensor upstream = upstream_of(number, i);
            const Tensor term = sum(at(i) * upstream);
            run_.loss += static_cast<double>(term.item());
            run_.loss_terms +=
                without_graph([&] { return static_cast<double>(sum(abs(at(i) * upstream)).item()); });
            if (!differences && roots.size() == 1)
                at(i).backward(upstream);
            else
                loss = loss.defined() ? loss + term : term;
        }
        if (!differences && roots.size() > 1)
            loss.backward();
        run_.roots.push_back(std::move(roots));
        for (std::size_t i = 0; i < x_.size(); ++i)
            if (program_.nodes[i].kind == Node::Kind::op && x_[i].defined())
                x_[i] =
                    differences && static_cast<int>(i) < number ? held(static_cast<int>(i)) : x_[i].detach();
    }

    Tensor upstream_of(int number, int node) {
        const Rng rng = Rng(program_.seed).fork("upstream").fork(static_cast<uint64_t>(number));
        const Rng own = rng.fork(static_cast<uint64_t>(node));
        Tensor upstream = Tensor::uninitialized(at(node).shape());
        for (int64_t i = 0; i < upstream.numel(); ++i)
            upstream.mutable_data()[i] =
                static_cast<Real>(own.bits(static_cast<uint64_t>(i)) >> 44) / Real(1 << 19) - Real(1);
        return upstream;
    }

    const Program& program_;
    const How& how_;
    Branches branches_;
    std::vector<Tensor> x_;                       // of each node so far; empty: released, or it has no result
    std::vector<std::pair<int, Tensor>> leaves_;  // of which gradients are wanted
    Run run_;
};

}  // namespace

Run run_program(const Program& program, std::size_t count, const How& how) {
    return Runner(program, how).run(std::min(count, program.nodes.size()));
}

double direction_at(const Program& program, uint64_t direction, int leaf, uint64_t i) {
    const Rng rng = Rng(program.seed).fork("direction").fork(direction).fork(static_cast<uint64_t>(leaf));
    return rng.fork("moved").uniform(0) < 0.3 ? 0 : 2 * rng.uniform(i) - 1;
}

std::string name_of(const Numbers& numbers) {
    return autograd::join(numbers.is_gradient ? "the gradient of x" : "x", numbers.node);
}

static bool same(Real a, Real b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

std::string first_difference(const Run& a, const Run& b) {
    if (a.failure != b.failure)
        return "an error: " + a.failure + b.failure;
    if (a.errors != b.errors)
        return "the text of an error";
    for (std::size_t i = 0; i < a.all.size() && i < b.all.size(); ++i) {
        const Numbers &p = a.all[i], &q = b.all[i];
        if (p.node != q.node || p.is_gradient != q.is_gradient || p.x.size() != q.x.size())
            return name_of(p) + " beside " + name_of(q);
        for (std::size_t e = 0; e < p.x.size(); ++e)
            if (!same(p.x[e], q.x[e]))
                return autograd::join(name_of(p), "[", e, "]: ", p.x[e], " and ", q.x[e]);
    }
    return a.all.size() == b.all.size() ? "" : "how many gradients there are";
}

}  // namespace plaingrad::trust
