// System features that are not portable, with fallbacks. Only system.cpp tests which system it is on.
#pragma once

#include <cstddef>
#include <string>

namespace plaingrad::autograd {

// How many processors this process may run on, at least 1: in a container that was given one of 64 it is one.
// (A CPU time quota, such as docker's --cpus, is not considered.)
int processors();
int processors(int process);  // the same for another one of this user; 0 if the system does not tell

// The machine's name, and which of its processors this process may run on: "node7" and "0,1,2,3".
struct Whereabouts {
    std::string machine, processors;
};
Whereabouts where_this_runs();

// Requests large pages, which make access faster. Without them the memory works all the same.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace plaingrad::autograd
