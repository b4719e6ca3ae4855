// Memory between two pages that nobody may touch: whoever reads or writes before its first byte or behind its
// last one is stopped by the processor.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "autograd/base/check.h"
#include "autograd/base/real.h"

namespace plaingrad::trust {

class Guarded {
public:
    using Real = autograd::Real;

    // Room for n numbers.
    explicit Guarded(int64_t n) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t bytes = (static_cast<std::size_t>(n) * sizeof(Real) + page - 1) / page * page;
        void* const all =
            mmap(nullptr, bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        autograd::check(all != MAP_FAILED, "no memory for ", bytes, " bytes between guard pages");
        char* const first = static_cast<char*>(all) + page;
        autograd::check(mprotect(all, page, PROT_NONE) == 0 && mprotect(first + bytes, page, PROT_NONE) == 0,
                        "guard pages cannot be protected");
        begin_ = reinterpret_cast<Real*>(first);
        end_ = reinterpret_cast<Real*>(first + bytes);
    }
    Guarded(const Guarded&) = delete;  // (never unmapped: it lives as long as its process)
    Guarded& operator=(const Guarded&) = delete;

    // Where n numbers begin, if they touch the page behind them, or the one before them.
    Real* place(int64_t n, bool at_end) const {
        autograd::check(n <= size(), n, " numbers do not fit between the guard pages");
        return at_end ? end_ - n : begin_;
    }
    int64_t size() const { return end_ - begin_; }
    Real* begin() const { return begin_; }
    Real* end() const { return end_; }

private:
    Real *begin_, *end_;
};

}  // namespace plaingrad::trust
