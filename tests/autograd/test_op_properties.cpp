// Properties of every operation of the table (tests/ops.h): its bits depend only on its inputs, and it reads
// no uninitialised memory.
#include <algorithm>
#include <cmath>
#include <span>
#include <thread>

#include "autograd/kernels/scratch.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/ops.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr int kCalls = 10;  // of each row

void append(const Tensor& x, std::vector<Real>& to) {
    const std::vector<Real> all = x.to_vector();
    to.insert(to.end(), all.begin(), all.end());
}

// The outputs, and the gradients of these leaves, one after the other.
std::vector<Real> run(const AloneCall& c, const Inputs& leaves) {
    const std::vector<Tensor> outputs = c.with(leaves);
    std::vector<Real> all;
    for (const Tensor& y : outputs)
        append(y, all);
    backward(outputs);
    for (const Tensor& x : leaves)
        if (x.needs_grad())
            append(x.grad(), all);
    return all;
}

std::vector<Real> run(const AloneCall& c) { return run(c, with_gradients(c)); }

// While an object lives, memory that is read before it is written is NaN.
class Poison {
public:
    Poison() {
        storage_poison(true);
        for (int slot = 0; slot < static_cast<int>(kernels::Scratch::count); ++slot)
            std::fill_n(kernels::scratch(static_cast<kernels::Scratch>(slot), 4096), 4096, kNan);
    }
    ~Poison() { storage_poison(false); }
    Poison(const Poison&) = delete;
    Poison& operator=(const Poison&) = delete;
};

}  // namespace

TEST_CASE("ops: the same bits on every instruction set, with any number of threads, in memory of NaN",
          "[ops][bits][threads][memory]") {
    REQUIRE([] {
        const Poison poison;
        const Real first = Tensor::uninitialized({5}).data()[4];
        return first != first;
    }());
    for_each_call(kCalls, [](const AloneCall& c) {
        const Threads one(1);  // the scratch memory of this thread is what is used
        const std::vector<Real> expected = run(c);
        for_each_isa([&](const char* isa) {
            INFO(c.text() << ", " << isa);
            const Poison poison;
            CHECK(same_bits(run(c), expected));
        });
        INFO(c.text() << ", three threads");
        const Threads three(3);
        CHECK(same_bits(run(c), expected));
    });
}

TEST_CASE("ops: infinities, NaN and numbers of any size give the same everywhere", "[ops][bits]") {
    // As bits, but one NaN is like another.
    const auto run_with = [](const AloneCall& c, const Inputs& numbers) {
        Inputs leaves;
        for (const Tensor& x : numbers)
            leaves.push_back(x.clone().require_grad(c.row.has_graph));
        std::vector<Real> all = run(c, leaves);
        for (Real& each : all)
            each = each != each ? Real(-12345) : each;
        return all;
    };
    constexpr Real kSpecial[] = {kNan, INFINITY, -INFINITY, 0, Real(-0.0)};
    for_each_call(kCalls, [&](const AloneCall& c) {
        Dice draw(Rng(3));
        Inputs numbers;
        for (const Tensor& x : c.leaves) {
            numbers.push_back(x.clone());
            for (Real& each : std::span(numbers.back().mutable_data(), static_cast<std::size_t>(x.numel())))
                each = draw.one_in(6)   ? kSpecial[draw.index(std::size(kSpecial))]
                       : draw.one_in(2) ? std::ldexp(each, static_cast<int>(draw.below(270)) - 140)
                                        : each;
        }
        INFO(c.text());
        const std::vector<Real> expected = run_with(c, numbers);
        for_each_isa([&](const char* isa) {
            INFO(isa);
            CHECK(same_bits(run_with(c, numbers), expected));
        });
        const Threads three(3);
        CHECK(same_bits(run_with(c, numbers), expected));
    });
}

TEST_CASE("ops: backward multiplies in the precision of forward, whatever is active then", "[ops][bf16]") {
    for_each_call(kCalls, [](const AloneCall& c) {
        INFO(c.text());
        const auto gradients_within = [&](Precision p) {
            const Inputs leaves = with_gradients(c);
            const std::vector<Tensor> outputs = c.with(leaves);  // in a precision of its own
            const UsePrecision precision(p);
            backward(outputs);
            std::vector<Real> all;
            for (const Tensor& x : leaves)
                if (x.needs_grad())
                    append(x.grad(), all);
            return all;
        };
        CHECK(same_bits(gradients_within(Precision::float32), gradients_within(Precision::bf16)));
    });
}

TEST_CASE("ops: the precision is that of the caller's thread, also where several compute", "[ops][bf16]") {
    const Tensor a = random({64, 33, 65}, 1), b = random({64, 65, 31}, 2), wide = random({300, 400}, 3),
                 tall = random({400, 500}, 4);
    const auto products = [&] {
        std::vector<Real> all = matmul(a, b).to_vector();  // small ones, divided among the threads
        const std::vector<Real> one =
            matmul(wide, tall).to_vector();  // a large one, each thread a part of it
        all.insert(all.end(), one.begin(), one.end());
        return all;
    };
    const std::vector<Real> exact = products();
    const UsePrecision bf16(Precision::bf16);
    const std::vector<Real> rounded = [&] {
        const Threads alone(1);
        return products();
    }();
    for (std::size_t i = 0; i < exact.size(); i += 1000)
        REQUIRE(exact[i] != rounded[i]);
    const Threads several(4);
    CHECK(same_bits(products(), rounded));
    {
        const UsePrecision float32(Precision::float32);  // the inner one counts
        CHECK(same_bits(products(), exact));
    }
    CHECK(same_bits(products(), rounded));
    std::thread([&] { CHECK(same_bits(products(), exact)); }).join();  // another thread has not asked for it
}

TEST_CASE("ops: inputs are unchanged, and the result is the same with and without a graph", "[ops][graph]") {
    for_each_call(kCalls, [](const AloneCall& c) {
        INFO(c.text());
        const Inputs leaves = with_gradients(c);
        const std::vector<Tensor> outputs = c.with(leaves), without = c.with(c.leaves);
        CHECK(outputs[0].needs_grad() == c.row.has_graph);
        backward(outputs);
        for (std::size_t i = 0; i < leaves.size(); ++i)
            CHECK(same_bits(leaves[i], c.leaves[i]));
        const NoGrad no_grad;
        const std::vector<Tensor> again = c.with(leaves);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            CHECK(same_bits(again[i], outputs[i]));
            CHECK((!again[i].needs_grad() || again[i].same_memory(leaves[0])));  // the leaf itself
            CHECK(same_bits(without[i], outputs[i]));
            CHECK(!without[i].needs_grad());
        }
    });
}

TEST_CASE("ops: a gradient is added to an existing one", "[ops]") {
    for_each_call(kCalls, [](const AloneCall& c) {
        INFO(c.text());
        const Inputs leaves = with_gradients(c);
        run(c, leaves);
        std::vector<Tensor> once;
        for (const Tensor& x : leaves)
            once.push_back(c.row.has_graph ? x.grad().clone() : Tensor::zeros({0}));
        run(c, leaves);
        for (std::size_t i = 0; c.row.has_graph && i < leaves.size(); ++i)
            CHECK(worst_error(leaves[i].grad(), once[i] * 2) <= 1e-5);  // some round-off each
    });
}

// Only some inputs need a gradient: an encoder's output at evaluation, a frozen embedding. And one may be
// frozen after forward.
TEST_CASE("ops: each gradient is the same when the others are not needed", "[ops][graph]") {
    for_each_call(kCalls, [](const AloneCall& c) {
        const Inputs all = with_gradients(c);
        run(c, all);
        for (std::size_t i = 0; c.row.has_graph && i < all.size(); ++i)
            for (const bool frozen_later : {false, true}) {
                INFO(c.text() << ", input " << i << (frozen_later ? " frozen after forward" : " alone"));
                Inputs leaves = with_gradients(c);
                const auto freeze = [&](bool on) {
                    for (std::size_t j = 0; j < leaves.size(); ++j)
                        if ((j == i) == frozen_later)
                            leaves[j].require_grad(!on);
                };
                if (!frozen_later)
                    freeze(true);
                const std::vector<Tensor> outputs = c.with(leaves);
                if (frozen_later)
                    freeze(true);
                backward(outputs);
                freeze(false);
                for (std::size_t j = 0; j < leaves.size(); ++j)
                    if ((j == i) == frozen_later)
                        CHECK_FALSE(leaves[j].has_grad());
                    else
                        CHECK(same_bits(leaves[j].grad(), all[j].grad()));
            }
    });
}
