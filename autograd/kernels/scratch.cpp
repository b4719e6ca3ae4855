#include "autograd/kernels/scratch.h"

#include <atomic>
#include <new>

#include "autograd/base/check.h"
#include "autograd/base/tools.h"
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
        if (numbers == nullptr || bytes < wanted || trims_before != trims) {
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

thread_local Buffer buffers[static_cast<int>(Scratch::count)];

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    Real* const numbers = buffers[static_cast<int>(slot)].get(static_cast<std::size_t>(n) * sizeof(Real));
    check(numbers != nullptr, "[scratch] out of memory: working memory of ", n, " elements");
    return numbers;
}

void scratch_trim() {
    ++trims;
    for (Buffer& buffer : buffers)
        buffer.release();
}

}  // namespace plaingrad::autograd::kernels
