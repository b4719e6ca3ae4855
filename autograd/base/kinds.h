// What ops and kernels say to each other besides numbers: an activation, a precision, a random stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace plaingrad::autograd {

// The activation functions between two linear layers.
enum class Activation {
    relu,       // max(0, x)
    gelu,       // x Φ(x), Φ the normal distribution's. Hendrycks & Gimpel 2016
    gelu_tanh,  // its approximation by tanh, GPT-2's
    silu,       // x sigmoid(x), also called swish. Elfwing et al. 2017; Ramachandran et al. 2017
    count
};
// As configurations in files name them, in the enum's order.
inline constexpr const char* kActivationNames[] = {"relu", "gelu_erf", "gelu_tanh", "silu"};
static_assert(std::size(kActivationNames) == static_cast<std::size_t>(Activation::count));

// In which precision matrix products are computed, also those within attention.
//
// float32   as everything else
// bf16      each factor is rounded to a bfloat16 (8 significant bits), each product of two is exact, and the
//           sums are float32: kernels/bf16.h. Weights, sums and all other operations stay float32.
enum class Precision { float32, bf16, count };
inline constexpr const char* kPrecisionNames[] = {"float32", "bf16"};
static_assert(std::size(kPrecisionNames) == static_cast<std::size_t>(Precision::count));

namespace kernels {

// A key of the counter-based generator (base/random.h): element i of its stream is a function of the key and
// i.
struct RandomKey {
    uint32_t a, b;
};

}  // namespace kernels
}  // namespace plaingrad::autograd
