// All of this program's operator new, counted, and failing when asked to.
#pragma once

#include <cstdint>

namespace plaingrad::tests {

// From here on: the n-th one fails, and with `on` all later ones, too; 0: none.
void fail_allocation(int64_t n, bool on = false);
// While `on`, memory of this alignment is laid between guard pages, of which it touches the one behind it,
// and is full of NaN.
void guard_allocations(int64_t alignment, bool on);
int64_t allocations_made();  // since the last fail_allocation
int64_t allocations_live();  // that were not given back

// Whether they are counted, and can fail: valgrind has an operator new of its own.
bool counts_allocations();
constexpr const char* kNotCounted = "operator new is not this program's, as under valgrind";

}  // namespace plaingrad::tests
