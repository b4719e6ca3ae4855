// How exactly the products of activations and weights are computed.
#pragma once

#include <cstddef>
#include <iterator>

namespace plaingrad::autograd {

// float32   as everything else
// bf16      each factor is rounded to a bfloat16 (8 significant bits), each product of two is exact, and the
//           sums are float32: kernels/bf16.h. Weights, sums and all other operations stay float32.
enum class Precision { float32, bf16, count };
inline constexpr const char* kPrecisionNames[] = {"float32", "bf16"};
static_assert(std::size(kPrecisionNames) == static_cast<std::size_t>(Precision::count));

}  // namespace plaingrad::autograd
