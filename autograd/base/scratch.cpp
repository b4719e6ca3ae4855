#include "autograd/base/scratch.h"

#include <cstddef>
#include <memory>

namespace plaingrad::autograd {
namespace {

struct alignas(64) Line {
    Real numbers[64 / sizeof(Real)];
};

struct Buffer {
    std::unique_ptr<Line[]> lines;
    std::size_t size = 0;
};

}  // namespace

Real* scratch(Scratch slot, int64_t n) {
    thread_local Buffer buffers[static_cast<int>(Scratch::count)];
    Buffer& buffer = buffers[static_cast<int>(slot)];
    const std::size_t needed = static_cast<std::size_t>(n) * sizeof(Real) / sizeof(Line) + 1;
    if (buffer.size < needed) {
        buffer = {};  // first, so that old and new are never held at once
        buffer = {std::unique_ptr<Line[]>(new Line[needed]), needed};
    }
    return buffer.lines[0].numbers;
}

}  // namespace plaingrad::autograd
