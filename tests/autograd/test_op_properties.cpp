// Properties of every operation in the table: its bits depend only on its inputs, and it reads no
// uninitialised memory.
#include <algorithm>
#include <thread>

#include "autograd/kernels/scratch.h"
#include "autograd/plain.h"
#include "tests/autograd/op_table.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

std::vector<Tensor> leaves(const OpRow& row) {
    std::vector<Tensor> x;
    for (const Tensor& input : row.inputs)
        x.push_back(leaf(input));
    return x;
}

// The output and the gradients of all inputs, one after the other.
std::vector<Real> run(const OpRow& row, std::vector<Tensor> x, Tensor start = {}) {
    const Tensor out = row.call(x);
    std::vector<Real> all = out.to_vector();
    if (!row.has_graph)
        return all;
    if (!start.defined())
        start = random(out.shape(), 99);
    out.backward(start);
    for (const Tensor& input : x) {
        const std::vector<Real> grad = input.grad().to_vector();
        all.insert(all.end(), grad.begin(), grad.end());
    }
    return all;
}

std::vector<Real> run(const OpRow& row) { return run(row, leaves(row)); }

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

TEST_CASE("ops: nothing uninitialised is read", "[ops][memory]") {
    const Threads one(1);  // the scratch memory of this thread is what is used
    REQUIRE([] {
        const Poison poison;
        const Real first = Tensor::uninitialized({5}).data()[4];
        return first != first;
    }());
    for_each_isa([](const char* isa) {
        for (const OpRow& row : all_rows()) {
            const std::vector<Real> clean = run(row);
            const Poison poison;
            INFO(row.op << ", " << row.detail << ", " << isa);
            CHECK(same_bits(run(row), clean));
        }
    });
}

TEST_CASE("ops: backward multiplies in the precision of forward, whatever is active then", "[ops][bf16]") {
    for (const OpRow& row : all_rows()) {
        if (!row.has_graph)
            continue;
        INFO(row.op << ", " << row.detail);
        const auto gradients_within = [&](Precision p) {
            const std::vector<Tensor> x = leaves(row);
            const Tensor out = row.call(x);  // in a precision of its own
            const UsePrecision precision(p);
            out.backward(random(out.shape(), 99));
            std::vector<Real> all;
            for (const Tensor& input : x)
                for (const Real g : input.grad().to_vector())
                    all.push_back(g);
            return all;
        };
        CHECK(same_bits(gradients_within(Precision::float32), gradients_within(Precision::bf16)));
    }
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

TEST_CASE("ops: the same bits on every instruction set and with any number of threads",
          "[ops][bits][threads]") {
    for (const OpRow& row : all_rows()) {
        const std::vector<Real> expected = run(row);
        for_each_isa([&](const char* isa) {
            INFO(row.op << ", " << row.detail << ", " << isa);
            CHECK(same_bits(run(row), expected));
        });
    }
    for (const OpRow& row : all_rows()) {
        const Threads one(1);
        const std::vector<Real> expected = run(row);
        const Threads three(3);
        INFO(row.op << ", " << row.detail << ", three threads");
        CHECK(same_bits(run(row), expected));
    }
}

TEST_CASE("ops: inputs are unchanged, and the result is the same with and without NoGrad", "[ops]") {
    for (const OpRow& row : all_rows()) {
        INFO(row.op << ", " << row.detail);
        std::vector<Tensor> x = leaves(row);
        const Tensor out = row.call(x);
        CHECK(out.needs_grad() == row.has_graph);
        if (row.has_graph)
            out.backward(random(out.shape(), 99));
        for (std::size_t i = 0; i < x.size(); ++i)
            CHECK(same_bits(x[i], row.inputs[i]));

        const NoGrad no_grad;
        const Tensor again = row.call(x);
        CHECK(same_bits(again, out));
        CHECK((!again.needs_grad() || same_bits(again.to_vector(), x[0].to_vector())));  // x itself
    }
}

TEST_CASE("ops: without an input that needs a gradient there is no graph", "[ops][graph]") {
    for (const OpRow& row : all_rows()) {
        INFO(row.op << ", " << row.detail);
        CHECK(!row.call(row.inputs).needs_grad());
    }
}

TEST_CASE("ops: a gradient is added to an existing one", "[ops]") {
    for (const OpRow& row : all_rows()) {
        INFO(row.op << ", " << row.detail);
        const std::vector<Tensor> x = leaves(row);
        run(row, x);
        std::vector<std::vector<Real>> once;
        for (const Tensor& input : row.has_graph ? x : std::vector<Tensor>())
            once.push_back(input.grad().to_vector());
        run(row, x);
        for (std::size_t i = 0; row.has_graph && i < x.size(); ++i) {
            for (Real& value : once[i])
                value *= 2;
            CHECK(worst_error(x[i].grad().to_vector(), once[i]) <= 1e-5);  // some round-off each
        }
    }
}

TEST_CASE("ops: an input that is frozen after forward gets no gradient, and the others the same",
          "[ops][graph]") {
    for (const OpRow& row : all_rows()) {
        const std::vector<Tensor> all = leaves(row);
        run(row, all);
        for (std::size_t i = 0; row.has_graph && i < all.size(); ++i) {
            INFO(row.op << ", " << row.detail << ", input " << i);
            std::vector<Tensor> x = leaves(row);
            const Tensor out = row.call(x), start = random(out.shape(), 99);
            x[i].require_grad(false);
            if (out.needs_grad())  // not one that is the frozen input itself
                out.backward(start);
            x[i].require_grad();
            CHECK_FALSE(x[i].has_grad());
            for (std::size_t j = 0; j < x.size(); ++j)
                CHECK((j == i || same_bits(x[j].grad(), all[j].grad())));
        }
    }
}

// Only some inputs need a gradient: an encoder's output at evaluation, a frozen embedding.
TEST_CASE("ops: each gradient is the same when the others are not needed", "[ops]") {
    for (const OpRow& row : all_rows()) {
        const std::vector<Tensor> all = leaves(row);
        run(row, all);
        for (std::size_t i = 0; row.has_graph && all.size() > 1 && i < all.size(); ++i) {
            INFO(row.op << ", " << row.detail << ", input " << i);
            std::vector<Tensor> x = row.inputs;
            x[i] = leaf(x[i]);
            const Tensor out = row.call(x);
            out.backward(random(out.shape(), 99));
            CHECK(same_bits(x[i].grad(), all[i].grad()));
            for (std::size_t j = 0; j < x.size(); ++j)
                CHECK((j == i || !x[j].needs_grad()));
        }
    }
}
