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
int processors(int process) {
    cpu_set_t set;
    return sched_getaffinity(process, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}
Whereabouts where_this_runs() {
    Whereabouts place = {machine_name(), ""};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int i = 0; i < CPU_SETSIZE; ++i)
            if (CPU_ISSET(i, &set))
                place.processors += (place.processors.empty() ? "" : ",") + std::to_string(i);
    return place;
}
void prefer_large_pages(void* memory, std::size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }
#else
int processors(int) { return 0; }
Whereabouts where_this_runs() { return {machine_name(), ""}; }
void prefer_large_pages(void*, std::size_t) {}
#endif

int processors() {
    const int allowed = processors(0);  // to the calling thread
    return allowed > 0 ? allowed : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace plaingrad::autograd
