// In which precision matrix products are computed, also those within attention.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

namespace plaingrad::autograd {

// float32   as everything else
// bf16      each factor is rounded to a bfloat16 (8 significant bits), each product of two is exact, and the
//           sums are float32: kernels/bf16.h. Weights, sums and all other operations stay float32.
enum class Precision { float32, bf16, count };
inline constexpr const char* kPrecisionNames[] = {"float32", "bf16"};
static_assert(std::size(kPrecisionNames) == static_cast<std::size_t>(Precision::count));

// While a UsePrecision exists, ops on this thread multiply in its precision; the innermost one counts.
// Without any, that is float32. An op reads it once, on the thread that calls it, and its backward does as
// forward did.
//
//     const UsePrecision bf16(Precision::bf16);
//     const Tensor y = linear(x, weight);
class UsePrecision {
public:
    explicit UsePrecision(Precision p) : before_(std::exchange(active_, p)) {}
    ~UsePrecision() { active_ = before_; }
    UsePrecision(const UsePrecision&) = delete;
    UsePrecision& operator=(const UsePrecision&) = delete;
    static Precision active() { return active_; }

private:
    inline static thread_local Precision active_ = Precision::float32;
    const Precision before_;
};

}  // namespace plaingrad::autograd
