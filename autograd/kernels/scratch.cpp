#include "autograd/kernels/scratch.h"

#include <pthread.h>

#include <atomic>
#include <cerrno>
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

// Empties the buffers of a thread when it ends. (A thread_local object with a destructor would do, but glibc
// ends the program where there is no memory left to note the destructor.) When it is destroyed, objects of
// static duration may still compute: their buffers stay until the process ends.
struct AtEnd {
    pthread_key_t key = 0;
    const bool made = pthread_key_create(&key, [](void*) { release_all(); }) == 0;
    ~AtEnd() {
        if (made)
            pthread_key_delete(key);
    }
    bool note() const { return made && pthread_setspecific(key, buffers) != ENOMEM; }
};

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    static const AtEnd at_end;
    Buffer& buffer = buffers[static_cast<int>(slot)];
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(Real);
    if (buffer.bytes < wanted || buffer.trims != trims) {
        buffer.release();  // first, so that old and new are never held at once
        const std::size_t lines = (wanted + 63) / 64;
        void* memory = at_end.note() ? ::operator new(lines * 64, kAlignment, std::nothrow) : nullptr;
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
