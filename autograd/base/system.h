// What not every system offers, with what is done elsewhere. Only system.cpp asks which system it is.
#pragma once

#include <cstddef>

namespace plaingrad::autograd {

// How many processors this process may run on, at least 1: in a container that was given one of 64 it is one.
// (A quota of time, as docker's --cpus, is not seen.)
int processors();

// Asks for large pages, which make reading faster; without them the memory is the same.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace plaingrad::autograd
