// The graph: order, lifetime, accumulation, and errors for wrong use.
#include <limits>
#include <stdexcept>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr int kLong = 1'000'000;

Tensor number(Real value) { return leaf(Tensor(value)); }

// y = x, and its backward adds `name` to the list.
Tensor traced(const Tensor& x, std::string& list, char name) {
    return with_backward("named", x.clone(), {&x}, [&list, name, dx = x.sink()](const Tensor& dy) {
        list += name;
        const kernels::Out out = dx.open();
        for (int64_t i = 0; i < dy.numel(); ++i)
            out.data[i] = out.accumulate ? out.data[i] + dy.data()[i] : dy.data()[i];
    });
}

}  // namespace

TEST_CASE("a chain of a million operations: forward, backward, destroyed", "[graph][long]") {
    Tensor x = number(1);
    {
        Tensor y = x;
        for (int i = 0; i < kLong; ++i)
            y = add(y, x);
        CHECK(y.item() == kLong + 1);  // below 2^24: exact
        y.backward();
    }
    CHECK(x.grad().item() == kLong + 1);
}

TEST_CASE("a chain of a million operations: destroyed without backward", "[graph][long]") {
    const int64_t before = storage_statistics().bytes_in_use;
    {
        const Tensor x = number(1);
        Tensor y = x;
        for (int i = 0; i < kLong; ++i)
            y = mul(y, x);  // keeps both
        CHECK(y.item() == 1);
        CHECK(storage_statistics().bytes_in_use > before + kLong * 64LL);
    }
    CHECK(storage_statistics().bytes_in_use == before);
    storage_trim();
    CHECK(storage_statistics().bytes_recycled == 0);
}

TEST_CASE("a chain of a million operations: destroyed by an exception", "[graph][long]") {
    const int64_t before = storage_statistics().bytes_in_use;
    CHECK_THROWS_AS(
        [] {
            Tensor y = leaf(Tensor::zeros({2}));
            for (int i = 0; i < kLong; ++i)
                y = neg(y);
            add(y, Tensor::zeros({3}));
        }(),
        Error);
    CHECK(storage_statistics().bytes_in_use == before);
}

TEST_CASE("graph: an exception from an op's backward leaves the graph destructible", "[graph]") {
    const int64_t before = storage_statistics().bytes_in_use;
    {
        const Tensor x = number(2);
        const Tensor bad =
            with_backward("throwing", x.clone(), {&x}, [](const Tensor&) { throw std::runtime_error("op"); });
        const Tensor y = mul(exp(bad), x);
        CHECK_THROWS_AS(y.backward(), std::runtime_error);
        CHECK(contains(error_of([&] { y.backward(); }), "used up"));
        const Tensor z = mul(x, x);  // and the leaf can still be used
        Tensor handle = x;
        handle.zero_grad();
        z.backward();
        CHECK(x.grad().item() == 4);
        CHECK(!NoGrad::active());
    }
    CHECK(storage_statistics().bytes_in_use == before);
}

TEST_CASE("graph: backward runs consumers before producers, latest first, each once", "[graph]") {
    std::string order;
    const Tensor x = number(1);
    const Tensor a = traced(x, order, 'a');
    const Tensor b = traced(a, order, 'b');
    const Tensor c = traced(a, order, 'c');
    const Tensor d = add(b, c);
    const Tensor unused = traced(a, order, 'u');
    const Tensor e = traced(add(d, a), order, 'e');
    e.backward();
    CHECK(order == "ecba");
    CHECK(x.grad().item() == 3);
}

TEST_CASE("graph: a diamond and many consumers", "[graph]") {
    const Tensor x = number(3);
    const Tensor square = mul(x, x);
    Tensor sum = add(square, x);
    for (int i = 0; i < 10; ++i)
        sum = add(sum, mul(square, x));
    sum.backward();  // x² + x + 10 x³
    CHECK(x.grad().item() == 2 * 3 + 1 + 30 * 9);

    const Tensor y = number(1);
    Tensor doubled = y;
    for (int i = 0; i < 20; ++i)
        doubled = add(doubled, doubled);  // a million paths, twenty nodes
    doubled.backward();
    CHECK(y.grad().item() == 1048576);
}

TEST_CASE("graph: gradients accumulate until zero_grad, and one that is held stays", "[graph]") {
    Tensor x = number(3);
    CHECK(!x.has_grad());
    mul(x, x).backward();
    CHECK(x.grad().item() == 6);
    mul(x, x).backward();
    CHECK(x.grad().item() == 12);
    const Tensor held = x.grad();
    x.zero_grad();
    CHECK(!x.has_grad());
    mul(x, Real(5)).backward();
    CHECK(x.grad().item() == 5);
    CHECK(held.item() == 12);
    CHECK(!held.needs_grad());
}

TEST_CASE("graph: a leaf that is frozen after forward gets no gradient", "[graph]") {
    Tensor w = number(2);
    const Tensor other = number(5);
    const Tensor y = mul(w, w) + other;
    w.require_grad(false);
    y.backward();
    w.require_grad();
    CHECK_FALSE(w.has_grad());
    CHECK(other.grad().item() == 1);
    mul(w, other).backward();
    CHECK(w.grad().item() == 5);
    w.require_grad(false);  // drops it
    w.require_grad();
    CHECK_FALSE(w.has_grad());
}

TEST_CASE("graph: what is used up cannot be used again, and adds nothing", "[graph][errors]") {
    const Tensor x = number(3), square = mul(x, x);
    square.backward();
    for (const Tensor& again : {square, exp(square), neg(square)})
        CHECK(contains(error_of([&] { again.backward(); }), "used up by an earlier backward"));
    CHECK(x.grad().item() == 6);
}

TEST_CASE("graph: a value changed between forward and backward is an error", "[graph][errors]") {
    Tensor a = leaf(random({3}, 1)), b = leaf(random({3}, 2)), gain = leaf(random({3}, 3));
    const auto error_after_change = [](Tensor& changed, const Tensor& out) {
        changed.mutable_data()[0] = 1;
        return error_of([&] { sum(out).backward(); });
    };
    const Tensor weight = leaf(random({3, 3}, 4));
    Tensor same = weight;  // another handle
    for (const std::string& error :
         {error_after_change(b, mul(a, b)), error_after_change(a, div(b, a)), error_after_change(a, log(a)),
          error_after_change(a, reshape(exp(mul(a, b)), {1, 3})), error_after_change(same, linear(a, weight)),
          error_after_change(gain, layer_norm(a, gain, b)),
          error_after_change(
              a, attention(reshape(a, {1, 1, 3}), reshape(b, {1, 1, 3}), reshape(b, {1, 1, 3})))}) {
        INFO(error);
        CHECK(contains(error, "was changed after forward had used it"));
        CHECK(contains(error, "3)"));
    }
    // What backward does not need may change: the sum's inputs, a bias.
    const Tensor sum_of_both = add(a, b);
    CHECK(error_after_change(a, sum_of_both).empty());
    const Tensor y = linear(a, weight, b);
    CHECK(error_after_change(b, y).empty());
    Tensor out = sigmoid(a);
    CHECK(contains(error_after_change(out, mul(out, Real(2))), "was changed"));
}

TEST_CASE("graph: a value that no wanted gradient needs may change", "[graph]") {
    const Tensor a = number(6), quotient = div(a, Tensor(2));
    Tensor(quotient).mutable_data()[0] = 9;  // the divisor's gradient would need it
    quotient.backward();
    CHECK(a.grad().item() == Real(0.5));

    // Of two layers only the second one learns.
    Tensor x = Tensor::from({1, 2}, {1, 2});
    const Tensor w2 = Tensor::from({2, 1}, {1, 1}).require_grad();
    const Tensor y = feed_forward(x, Tensor::from({2, 2}, {1, 0, 0, 1}), {}, w2, {}, Activation::gelu);
    const Tensor hidden = activation(x, Activation::gelu).clone();
    x.mutable_data()[0] = 5;
    sum(y).backward();
    CHECK(w2.grad().to_vector() == hidden.to_vector());
}

TEST_CASE("graph: NoGrad leaves no nodes on its thread, also nested", "[graph]") {
    const Tensor x = number(2);
    CHECK(!NoGrad::active());
    {
        const NoGrad outer;
        {
            const NoGrad inner;
            CHECK(!mul(x, x).needs_grad());
        }
        CHECK(NoGrad::active());
        CHECK(!mul(x, x).needs_grad());
        CHECK(x.needs_grad());
    }
    CHECK(!NoGrad::active());
    CHECK(mul(x, x).needs_grad());
}

TEST_CASE("graph: detach shares memory, clone does not; neither passes gradients", "[graph]") {
    const Tensor x = number(3);
    Tensor detached = x.detach(), copy = x.clone();
    CHECK(!detached.needs_grad());
    CHECK(!copy.needs_grad());
    CHECK(detached.same_memory(x));
    CHECK(!copy.same_memory(x));
    mul(x, detached).backward();  // as if it were a constant
    CHECK(x.grad().item() == 3);
    detached.mutable_data()[0] = 5;
    CHECK(x.item() == 5);
    CHECK(copy.item() == 3);
}

TEST_CASE("graph: a reshaped leaf and the leaf share gradient and memory", "[graph]") {
    const Tensor x = leaf(random({2, 3}, 1));
    const Tensor flat = reshape(x, {6});
    CHECK(flat.same_memory(x));
    sum(mul(flat, flat)).backward();
    CHECK(x.grad().shape() == Shape{2, 3});
    CHECK(flat.grad().shape() == Shape{6});
    CHECK(worst_error(x.grad().to_vector(), mul(x.detach(), Real(2)).to_vector()) <= 1e-6);
    CHECK(same_bits(x.grad().to_vector(), flat.grad().to_vector()));
}

TEST_CASE("graph: backward from a given gradient, and from a leaf", "[graph]") {
    const Tensor x = leaf(random({2, 3}, 1)), start = random({2, 3}, 2);
    neg(x).backward(start);
    CHECK(same_bits(x.grad(), neg(start)));
    Tensor y = leaf(random({2, 3}, 3));
    y.backward(start);
    CHECK(same_bits(y.grad(), start));
    CHECK(!y.grad().same_memory(start));
    y.backward(start);  // is added, as any other
    CHECK(same_bits(y.grad(), start * Real(2)));
}

TEST_CASE("graph: a start without numbers is refused, and changes nothing", "[graph][errors]") {
    { const Tensor used = Tensor::full({3}, std::numeric_limits<Real>::quiet_NaN()); }  // the next memory's
    const Tensor w = leaf(random({3}, 1)), loss = sum(mul(w, w)), square = mul(w, w);
    Tensor start = Tensor::ones({3});
    const Tensor kept = std::move(start);
    CHECK(contains(error_of([&] { loss.backward(Tensor()); }), "[Tensor]"));
    CHECK(contains(error_of([&] { square.backward(start); }), "[Tensor]"));  // it still has its shape
    CHECK(contains(error_of([&] { w.backward(start); }), "[Tensor]"));
    CHECK_FALSE(w.has_grad());
    loss.backward();
    CHECK(same_bits(w.grad(), w * Real(2)));
    square.backward(kept);
    CHECK(same_bits(w.grad(), w * Real(4)));
}

TEST_CASE("graph: after a backward that threw, the nodes that it reached cannot be used again", "[graph]") {
    Tensor w = Tensor::from({1}, {3});
    w.require_grad();
    Tensor m = Tensor::from({1}, {2});
    const Tensor s = mul(w, w);
    const Tensor bad = mul(s, m);
    const Tensor ten(10), late = mul(s, ten);
    const Tensor both = add(late, bad);
    const Tensor other = mul(s, 1);
    mul(w, 7).backward();
    m.mutable_data()[0] = 5;
    const int64_t in_use = storage_statistics().bytes_in_use;
    CHECK_THROWS_AS(both.backward(), autograd::Error);
    CHECK(storage_statistics().bytes_in_use == in_use);  // nor is its memory kept
    CHECK((w.has_grad() && w.grad().item() == 7));       // of the backward before, as a leaf is never used up
    w.zero_grad();
    // It must not continue with the partial gradient that had reached s.
    CHECK_THROWS_AS(other.backward(), autograd::Error);
    CHECK_FALSE(w.has_grad());
    mul(w, w).backward();
    CHECK(w.grad().item() == 6);
}
