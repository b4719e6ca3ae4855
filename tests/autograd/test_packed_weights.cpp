// Weights packed once for many products: the same bits, packed again when the weight changes, and not before.
#include <memory>
#include <thread>

#include "autograd/ops.h"
#include "autograd/weight.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;
using tests::random;
using tests::same_bits;

namespace {

// All ops that multiply rows by a weight.
std::vector<Tensor> products(const Tensor& x, const Tensor& w, const Tensor& table, const Tensor& bias,
                             Precision p) {
    const UsePrecision precision(p);
    return {linear(x, w, bias), feed_forward(x, w, bias, table, {}, Activation::gelu),
            linear_transposed(x, table, bias)};
}

}  // namespace

TEST_CASE("packed weights: the same bits from every op, set and precision", "[packed][bits]") {
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        for (const Precision p : {Precision::float32, Precision::bf16})
            for (const int64_t rows : {1, 2, 6, 19, 70})
                for (const int64_t n : {17, 64, 133}) {
                    INFO(*name << ", " << rows << " rows, " << n << " columns, " << kPrecisionNames[int(p)]);
                    const Tensor x = random({rows, 515}, 1), w = random({515, n}, 2), bias = random({n}, 3);
                    const Tensor table = random({n, 515}, 4);
                    const std::vector<Tensor> expected = products(x, w, table, bias, p);
                    const KeepPacked keep;
                    for (int time = 0; time < 2; ++time) {
                        const std::vector<Tensor> y = products(x, w, table, bias, p);
                        for (std::size_t op = 0; op < y.size(); ++op)
                            CHECK(same_bits(y[op], expected[op]));
                    }
                }
    }
    kernels::use(kernels::available()[0]);
}

TEST_CASE("packed weights: both precisions of one weight, in turn", "[packed]") {
    const Tensor x = random({3, 40}, 1), w = random({40, 70}, 2);
    const auto in_bf16 = [&] {
        const UsePrecision bf16(Precision::bf16);
        return linear(x, w);
    };
    const Tensor expected = linear(x, w), rounded = in_bf16();
    REQUIRE(!same_bits(expected, rounded));
    const KeepPacked keep;
    for (int time = 0; time < 2; ++time) {
        CHECK(same_bits(linear(x, w), expected));
        CHECK(same_bits(in_bf16(), rounded));
    }
}

TEST_CASE("packed weights: copied once, until the weight is written to or gone", "[packed]") {
    const Tensor x = random({3, 300}, 1);
    Tensor w = random({300, 700}, 2);
    const auto copy = [&] { return w.memory()->packed.get(); };
    const int64_t before = storage_statistics().bytes_in_use;
    linear(x, w);
    CHECK(copy() == nullptr);
    {
        const KeepPacked keep;
        linear(x, w);
    }
    const auto* const first = copy();
    REQUIRE(first != nullptr);
    CHECK(storage_statistics().bytes_in_use - before >= 300 * 700 * int64_t(sizeof(Real)));
    const KeepPacked keep;
    CHECK(same_bits(linear(x, w.detach()), matmul(x, w)));
    CHECK(copy() == first);

    w.mutable_data()[0] += 1;
    CHECK(storage_statistics().bytes_in_use == before);
    CHECK(same_bits(linear(x, w), matmul(x, w)));
    CHECK(copy() != nullptr);
    w = {};
    CHECK(storage_statistics().bytes_in_use < before);
}

TEST_CASE("packed weights: a weight that is gone does not lend its copy to another", "[packed]") {
    const Tensor x = random({3, 300}, 1);
    const KeepPacked keep;
    for (uint64_t seed = 2; seed < 6; ++seed) {  // of one size, so that memory would be used again
        const Tensor w = random({300, 200}, seed);
        CHECK(same_bits(linear(x, w), matmul(x, w)));
    }
}

TEST_CASE("packed weights: memory that is read in two shapes, in turn", "[packed]") {
    const Tensor w = random({40, 60}, 1), reshaped = reshape(w, {80, 30});  // the same memory
    const Tensor x = random({3, 40}, 2), wider = random({3, 80}, 3);
    const Tensor of_rows = linear(x, w), of_others = linear(wider, reshaped);
    const KeepPacked keep;
    for (int time = 0; time < 2; ++time) {
        CHECK(same_bits(linear(x, w), of_rows));
        CHECK(same_bits(linear(wider, reshaped), of_others));
    }
}

TEST_CASE("packed weights: a square weight as it is and transposed, in turn", "[packed]") {
    const Tensor w = random({40, 40}, 1), x = random({3, 40}, 2);
    const Tensor as_it_is = linear(x, w), transposed = linear_transposed(x, w);
    REQUIRE(!same_bits(as_it_is, transposed));
    const KeepPacked keep;
    for (int time = 0; time < 2; ++time) {
        CHECK(same_bits(linear(x, w), as_it_is));
        CHECK(same_bits(linear_transposed(x, w), transposed));
    }
}

TEST_CASE("packed weights: threads that decode with one weight, each in its precision", "[packed][threads]") {
    const Tensor x = random({3, 40}, 1), w = random({40, 70}, 2);
    const auto decode = [&](Precision p) {
        const UsePrecision precision(p);
        const Tensor expected = linear(x, w);
        const KeepPacked keep;
        bool same = true;
        for (int time = 0; time < 200; ++time)
            same = same && same_bits(linear(x, w), expected);
        return same;
    };
    bool other = false;
    std::thread thread([&] { other = decode(Precision::bf16); });
    CHECK(decode(Precision::float32));
    thread.join();
    CHECK(other);
}

TEST_CASE("packed weights: bfloat16 take half the memory", "[packed]") {
    CHECK(kernels::packed_size(512, 512, Precision::float32) == 512 * 512);
    CHECK(kernels::packed_size(512, 512, Precision::bf16) == 512 * 512 / 2);
    CHECK(kernels::packed_size(65, 3, Precision::bf16) == 128 * 2);
    CHECK(kernels::packed_size(0, 3, Precision::float32) == 0);
}

TEST_CASE("packed weights: gradients flow as without them", "[packed]") {
    const Tensor x = tests::leaf(random({5, 20}, 1)), w = tests::leaf(random({20, 30}, 2));
    sum(linear(x, w)).backward();
    const Tensor dx = x.grad().clone(), dw = w.grad().clone();
    x.zero_grad(), w.zero_grad();
    const KeepPacked keep;
    sum(linear(x, w)).backward();
    CHECK(same_bits(x.grad(), dx));
    CHECK(same_bits(w.grad(), dw));
}
