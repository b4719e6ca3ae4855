#include "autograd/base/scratch.h"

#include <cstddef>
#include <memory>
#include <new>

namespace autograd {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Free {
    void operator()(Real* p) const { ::operator delete(p, kAlignment); }
};

struct Buffer {
    std::unique_ptr<Real, Free> data;
    int64_t size = 0;
};

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    thread_local Buffer buffers[static_cast<int>(Scratch::count)];
    Buffer& buffer = buffers[static_cast<int>(slot)];
    if (buffer.size < n) {
        buffer.data.reset();  // first, so that old and new are never held at once
        buffer.size = 0;
        const auto bytes = static_cast<std::size_t>(n) * sizeof(Real);
        buffer.data.reset(static_cast<Real*>(::operator new(bytes, kAlignment)));
        buffer.size = n;
    }
    return buffer.data.get();
}

}  // namespace autograd
