// Weights that exist only packed: the same bits from everything that reads them, a clear error from
// everything else, and no more memory than the packed numbers take.
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "autograd/plain.h"
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

template <class F>
void in(Precision p, const F& f) {
    const UsePrecision precision(p);
    f();
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

}  // namespace

TEST_CASE("packed only: the same bits from every op, set and precision", "[packed][bits]") {
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        for (const Precision p : kBoth)
            for (const int64_t rows : {1, 2, 7, 64})
                for (const int64_t k : {1, 2, 511, 512, 513, 1025})
                    for (const int64_t n : {1, 15, 16, 17, 63, 64, 65, 130, 257}) {
                        if (rows > 7 && k > 513)
                            continue;
                        INFO(*name << ", " << rows << " x " << n << " x " << k << ", "
                                   << kPrecisionNames[int(p)]);
                        const Tensor x = random({rows, k}, 1), w = random({k, n}, 2), bias = random({n}, 3);
                        check_same(products(x, packed(w, p), bias, p), products(x, w, bias, p));
                    }
    }
    kernels::use(kernels::available()[0]);
}

TEST_CASE("packed only: a table is looked up and multiplied", "[packed]") {
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        for (const Precision p : kBoth)
            for (const int64_t v : {1, 16, 63, 64, 65, 200})
                for (const int64_t n : {1, 2, 17, 64, 515}) {
                    INFO(*name << ", table (" << v << ", " << n << "), " << kPrecisionNames[int(p)]);
                    const Tensor x = random({3, n}, 1), bias = random({v}, 3);
                    // Numbers that are bfloat16s: what a look-up gives is the same then, rounded or not.
                    Tensor table = random({v, n}, 2);
                    if (p == Precision::bf16)
                        kernels::cpu().unary(kernels::Unary::to_bf16, table.numel(), table.data(),
                                             table.mutable_data());
                    check_same(of_table(x, packed(table, p, true), bias, p), of_table(x, table, bias, p));
                }
    }
    kernels::use(kernels::available()[0]);
}

TEST_CASE("packed only: in bfloat16 a look-up gives rounded numbers, and zeros for padding", "[packed]") {
    const Tensor table = random({70, 33}, 1), rounded = table.clone();
    kernels::cpu().unary(kernels::Unary::to_bf16, rounded.numel(), rounded.data(), rounded.mutable_data());
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

TEST_CASE("packed only: everything else that reads such a weight throws", "[packed][errors]") {
    const Tensor w = packed(random({40, 60}, 1), Precision::bf16), x = random({3, 40}, 2);
    const std::vector<std::function<void()>> uses = {[&] { w.data(); },
                                                     [&] { w.mutable_data(); },
                                                     [&] { w.to_vector(); },
                                                     [&] { w.clone(); },
                                                     [&] { w[0]; },
                                                     [&] { join(w); },
                                                     [&] {
                                                         w.with_shape({60, 40});
                                                     },
                                                     [&] { reshape(w, {2400}); },
                                                     [&] { Tensor(w).require_grad(); },
                                                     [&] { matmul(x, w); },
                                                     [&] { w + 1; },
                                                     [&] { sum(w); },
                                                     [&] { transpose(w, 0, 1); },
                                                     [&] { slice(w, 0, 1, 2); },
                                                     [&] {
                                                         const Plain plain;
                                                         linear(x, w);
                                                     },
                                                     [&] { sum(linear(tests::leaf(x), w)).backward(); }};
    const UsePrecision bf16(Precision::bf16);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        INFO("use " << i);
        CHECK(error_of(uses[i]) ==
              "[Tensor] this weight (40, 60) is packed for decoding: only linear layers and look-ups can "
              "read it; "
              "load the model again, without packing it, to train, change or save it");
    }
    CHECK(w.shape() == Shape{40, 60});
    CHECK(w.numel() == 2400);
}

TEST_CASE("packed only: rows come back, from the first one to the last", "[packed]") {
    const Tensor square = random({64, 64}, 1), table = packed(square, Precision::float32, true);
    CHECK(same_bits(embedding(table, Tokens(1, 4, {0, 63, 0, 17})),
                    concat({square[0], square[63], square[0], square[17]}, 0).with_shape({1, 4, 64})));
}

TEST_CASE("packed only: read otherwise than it was packed for", "[packed][errors]") {
    const Tensor square = random({64, 64}, 1), x = random({2, 64}, 2);
    const Tensor w = packed(square, Precision::bf16), table = packed(square, Precision::float32, true);
    CHECK(error_of([&] { linear(x, w); }) ==
          "[packed weight] weight (64, 64) is packed for products in bf16, so it cannot be used in float32; "
          "name the same precision for both");
    CHECK(error_of([&] { in(Precision::bf16, [&] { linear_transposed(x, w); }); }) ==
          "[packed weight] weight (64, 64) is packed as (64, 64), for linear only");
    CHECK(error_of([&] { linear(x, table); }) ==
          "[packed weight] weight (64, 64) is packed as (64, 64), for linear_transposed and look-ups only");
    CHECK(error_of([&] { embedding(w, Tokens(1, 1, {2})); }).starts_with("[packed weight] "));
    pack(table, true);  // once more does nothing
    CHECK(error_of([&] { pack(table); }).ends_with(", for linear_transposed and look-ups only"));
    CHECK(error_of([&] { pack(random({3}, 1)); }) == "[pack] a weight must be a matrix: its shape is (3)");
    CHECK(error_of([&] { pack(tests::leaf(square) + 1); }).starts_with("[require_grad] "));
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
