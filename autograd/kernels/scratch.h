// Working memory of one thread, for kernels that need room to pack or to hold a row. kernels::scratch_trim
// frees it.
#pragma once

#include <cstdint>

#include "autograd/base/real.h"

namespace plaingrad::autograd::kernels {

// One slot a use: two kernels that are active at once on one thread must not share a buffer.
enum class Scratch { gemm_a, gemm_b, attention, partial, places, count };

// At least n elements, 64-byte aligned, uninitialised, valid on this thread until the next call with
// the same slot. It grows and is kept until scratch_trim or the thread's end, so a training step soon
// allocates nothing. Not for destructors of static objects: they run after the main thread's end. Throws
// Error if the system has no memory left.
Real* scratch(Scratch slot, int64_t n);

}  // namespace plaingrad::autograd::kernels
