// Whether a sentence's logits depend on the others in its batch, on its place there, or on how far it is
// padded.
#pragma once

#include <cstdint>

namespace plaingrad::trust {

// Draws n batches, and prints `batches N different D`; and the first batches that differ, which the seed
// gives again.
void print_batches(int64_t n, uint64_t seed);

}  // namespace plaingrad::trust
