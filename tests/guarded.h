// Memory between two pages that nobody may touch: whoever reads or writes before its first byte or behind its
// last one is stopped by the processor.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "autograd/base/check.h"

namespace plaingrad::tests {

template <class T>
class Guarded {
public:
    // Room for n Ts, or some more: it fills whole pages.
    explicit Guarded(int64_t n)
        : bytes_((static_cast<std::size_t>(n) * sizeof(T) + page() - 1) / page() * page()) {
        void* const all =
            mmap(nullptr, bytes_ + 2 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        autograd::check(all != MAP_FAILED, "no memory for ", bytes_, " bytes between guard pages");
        first_ = static_cast<char*>(all) + page();
        autograd::check(
            mprotect(all, page(), PROT_NONE) == 0 && mprotect(first_ + bytes_, page(), PROT_NONE) == 0,
            "guard pages cannot be protected");
    }
    ~Guarded() { munmap(first_ - page(), bytes_ + 2 * page()); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    // Where n Ts begin, if they touch the page behind them, or the one before them.
    T* place(int64_t n, bool at_end) const {
        autograd::check(n <= end() - begin(), n, " elements do not fit between the guard pages");
        return at_end ? end() - n : begin();
    }
    T* begin() const { return reinterpret_cast<T*>(first_); }
    T* end() const { return reinterpret_cast<T*>(first_ + bytes_); }

    // From now on a write is stopped, too.
    void seal() const {
        autograd::check(mprotect(first_, bytes_, PROT_READ) == 0, "memory cannot be sealed");
    }

private:
    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    std::size_t bytes_;
    char* first_;
};

}  // namespace plaingrad::tests
