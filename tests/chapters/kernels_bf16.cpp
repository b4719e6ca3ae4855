// What rounding to bfloat16 and to fp16 loses, in a number and in a sum of products.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

Real rounded(Real x) { return to_bf16(Tensor(x)).item(); }

// The nearest number with 11 significant bits and the exponents of fp16, ties to even.
double rounded_to_fp16(double x) {
    int exponent = 0;
    std::frexp(x, &exponent);  // |x| is in [0.5, 1) · 2^exponent
    const double unit = std::ldexp(1.0, std::max(exponent, -13) - 11);
    const double half = std::nearbyint(x / unit) * unit;
    return std::abs(half) < 65536 ? half : std::copysign(INFINITY, x);
}

std::string percent_off(double rounded, double x) {
    return std::isinf(rounded) ? "" : digits(100 * std::abs(rounded - x) / x, 2) + " %";
}

void rounded_numbers(std::ostream& out) {
    Rows rows = {{"number", "as a float", "in bf16", "off by", "in fp16", "off by"}};
    const std::pair<const char*, double> all[] = {
        {"1/3", 1.0 / 3}, {"257", 257}, {"70,000", 70'000}, {"10⁻⁸", 1e-8}, {"10⁻⁸ · 1,024", 1024e-8}};
    for (const auto& [name, x] : all) {
        const auto as_float = static_cast<Real>(x);
        const auto bf16 = static_cast<double>(rounded(as_float));
        const double fp16 = rounded_to_fp16(x);
        claim(std::abs(bf16 - x) <= 0x1p-8 * x, "a bfloat16 is off by at most 2^-8 of the number");
        claim(std::isinf(fp16) == (x > 65'520) && (fp16 == 0) == (x < 1e-7),
              "fp16 overflows, and loses the small gradient, unless the loss is scaled");
        claim(x < 1e-4 || x > 65'520 || std::abs(fp16 - x) <= 0x1p-11 * x, "fp16 is eight times as precise");
        rows.push_back({name, digits(static_cast<double>(as_float), 9), digits(bf16, 9), percent_off(bf16, x),
                        std::isinf(fp16) ? "∞" : digits(fp16, 9), percent_off(fp16, x)});
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
        const UsePrecision bf16(Precision::bf16);
        const double half = error(matmul(a, b).item());
        claim(half < 0x1p-8 && (n < 1000 || error(short_sum) > 0.1),
              "only sums of bfloat16 lose their value");
        rows.push_back({grouped(n), digits(full, 2), digits(half, 2), digits(error(short_sum), 2)});
    }
    table(out, rows);
}

const Adds kHere({{"kernels.half_numbers", Effort::quick, rounded_numbers},
                  {"kernels.bf16_sums", Effort::quick, sums_of_products}});

}  // namespace

}  // namespace plaingrad::chapters
