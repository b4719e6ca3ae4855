#include "tests/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "tests/guarded.h"

namespace plaingrad::tests {

namespace {
std::atomic<int64_t> made = 0, live = 0, failing = 0;
std::atomic<bool> goes_on = false;

std::atomic<int64_t> guarded_alignment = 0;
std::atomic<int> guarded_count = 0;
struct {
    std::optional<Guarded<char>> pages;
    void* memory = nullptr;
} guarded[16];

void* between_pages(std::size_t bytes) {
    for (auto& g : guarded)
        if (!g.pages) {
            g.pages.emplace(static_cast<int64_t>(bytes));
            g.memory = g.pages->place(static_cast<int64_t>(bytes), true);
            std::memset(g.pages->begin(), 0xff, static_cast<std::size_t>(g.pages->end() - g.pages->begin()));
            ++guarded_count;
            return g.memory;
        }
    throw std::bad_alloc();
}
bool released_pages(void* memory) {
    for (auto& g : guarded)
        if (guarded_count > 0 && memory != nullptr && g.memory == memory) {
            g.pages.reset();
            g.memory = nullptr;
            --guarded_count;
            return true;
        }
    return false;
}
}  // namespace

void guard_allocations(int64_t alignment, bool on) { guarded_alignment = on ? alignment : 0; }

void fail_allocation(int64_t n, bool on) {
    made = 0;
    goes_on = on;
    failing = n;
}
int64_t allocations_made() { return made; }
int64_t allocations_live() { return live; }
bool counts_allocations() {
    // By their addresses, which valgrind replaces.
    void* (*const volatile make)(std::size_t) = ::operator new;
    void (*const volatile give_back)(void*) = ::operator delete;
    const int64_t before = made;
    give_back(make(1));
    return made > before;
}

static void* allocate(std::size_t alignment, std::size_t bytes) {
    const int64_t number = ++made, first = failing;
    const bool fails = first > 0 && (number == first || (number > first && goes_on));
    void* memory = nullptr;
    if (static_cast<int64_t>(alignment) == guarded_alignment)
        memory = between_pages(bytes);
    else if (fails || posix_memalign(&memory, alignment, bytes) != 0)
        throw std::bad_alloc();
    ++live;
    return memory;
}

static void release(void* memory) {
    if (memory != nullptr)
        --live;
    if (!released_pages(memory))
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
