// How much memory this process has now.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace plaingrad::trust {

// 0 where /proc does not tell.
inline int64_t resident_bytes() {
    int64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace plaingrad::trust
