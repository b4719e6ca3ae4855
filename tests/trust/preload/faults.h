// What an instrument asks of the preloaded library (faults.cpp), and what that tells it afterwards.
//
//     PLAINGRAD_FAULT='memory 17 12 once' LD_PRELOAD=build/trust/faults.so ./apps/reverse_task
//
// makes the 17th allocation after the beginning of main fail.
#pragma once

#include <cstdint>

namespace plaingrad::trust {

// The environment variable with the four words:
// - what is counted: memory, allocations; disk, calls that a disk can make fail; files, these and all other
//   calls about files.
// - which of them it is, from 1 on; 0: none, they are only counted.
// - what happens to it: it fails with this errno; or, if it is -N, the process gets the signal N before it.
// - once; or on: the same happens to all later ones.
inline constexpr const char* kFault = "PLAINGRAD_FAULT";
// The file for the counts, a FaultCounts; none without it.
inline constexpr const char* kFaultCounts = "PLAINGRAD_FAULT_COUNTS";

struct FaultCounts {
    int64_t memory = 0, disk = 0, files = 0;
    int64_t faults = 0;  // how often what was asked has happened
    char call[16] = {};  // the last call that it happened to
};

}  // namespace plaingrad::trust
