// The memory of tensors: 64-byte aligned buffers that are recycled.
//
// A training step needs the same sizes again and again. A buffer that is no longer used goes to the free list
// of its size class and is handed out again, so that steps of one shape allocate nothing after the first.
// Where shapes vary, the free lists are kept within bounds. Memory is not cleared: an op writes all of its
// result.
#pragma once

#include <cstdint>

#include "autograd/base/real.h"
#include "autograd/ref.h"

namespace plaingrad::autograd {

struct Storage : Counted {
    Real* data = nullptr;
    int64_t capacity = 0;
    // Counts the changes made through Tensor::mutable_data, so that backward can tell that a value it
    // needs is no longer the one that forward saw.
    uint32_t version = 0;

    // Room for n elements, uninitialised. Throws Error if the system has no memory left.
    static Ref<Storage> make(int64_t n);
    static void release(Storage* storage);
};

struct StorageStatistics {
    int64_t bytes_in_use = 0;    // held by tensors now
    int64_t bytes_recycled = 0;  // free, for the next tensor
    int64_t system_calls = 0;    // how often the system was asked for memory
};
StorageStatistics storage_statistics();

// Gives the free buffers back to the system, and the kernels' working memory. Not while another thread
// computes.
void storage_trim();

// For tests: new buffers are filled with NaN, so that whoever reads before writing is found out.
void storage_poison(bool on);

}  // namespace plaingrad::autograd
