#include "autograd/base/system.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

#include <algorithm>
#include <thread>

namespace plaingrad::autograd {

#if defined(__linux__)
int processors() {
    cpu_set_t set;  // hardware_concurrency counts what the machine has
    return sched_getaffinity(0, sizeof set, &set) == 0
               ? CPU_COUNT(&set)
               : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
void prefer_large_pages(void* memory, std::size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }
#else
int processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }
void prefer_large_pages(void*, std::size_t) {}
#endif

}  // namespace plaingrad::autograd
