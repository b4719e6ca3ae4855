// What rounding to bfloat16 loses, in a number and in a sum of products.
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

Real rounded(Real x) { return to_bf16(Tensor(x)).item(); }

void rounded_numbers(std::ostream& out) {
    Rows rows = {{"number", "as a float", "as a bfloat16", "off by"}};
    const std::pair<const char*, double> all[] = {{"1/3", 1.0 / 3}, {"π", std::acos(-1.0)}, {"256", 256},
                                                  {"257", 257},     {"1001", 1001},         {"10³⁸", 1e38},
                                                  {"10⁻⁴⁰", 1e-40}};
    for (const auto& [name, x] : all) {
        const auto as_float = static_cast<Real>(x);
        const auto half = static_cast<double>(rounded(as_float));
        const double error = std::abs(half - x) / x;
        claim(error <= 0x1p-8 || x < 1e-37, "a bfloat16 is off by at most 2^-8 of the number");
        rows.push_back(
            {name, digits(static_cast<double>(as_float), 9), digits(half, 9), digits(100 * error, 2) + " %"});
    }
    table(out, rows);
}

// Of n numbers from 0 to 1, times n others: by how much of its exact value the sum of products is off.
void sums_of_products(std::ostream& out) {
    Rows rows = {{"n", "relative error in float32", "with bf16 factors and a float32 sum",
                  "with bf16 factors and a bf16 sum"}};
    for (int64_t n = 10; n <= 100'000; n *= 10) {
        const Tensor a = Tensor::rand({1, n}, Rng(1)), b = Tensor::rand({n, 1}, Rng(2));
        double exact = 0;
        Real short_sum = 0;
        for (int64_t i = 0; i < n; ++i) {
            exact += static_cast<double>(a.data()[i]) * static_cast<double>(b.data()[i]);
            short_sum = rounded(std::fma(rounded(a.data()[i]), rounded(b.data()[i]), short_sum));
        }
        const auto error = [&](Real sum) { return std::abs(static_cast<double>(sum) - exact) / exact; };
        const double full = error(matmul(a, b).item());
        const double half = error(matmul(a, b, false, Precision::bf16).item());
        claim(half < 0x1p-8 && (n < 1000 || error(short_sum) > 0.1),
              "only sums of bfloat16 lose their value");
        rows.push_back({grouped(n), digits(full, 2), digits(half, 2), digits(error(short_sum), 2)});
    }
    table(out, rows);
}

}  // namespace

Computed kernels_bf16() {
    return {.sections = {{"kernels.bf16_numbers", Effort::quick, rounded_numbers},
                         {"kernels.bf16_sums", Effort::quick, sums_of_products}}};
}

}  // namespace plaingrad::chapters
