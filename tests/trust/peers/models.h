// A random model, what it computes, and how it trains, for another library to repeat.
#pragma once

#include <cstdint>
#include <string>

namespace plaingrad::trust {

// Number n: of the kind n % 4. Writes weights, inputs, logits, losses, gradients and the weights after some
// steps of Adam, under PyTorch's names; and, as metadata, the kind, the configuration and Adam's options.
void write_model(uint64_t seed, int64_t number, const std::string& path);

}  // namespace plaingrad::trust
