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

thread_local Buffer buffers[static_cast<int>(Scratch::count)];
void release_all() {
    for (Buffer& buffer : buffers)
        buffer.release();
}

// Has the buffers of this thread released when it ends; false if there is no memory to note that. (A
// thread_local object with a destructor would do, but glibc ends the program where it cannot note one.) The
// key is never deleted, as objects of static duration may compute in their destructors.
bool release_at_end() {
    static pthread_key_t key;
    static const bool made = pthread_key_create(&key, [](void*) { release_all(); }) == 0;
    return made && pthread_setspecific(key, buffers) == 0;
}

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    Buffer& buffer = buffers[static_cast<int>(slot)];
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(Real);
    if (buffer.bytes < wanted || buffer.trims != trims) {
        buffer.release();  // first, so that old and new are never held at once
        const std::size_t lines = (wanted + 63) / 64;
        void* memory = release_at_end() ? ::operator new(lines * 64, kAlignment, std::nothrow) : nullptr;
        check(memory != nullptr, "[scratch] out of memory: working memory of ", n, " elements");
        buffer = {static_cast<Real*>(memory), lines * 64, trims};
    }
    allow_only(buffer.numbers, wanted, buffer.bytes);
    return buffer.numbers;
}

void scratch_trim() {
    ++trims;
    release_all();
}

}  // namespace plaingrad::autograd::kernels
