// A counted reference to an object that counts its own references.
//
// Like std::shared_ptr, but one pointer wide, and the type decides what happens when the last reference is
// dropped: a Storage goes back to the recycler, a Node is destroyed without recursion.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace plaingrad::autograd {

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

}  // namespace plaingrad::autograd
