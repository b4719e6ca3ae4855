// The activation functions between two linear layers.
#pragma once

namespace plaingrad::autograd {

enum class Activation {
    relu,       // max(0, x)
    gelu,       // x Φ(x), Φ the normal distribution's. Hendrycks & Gimpel 2016
    gelu_tanh,  // its approximation by tanh, GPT-2's
    silu,       // x sigmoid(x), also called swish. Elfwing et al. 2017; Ramachandran et al. 2017
    count
};

// As configurations in files name them, in the enum's order.
inline constexpr const char* kActivationNames[] = {"relu", "gelu_erf", "gelu_tanh", "silu"};
static_assert(sizeof kActivationNames / sizeof *kActivationNames == static_cast<int>(Activation::count));

}  // namespace plaingrad::autograd
