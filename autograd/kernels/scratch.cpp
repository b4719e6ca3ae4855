#include "autograd/kernels/scratch.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "autograd/base/address_sanitizer.h"
#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};

std::atomic<uint64_t> trims = 0;

struct Buffer {
    Real* numbers = nullptr;
    std::size_t bytes = 0;
    uint64_t trims_before = 0;  // it was allocated

    ~Buffer() { release(); }
    void release() {
        ::operator delete(numbers, kAlignment);
        numbers = nullptr, bytes = 0;
    }

    Real* get(std::size_t wanted) {  // null if there is no memory
        if (bytes < wanted || trims_before != trims) {
            release();  // first, so that old and new are never held at once
            const std::size_t lines = (wanted + 63) / 64;
            numbers = static_cast<Real*>(::operator new(lines * 64, kAlignment, std::nothrow));
            bytes = numbers == nullptr ? 0 : lines * 64;
            trims_before = trims;
        }
        if (numbers != nullptr)
            allow_only(numbers, wanted, bytes);
        return numbers;
    }
};

constexpr int kSlots = static_cast<int>(Scratch::count);

// The buffers of this thread, until it ends. They are not thread_local: glibc ends the program where it has
// no memory to note an object's destructor, and on macOS the object may be gone before it. The key is never
// deleted, as objects of static duration may compute in their destructors. Null if there is no memory, or,
// without `make`, if there are none yet.
Buffer* buffers_of_thread(bool make) {
    static pthread_key_t key;
    static const bool has_key =
        pthread_key_create(&key, [](void* all) { delete[] static_cast<Buffer*>(all); }) == 0;
    auto* buffers = has_key ? static_cast<Buffer*>(pthread_getspecific(key)) : nullptr;
    if (has_key && buffers == nullptr && make) {
        buffers = new (std::nothrow) Buffer[kSlots];
        if (pthread_setspecific(key, buffers) != 0) {
            delete[] buffers;
            buffers = nullptr;
        }
    }
    return buffers;
}

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    Buffer* const buffers = buffers_of_thread(true);
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(Real);
    Real* const numbers = buffers == nullptr ? nullptr : buffers[static_cast<int>(slot)].get(wanted);
    check(numbers != nullptr, "[scratch] out of memory: working memory of ", n, " elements");
    return numbers;
}

void scratch_trim() {
    ++trims;
    if (Buffer* const buffers = buffers_of_thread(false))
        for (int slot = 0; slot < kSlots; ++slot)
            buffers[slot].release();
}

}  // namespace plaingrad::autograd::kernels
