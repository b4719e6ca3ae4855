#include "autograd/kernels/scratch.h"

#include <atomic>
#include <cstdint>
#include <new>

#include "autograd/base/address_sanitizer.h"
#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Buffer {
    Real* numbers;
    std::size_t bytes;
    uint64_t trims;  // of all, when it was allocated

    void release() {
        ::operator delete(numbers, kAlignment);
        *this = {};
    }
};

std::atomic<uint64_t> trims = 0;

// Plain data, and a guard that empties the buffers when the thread ends. The main thread's guard is destroyed
// before objects of static duration. These may still compute: they find empty buffers.
thread_local Buffer buffers[static_cast<int>(Scratch::count)];
struct Guard {
    ~Guard() {
        for (Buffer& buffer : buffers)
            buffer.release();
    }
};

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    thread_local const Guard guard;
    Buffer& buffer = buffers[static_cast<int>(slot)];
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(Real);
    if (buffer.bytes < wanted || buffer.trims != trims) {
        buffer.release();  // first, so that old and new are never held at once
        const std::size_t lines = (wanted + 63) / 64;
        void* memory = ::operator new(lines * 64, kAlignment, std::nothrow);
        check(memory != nullptr, "[scratch] out of memory: working memory of ", n, " elements");
        buffer = {static_cast<Real*>(memory), lines * 64, trims};
    }
    allow_only(buffer.numbers, wanted, buffer.bytes);
    return buffer.numbers;
}

void scratch_trim() {
    ++trims;
    for (Buffer& buffer : buffers)
        buffer.release();
}

}  // namespace plaingrad::autograd::kernels
