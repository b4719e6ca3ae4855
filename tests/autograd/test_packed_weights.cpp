// Weights packed once for many products: the same bits from everything that reads them, packed again when the
// weight changes, and not before. And those that exist only packed: no more memory than the packed numbers
// take. (The error from everything else that reads these: ../ops/wrong_calls_of_tensors.cpp.)
#include <functional>
#include <thread>

#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "autograd/weight.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;
using tests::contains;
using tests::error_of;
using tests::random;
using tests::same_bits;

namespace {

const Precision kBoth[] = {Precision::float32, Precision::bf16};

Tensor packed(const Tensor& weight, Precision p, bool transposed = false) {
    const UsePrecision precision(p);
    const Tensor copy = weight.clone();
    pack(copy, transposed);
    return copy;
}

int64_t bytes_in_use() { return storage_statistics().bytes_in_use; }

// All ops that multiply rows by a weight (K, N).
std::vector<Tensor> products(const Tensor& x, const Tensor& w, const Tensor& bias, Precision p) {
    const UsePrecision precision(p);
    const int64_t n = w.size(1), k = w.size(0);
    const Tensor back = random({n, k}, 9);
    std::vector<Tensor> all = {linear(x, w, bias), linear(x, w),
                               feed_forward(x, w, bias, back, {}, Activation::relu)};
    if (n % 2 == 0)
        all.push_back(feed_forward(x, w, bias, random({n / 2, k}, 9), {}, Activation::silu, true));
    return all;
}

// What reads a table (V, N).
std::vector<Tensor> of_table(const Tensor& x, const Tensor& table, const Tensor& bias, Precision p) {
    const UsePrecision precision(p);
    const auto last = static_cast<int32_t>(table.size(0) - 1);
    const Tokens ids(1, 4, {last, 0, last / 2, last}, 0);
    const Tokens targets(x.size(0), 1, std::vector<int32_t>(static_cast<std::size_t>(x.size(0)), last), -1);
    return {linear_transposed(x, table, bias), linear_transposed(x, table), embedding(table, ids),
            linear_cross_entropy(x, table, bias, targets)};
}

void check_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO("number " << i);
        CHECK(same_bits(a[i], b[i]));
    }
}

template <class Ops>
void check_packed(const Ops& ops, const Tensor& x, const Tensor& w, const Tensor& bias, Precision p,
                  bool transposed) {
    const std::vector<Tensor> expected = ops(x, w, bias, p);
    check_same(ops(x, packed(w, p, transposed), bias, p), expected);
    const KeepPacked keep;
    check_same(ops(x, w, bias, p), expected);  // here it is packed
    check_same(ops(x, w, bias, p), expected);
}

}  // namespace

// Of weights that are kept packed beside their numbers, while KeepPacked lives, or that exist only packed.
TEST_CASE("packed weights: the same bits from every op, set and precision", "[packed][bits]") {
    tests::for_each_isa([](const char* isa) {
        for (const Precision p : kBoth)
            for (const int64_t rows : {1, 2, 7, 70})
                for (const int64_t k : {1, 2, 511, 512, 513, 1025})
                    for (const int64_t n : {1, 15, 16, 17, 63, 64, 65, 130, 257}) {
                        if (rows > 7 && k > 513)
                            continue;
                        INFO(isa << ", " << rows << " x " << n << " x " << k << ", "
                                 << kPrecisionNames[int(p)]);
                        const Tensor x = random({rows, k}, 1), w = random({k, n}, 2), bias = random({n}, 3);
                        check_packed(products, x, w, bias, p, false);
                    }
    });
}

TEST_CASE("packed weights: a table is looked up and multiplied", "[packed]") {
    tests::for_each_isa([](const char* isa) {
        for (const Precision p : kBoth)
            for (const int64_t v : {1, 16, 63, 64, 65, 200})
                for (const int64_t n : {1, 2, 17, 64, 515}) {
                    INFO(isa << ", table (" << v << ", " << n << "), " << kPrecisionNames[int(p)]);
                    // Numbers that are bfloat16s: what a look-up gives is the same then, rounded or not.
                    const Tensor table = random({v, n}, 2),
                                 rounded = p == Precision::bf16 ? to_bf16(table) : table;
                    check_packed(of_table, random({3, n}, 1), rounded, random({v}, 3), p, true);
                }
    });
}

TEST_CASE("packed only: in bfloat16 a look-up gives rounded numbers, and zeros for padding", "[packed]") {
    const Tensor table = random({70, 33}, 1), rounded = to_bf16(table);
    const Tensor only = packed(table, Precision::bf16, true);
    const Tokens ids(2, 3, {69, 4, 0, 64, 0, 0}, 0);
    CHECK(same_bits(embedding(only, ids), embedding(rounded, ids)));
    CHECK(!same_bits(embedding(only, ids), embedding(table, ids)));
    const Tokens first_is_padding(1, 3, {5, 2, 1}, 5);  // its place is 0, which is a row of the table
    CHECK(same_bits(embedding(only, first_is_padding), embedding(rounded, first_is_padding)));
}

TEST_CASE("packed only: at any number of threads, and while others are kept packed", "[packed]") {
    const Tensor x = random({5, 600}, 1), w = random({600, 1000}, 2), table = random({900, 600}, 3);
    for (const Precision p : kBoth) {
        const UsePrecision precision(p);
        const Tensor y = linear(x, w), z = linear_transposed(x, table);
        for (const int threads : {1, 2, 5}) {
            const tests::Threads guard(threads);
            const Tensor wp = packed(w, p), tp = packed(table, p, true);
            const int64_t before = bytes_in_use();
            const KeepPacked keep;
            CHECK(same_bits(linear(x, wp), y));
            CHECK(same_bits(linear_transposed(x, tp), z));
            CHECK(bytes_in_use() == before);  // nothing was copied
        }
    }
}

TEST_CASE("packed only: the memory is the packed numbers'", "[packed]") {
    const int64_t n = 704, k = 512, reals = n * k * int64_t(sizeof(Real)), before = bytes_in_use();
    for (const Precision p : kBoth) {
        Tensor w = random({k, n}, 2);
        const Tensor tied = w;
        CHECK(bytes_in_use() == before + reals);
        const UsePrecision precision(p);
        pack(w);
        const int64_t held = p == Precision::bf16 ? reals / 2 : reals;
        CHECK(bytes_in_use() == before + held);
        CHECK((is_packed(tied) && is_packed(w)));
        CHECK(tied.same_memory(w));
        const int64_t free_before = storage_statistics().bytes_recycled;
        w = {};
        CHECK(bytes_in_use() == before + held);
        CHECK(free_before == storage_statistics().bytes_recycled);
    }
    CHECK(bytes_in_use() == before);
}

TEST_CASE("packed only: the memory of the numbers goes back to the system", "[packed]") {
    storage_trim();
    const Tensor w = random({512, 512}, 2);
    const int64_t before = storage_statistics().bytes_recycled;
    pack(w);
    CHECK(storage_statistics().bytes_recycled == before);
}

TEST_CASE("packed only: a weight is read only in the shape in which it was packed", "[packed][errors]") {
    const Tensor x = random({2, 64}, 2), w = random({64, 64}, 1), table = random({48, 64}, 3);
    pack(reshape(w, {32, 128}));
    CHECK(error_of([&] { linear(x, w); }) ==
          "[packed weight] weight (64, 64) is packed as (32, 128), for linear only");
    pack(reshape(table, {64, 48}), true);
    CHECK(contains(error_of([&] { embedding(table, Tokens(1, 1, {2})); }),
                   "weight (48, 64) is packed as (64, 48), "));
}

TEST_CASE("packed only: NanGuard names the op, and does not read the weight", "[packed][errors]") {
    const Tensor w = packed(random({16, 16}, 1), Precision::float32), x = Tensor::full({1, 16}, Real(3e38));
    const NanGuard guard;
    CHECK(contains(error_of([&] { linear(x, w); }), "[NanGuard] linear: element "));
}

TEST_CASE("packed only: a leaf is frozen, and a backward that still needs its numbers throws",
          "[packed][errors]") {
    const Tensor w = tests::leaf(random({20, 30}, 1)), x = tests::leaf(random({2, 20}, 2));
    const Tensor y = sum(linear(x, w));
    pack(w);
    CHECK_FALSE(w.needs_grad());
    CHECK(error_of([&] { y.backward(); }).starts_with("[backward] "));
}

TEST_CASE("packed weights: of one memory both precisions, two shapes, or a transpose, in turn", "[packed]") {
    const Tensor x = random({3, 40}, 1), w = random({40, 60}, 2), wider = random({3, 80}, 3),
                 square = random({40, 40}, 4);
    const auto in_bf16 = [&] {
        const UsePrecision bf16(Precision::bf16);
        return linear(x, w);
    };
    const auto as_it_is = [&] { return linear(x, w); };
    const std::pair<std::function<Tensor()>, std::function<Tensor()>> pairs[] = {
        {as_it_is, in_bf16},
        {as_it_is,
         [&] {
             return linear(wider, reshape(w, {80, 30}));
         }},
        {[&] { return linear(x, square); }, [&] { return linear_transposed(x, square); }}};
    for (const auto& [one, other] : pairs) {
        const Tensor first = one(), second = other();
        REQUIRE(!same_bits(first, second));
        const KeepPacked keep;
        for (int time = 0; time < 2; ++time) {
            CHECK(same_bits(one(), first));
            CHECK(same_bits(other(), second));
        }
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
