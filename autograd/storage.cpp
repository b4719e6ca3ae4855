#include "autograd/storage.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <bit>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "autograd/base/check.h"

namespace autograd {
namespace {

constexpr int64_t kAlignment = 64;
// Large buffers are asked for in pages of 2 MiB: with pages of 4 KiB, the rows of a large matrix are a page each,
// and walking down a column of it misses the processor's table of pages at every step.
constexpr int64_t kHugePage = int64_t(1) << 21;
constexpr int64_t kSmallest = 16;  // numbers: one vector

// Size classes in steps of an eighth: at most 12.5 % of a buffer is unused, and some hundred lists reach any size.
struct SizeClass {
    int index;
    int64_t size;
};

SizeClass size_class(int64_t n) {
    if (n <= kSmallest)
        return {0, kSmallest};
    // 2^log < n <= 2^(log+1), log >= 4
    const int log = static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1))) - 1;
    const int64_t step = int64_t(1) << (log - 3);
    const int64_t size = (n + step - 1) / step * step;
    return {(log - 4) * 8 + static_cast<int>(size / step) - 8, size};
}

constexpr int kClasses = 512;
constexpr int64_t kLargest = int64_t(1) << 56;  // beyond it no machine has the memory, and bytes overflow

struct Recycler {
    std::mutex mutex;
    std::vector<Storage*> waiting[kClasses];
    StorageStatistics statistics;
    bool poison = false;
};

// Never destroyed: tensors of static duration may be released after any destructor of ours would run.
Recycler& recycler() {
    static Recycler& instance = *new Recycler;
    return instance;
}

int64_t bytes(const Storage& storage) { return storage.capacity * static_cast<int64_t>(sizeof(Real)); }

std::align_val_t alignment(int64_t n) {
    const bool large = n * static_cast<int64_t>(sizeof(Real)) >= 2 * kHugePage;
    return std::align_val_t(static_cast<std::size_t>(large ? kHugePage : kAlignment));
}

void* ask_system(int64_t n) {
    const std::size_t size = static_cast<std::size_t>(n) * sizeof(Real);
    void* memory = ::operator new(size, alignment(n), std::nothrow);
#if defined(__linux__)
    if (memory != nullptr && alignment(n) > std::align_val_t(kAlignment))
        madvise(memory, size, MADV_HUGEPAGE);  // a wish: without it the pages are small
#endif
    return memory;
}

// Gives the waiting buffers back to the system. The mutex is held.
void give_back(Recycler& r) {
    for (std::vector<Storage*>& waiting : r.waiting) {
        for (Storage* storage : waiting) {
            ::operator delete(storage->data, alignment(storage->capacity));
            delete storage;
        }
        waiting = {};
    }
    r.statistics.bytes_recycled = 0;
}

Storage* allocate(Recycler& r, int64_t n) {
    void* memory = ask_system(n);
    if (memory == nullptr) {  // what waits here may be what is missing there
        give_back(r);
        memory = ask_system(n);
    }
    check(memory != nullptr, "[storage] out of memory: a tensor of ", n, " numbers was asked for");
    auto* storage = new Storage;
    storage->data = static_cast<Real*>(memory);
    storage->capacity = n;
    return storage;
}

}  // namespace

Ref<Storage> Storage::make(int64_t n) {
    check(n <= kLargest, "[storage] out of memory: a tensor of ", n, " numbers was asked for");
    Recycler& r = recycler();
    const SizeClass c = size_class(n);
    const std::lock_guard lock(r.mutex);
    Storage* storage = nullptr;
    if (std::vector<Storage*>& waiting = r.waiting[c.index]; !waiting.empty()) {
        storage = waiting.back();
        waiting.pop_back();
        r.statistics.bytes_recycled -= bytes(*storage);
    } else {
        storage = allocate(r, c.size);
        ++r.statistics.system_calls;
    }
    r.statistics.bytes_in_use += bytes(*storage);
    if (r.poison)
        for (int64_t i = 0; i < storage->capacity; ++i)
            storage->data[i] = std::numeric_limits<Real>::quiet_NaN();
    return Ref<Storage>(storage);
}

void Storage::release(Storage* storage) {
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    storage->version = 0;
    r.waiting[size_class(storage->capacity).index].push_back(storage);
    r.statistics.bytes_in_use -= bytes(*storage);
    r.statistics.bytes_recycled += bytes(*storage);
}

StorageStatistics storage_statistics() {
    const std::lock_guard lock(recycler().mutex);
    return recycler().statistics;
}

void storage_trim() {
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    give_back(r);
}

void storage_poison(bool on) {
    const std::lock_guard lock(recycler().mutex);
    recycler().poison = on;
}

}  // namespace autograd
