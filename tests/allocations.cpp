#include "tests/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace plaingrad::tests {

namespace {
std::atomic<int64_t> made = 0, live = 0, failing = 0;
std::atomic<bool> goes_on = false;
}  // namespace

void fail_allocation(int64_t n, bool on) {
    made = 0;
    goes_on = on;
    failing = n;
}
int64_t allocations_made() { return made; }
int64_t allocations_live() { return live; }

static void* allocate(std::size_t alignment, std::size_t bytes) {
    const int64_t number = ++made, first = failing;
    const bool fails = first > 0 && (number == first || (number > first && goes_on));
    void* memory = nullptr;
    if (fails || posix_memalign(&memory, alignment, bytes) != 0)
        throw std::bad_alloc();
    ++live;
    return memory;
}

static void release(void* memory) {
    if (memory != nullptr)
        --live;
    std::free(memory);
}

}  // namespace plaingrad::tests

// The other forms of new call one of these two; those of delete, one of these four.
void* operator new(std::size_t bytes) { return plaingrad::tests::allocate(alignof(std::max_align_t), bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return plaingrad::tests::allocate(static_cast<std::size_t>(alignment), bytes);
}
void operator delete(void* memory) noexcept { plaingrad::tests::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { plaingrad::tests::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { plaingrad::tests::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    plaingrad::tests::release(memory);
}
