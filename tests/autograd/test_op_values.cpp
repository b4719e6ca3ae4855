// What operations compute: known values of each, which are beside its row (tests/ops/); then what a table of
// values cannot say. (Where naive code loses digits: test_op_precision.cpp. Functions of all floats:
// kernels/test_math.cpp.)
#include <algorithm>

#include "autograd/ops.h"
#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/ops/family.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

// To six digits, and 0 exactly. A NaN equals a NaN.
static bool same(const Tensor& x, const Tensor& expected) {
    const std::vector<Real> a = x.to_vector(), b = expected.to_vector();
    return x.shape() == expected.shape() && std::equal(a.begin(), a.end(), b.begin(), [](Real y, Real z) {
               return y == z || (std::isnan(y) && std::isnan(z)) ||
                      (std::isfinite(z) && std::abs(y - z) <= Real(1e-6) * std::abs(z));
           });
}

TEST_CASE("values: known ones of every op, and gradients at ties, bounds, NaN and infinity",
          "[ops][values]") {
    std::string all = " += -= *= /= ";  // these are tried below
    for (const OpFamily* family : kOpFamilies)
        for (const Known& row : family->values()) {
            const Tensor y = row.run();
            INFO(row.call << " is " << y);
            CHECK(same(y, row.expected));
            all += std::string(" ") + row.call;
        }
    for (const std::string& op : declared_ops()) {
        INFO(op << " has no known value");
        const bool is_sign = op.starts_with("operator");
        CHECK((is_sign ? contains(all, " " + op.substr(8) + " ")
                       : contains(all, " " + op + "(") || contains(all, "(" + op + "(")));
    }
}

TEST_CASE("values: a += b is a = a + b", "[ops][values]") {
    const Tensor x = leaf(vec({1, 2})), before = x;
    Tensor y = x;
    y += vec({10, 20});
    y *= Real(3);
    y -= x;
    y /= Real(2);
    CHECK(same(y, vec({16, 32})));
    CHECK(same(before, vec({1, 2})));
    sum(y).backward();
    CHECK(same(x.grad(), vec({1, 1})));
}

TEST_CASE("values: an ignored row may hold NaN, also in the plain form", "[ops][values][plain]") {
    const auto check_ignored = [] {
        const Tensor x = leaf(tensor({3, 2}, {1, 2, kNan, kNan, 0, 5}));
        const Tensor loss =
            cross_entropy(x, Tokens(1, 3, {1, 0, 1}), {.ignore = 0, .label_smoothing = Real(0.1)});
        CHECK(std::isfinite(loss.item()));
        loss.backward();
        CHECK(same_bits(x.grad(), x.grad()));
        CHECK(x.grad()[1].to_vector() == std::vector<Real>{0, 0});
    };
    check_ignored();
    const Plain guard;
    check_ignored();
}

TEST_CASE("values: permute in each order, and slices that concat joins", "[ops][values]") {
    const Tensor x = counting({2, 3, 4, 5});
    std::vector<int> order = {0, 1, 2, 3};
    int wrong = 0, orders = 0;
    do {
        const Tensor y = permute(x, order);
        for (int64_t n = 0; n < x.numel(); ++n) {
            const int64_t index[] = {n / 60, n / 20 % 3, n / 5 % 4, n % 5};
            int64_t at = 0;
            for (const int dim : order)
                at = at * x.size(dim) + index[dim];
            wrong += y.data()[at] != static_cast<Real>(n);
        }
        ++orders;
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(orders == 24);
    CHECK(wrong == 0);
    for (const int dim : {0, 1, 2, 3, -1}) {
        const int64_t n = x.size(dim), cut = n / 2;
        const std::vector<Tensor> parts = {slice(x, dim, 0, cut), slice(x, dim, cut, cut),
                                           slice(x, dim, cut, n)};
        CHECK(same_bits(concat(parts, dim), x));
    }
}

TEST_CASE("values: what is not copied, and what is", "[ops][values]") {
    const Tensor x = counting({3, 2});
    CHECK(reshape(x, {1, 6, 1, 1}).same_memory(x));
    CHECK(dropout(x, 0, Rng(5)).same_memory(x));
    const Tensor row = x[0];
    row.mutable_data()[0] = 100;
    CHECK(x.data()[0] == 0);
}

TEST_CASE("values: dropout scales what it keeps, and backward uses forward's mask",
          "[ops][values][dropout]") {
    const Tensor x = leaf(Tensor::full({3, 1001}, 2));
    const Real p = Real(0.3);
    const Tensor y = dropout(x, p, Rng(5));
    y.backward(x.detach());
    CHECK(same_bits(x.grad(), y));
    CHECK(sum((y == 0) + (y == 2 * (1 / (1 - p)))).item() == 3003);
    CHECK(mean(y != 0).item() == Approx(0.7).margin(0.034));  // four standard deviations
    CHECK(same_bits(dropout(x, p, Rng(5)), y));
    CHECK(!same_bits(dropout(x, p, Rng(6)), y));
}

TEST_CASE("values: an element dropped from a sub-layer has no effect, even if it is NaN", "[ops][values]") {
    const Tensor x = random({1, 64}, 1), y = Tensor::full({1, 64}, kNan);
    const Tensor kept = dropout(Tensor::ones({1, 64}), Real(0.5), Rng(1));
    CHECK(same(residual(x, y, Real(0.5), Rng(1)), where(kept, kNan, x)));
}

TEST_CASE("values: new tensors", "[tensor][values]") {
    CHECK(same(Tensor::ones({2, 2}), tensor({2, 2}, {1, 1, 1, 1})));
    CHECK(same(Tensor::arange(4), vec({0, 1, 2, 3})));
    CHECK(same(Tensor::arange(1, 2, 0.25), vec({1, 1.25, 1.5, 1.75})));
    CHECK(same(Tensor::arange(3, 0, -1), vec({3, 2, 1})));
    CHECK(same(Tensor::arange(2.5), vec({0, 1, 2})));
    CHECK(Tensor::arange(2, 2).shape() == Shape({0}));
    CHECK(Tensor::arange(2, 1).numel() == 0);
}

// More numbers than a thread makes at a time.
TEST_CASE("values: a large new tensor has the numbers that each of them is drawn as alone",
          "[tensor][values]") {
    const int64_t n = 40'000;
    const Rng rng(1);
    const Tensor normal = Tensor::randn({n}, rng), uniform = Tensor::rand({n}, rng),
                 counted = Tensor::arange(static_cast<double>(n));
    CHECK(sum((uniform >= 0) * (uniform < 1)).item() == static_cast<Real>(n));
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto number = static_cast<uint64_t>(i);
        wrong += normal.data()[i] != static_cast<Real>(rng.normal(number));
        wrong += !(std::abs(static_cast<double>(uniform.data()[i]) - rng.uniform(number)) <= 1e-6);
        wrong += counted.data()[i] != static_cast<Real>(i);
    }
    CHECK(wrong == 0);
}
