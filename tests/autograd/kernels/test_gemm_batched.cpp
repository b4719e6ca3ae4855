// Batched products: small ones run side by side and large ones one after the other, and each has the bits
// that it has alone.
#include <cstring>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/ops.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;

namespace {

Tensor numbers(const Shape& shape, uint32_t seed) {
    std::vector<Real> values(static_cast<size_t>(shape.numel()));
    for (Real& value : values) {
        seed = seed * 1664525 + 1013904223;
        value = static_cast<Real>(seed >> 8) / Real(8388608) - 1;
    }
    return Tensor::from(shape, values);
}

// One matrix of a batch, as a tensor of its own.
Tensor matrix(const Tensor& batch, int64_t i) {
    const int64_t rows = batch.size(-2), columns = batch.size(-1);
    const Real* const from = batch.data() + i * rows * columns;
    return Tensor::from({rows, columns}, std::vector<Real>(from, from + rows * columns));
}

}  // namespace

TEST_CASE("gemm: in a batch each product has the bits that it has alone", "[kernels][gemm]") {
    const int before = thread_count();
    struct Sizes {
        int64_t count, m, n, k;
    };
    for (const auto& [count, m, n, k] : {Sizes{40, 9, 20, 17}, Sizes{3, 130, 140, 130}, Sizes{1, 5, 6, 7}})
        for (const bool transposed : {false, true}) {
            const Tensor a = numbers({count, m, k}, 1);
            const Tensor b = numbers(transposed ? Shape{count, n, k} : Shape{count, k, n}, 2);
            for (const int threads : {1, 3}) {
                set_thread_count(threads);
                const Tensor c = matmul(a, b, transposed);
                for (int64_t i = 0; i < count; ++i) {
                    const Tensor alone = matmul(matrix(a, i), matrix(b, i), transposed);
                    INFO(count << " of " << m << " x " << n << " x " << k << ", number " << i << ", "
                               << threads << " threads");
                    const bool equal = std::memcmp(alone.data(), c.data() + i * m * n,
                                                   static_cast<size_t>(m * n) * sizeof(Real)) == 0;
                    REQUIRE(equal);
                }
            }
        }
    set_thread_count(before);
}
