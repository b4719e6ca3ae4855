// The memory of tensors: 64-byte aligned buffers that are recycled.
//
// A training step needs the same sizes again and again. A buffer that is no longer used goes to the free list
// of its size class and is reused, so that steps of one shape allocate nothing after the first. If shapes
// vary, the total size of the free lists is bounded. Memory is not cleared: an op writes all of its result.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "autograd/base/kinds.h"
#include "autograd/base/real.h"
#include "autograd/base/shape.h"

namespace plaingrad::autograd {

// A counted reference to an object that counts its own references.
//
// Like std::shared_ptr, but one pointer wide, and the type decides what happens when the last reference is
// dropped: a Storage goes back to the recycler, a Node is destroyed without recursion.
struct Counted {
    std::atomic<int64_t> references = 0;
};

// T derives from Counted and has `static void release(T*)`, called when the last reference goes.
template <class T>
class Ref {
public:
    Ref() = default;
    explicit Ref(T* object) : object_(object) { acquire(); }
    Ref(const Ref& other) : object_(other.object_) { acquire(); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_ != nullptr && object_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
            T::release(object_);
    }

    T* get() const { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

private:
    void acquire() {
        if (object_ != nullptr)
            object_->references.fetch_add(1, std::memory_order_relaxed);
    }
    T* object_ = nullptr;
};

struct PackedNumbers;

struct Storage : Counted {
    Real* data = nullptr;  // nullptr: the numbers are only in `packed`
    int64_t capacity = 0;
    // Counts the changes made through Tensor::mutable_data, so that backward can tell that a value it
    // needs is no longer the one that forward saw.
    uint32_t version = 0;
    std::shared_ptr<const PackedNumbers> packed = nullptr;  // of a weight (weight.h), of this version
    Storage* next_free = nullptr;                           // in the free list of its size class

    // Room for n elements, uninitialised. Throws Error if the system has no memory left.
    static Ref<Storage> make(int64_t n);
    static void release(Storage* storage);
    // Returns `data` to the system, and holds these numbers from now on.
    void replace_by(std::shared_ptr<const PackedNumbers> numbers);
    // Before each change of `data`.
    void change() {
        ++version;
        packed = nullptr;
    }
};

// A weight in the order in which products read it: what `pack` (kernels/kernels.h) wrote.
struct PackedForm {
    Shape shape;      // of the handle that was packed
    bool transposed;  // for products with the weight's transpose
    Precision precision;
    std::string_view kernels;  // the name of the set whose products can read it
    bool operator==(const PackedForm&) const = default;
};
struct PackedNumbers {
    Ref<Storage> numbers;
    PackedForm form;
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
