// The memory of tensors: 64-byte aligned buffers that are recycled.
//
// A training step needs the same sizes again and again. A buffer that is no longer used goes to the free list
// of its size class and is reused, so that steps of one shape allocate no buffer after the first. If shapes
// vary, the total size of the free lists is bounded. Memory is not cleared: an op writes all of its result.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/base/kinds.h"
#include "autograd/base/real.h"
#include "autograd/base/shape.h"

namespace plaingrad::autograd {

// The form in which a weight was packed.
struct PackedForm {
    Shape shape = {};         // of the handle that was packed
    bool transposed = false;  // for products with the weight's transpose
    Precision precision = Precision::float32;
    bool operator==(const PackedForm&) const = default;
};

struct Storage {
    Real* data = nullptr;  // nullptr: the numbers are only in `packed`
    int64_t capacity = 0;
    // Counts the changes made through Tensor::mutable_data, so that backward can tell that a value it
    // needs is no longer the one that forward saw.
    uint32_t version = 0;
    // Of a weight (weight.h), of this version: the numbers in the order in which products read them.
    std::shared_ptr<Storage> packed = nullptr;
    PackedForm form = {};          // of `packed`
    Storage* next_free = nullptr;  // in the free list of its size class

    // Room for n elements, uninitialised. Throws Error if the system has no memory left.
    static std::shared_ptr<Storage> make(int64_t n);
    // Returns `data` to the system: from now on only the packed numbers are left.
    void drop_data();
    // Before each change of `data`.
    void change() {
        ++version;
        packed = nullptr;
    }
};

struct StorageStatistics {
    int64_t bytes_in_use = 0;    // held by tensors now
    int64_t bytes_recycled = 0;  // free, for the next tensor
    int64_t system_calls = 0;    // how often the system was asked for memory
};
StorageStatistics storage_statistics();

// Returns the free buffers and the kernels' working memory to the system. Do not call it while another thread
// computes.
void storage_trim();

// For tests: fills new buffers with NaN, which exposes reads of uninitialised memory.
void storage_poison(bool on);

}  // namespace plaingrad::autograd
