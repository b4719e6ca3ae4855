#include "autograd/base/system.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace plaingrad::autograd {

static std::string machine_name() {
    char name[256] = {};
    return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

#if defined(__linux__)
int processors() {
    cpu_set_t set;  // hardware_concurrency counts what the machine has
    return sched_getaffinity(0, sizeof set, &set) == 0
               ? CPU_COUNT(&set)
               : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
std::string where_this_runs() {
    std::string text = machine_name() + ' ';
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int i = 0; i < CPU_SETSIZE; ++i)
            text += CPU_ISSET(i, &set) ? std::to_string(i) + ',' : "";
    return text;
}
void prefer_large_pages(void* memory, std::size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }
#else
std::string where_this_runs() { return machine_name(); }
int processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }
void prefer_large_pages(void*, std::size_t) {}
#endif

}  // namespace plaingrad::autograd
