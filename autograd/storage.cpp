#include "autograd/storage.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "autograd/base/check.h"
#include "autograd/base/system.h"
#include "autograd/base/tools.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd {
namespace {

constexpr int64_t kAlignment = 64;
// Large buffers request pages of 2 MiB. With pages of 4 KiB, each row of a large matrix is on a page of its
// own, and reading down a column misses the TLB at every step.
constexpr int64_t kHugePage = int64_t(1) << 21;
constexpr int64_t kSmallest = 16;  // elements: one vector

// Size classes in steps of an eighth: at most 12.5 % of a buffer is unused, and some hundred lists reach any
// size.
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
    // Linked, so that releasing a buffer needs no memory: it also happens when an exception says that there
    // is none.
    Storage* free[kClasses] PLAINGRAD_GUARDED_BY(mutex) = {};
    StorageStatistics statistics PLAINGRAD_GUARDED_BY(mutex);
    int64_t most_in_use PLAINGRAD_GUARDED_BY(mutex) = 0;  // bytes, so far
    bool poison PLAINGRAD_GUARDED_BY(mutex) = false;
};

// Never destroyed: tensors of static duration may be released after any destructor of ours would run.
Recycler& recycler() {
    static Recycler& instance = *new Recycler;
    return instance;
}

int64_t bytes(const Storage& storage) { return storage.capacity * static_cast<int64_t>(sizeof(Real)); }

void allow_only(const Storage& storage, int64_t n) {
    autograd::allow_only(storage.data, static_cast<std::size_t>(n) * sizeof(Real),
                         static_cast<std::size_t>(bytes(storage)));
}

std::align_val_t alignment(int64_t n) {
    const bool large = n * static_cast<int64_t>(sizeof(Real)) >= 2 * kHugePage;
    return std::align_val_t(static_cast<std::size_t>(large ? kHugePage : kAlignment));
}

// Returns the free buffers to the system.
void give_back(Recycler& r) PLAINGRAD_REQUIRES(r.mutex) {
    for (Storage*& free : r.free)
        while (free != nullptr) {
            Storage* const storage = std::exchange(free, free->next_free);
            ::operator delete(storage->data, alignment(storage->capacity));
            delete storage;
        }
    r.statistics.bytes_recycled = 0;
}

// Steps of one shape need the same buffers every time. If shapes vary, as batches of sentences do, each shape
// adds buffers of its own, and free ones would accumulate. So used and free memory together are limited to
// 1.5 times the largest amount ever in use, but at least 64 MiB. Beyond that, free buffers serve smaller
// sizes or are returned to the system. Memory in use is not limited. Training with one shape never reaches
// the limit after its first step.
bool is_beyond_limit(const Recycler& r, int64_t more) PLAINGRAD_REQUIRES(r.mutex) {
    constexpr int64_t a_little = int64_t(64) << 20;
    const StorageStatistics& s = r.statistics;
    return s.bytes_in_use + s.bytes_recycled + more > std::max(a_little, r.most_in_use + r.most_in_use / 2);
}

// At the limit a free buffer may be up to 1.5 times as large as requested: four classes.
constexpr int kLargerClasses = 4;

// A free buffer for class c; nullptr if there is none.
Storage* take_free(Recycler& r, const SizeClass& c) PLAINGRAD_REQUIRES(r.mutex) {
    const bool larger =
        r.free[c.index] == nullptr && is_beyond_limit(r, c.size * static_cast<int64_t>(sizeof(Real)));
    for (int i = c.index; i <= c.index + (larger ? kLargerClasses : 0) && i < kClasses; ++i)
        if (Storage*& free = r.free[i]; free != nullptr) {
            Storage* const storage = std::exchange(free, free->next_free);
            r.statistics.bytes_recycled -= bytes(*storage);
            return storage;
        }
    if (larger)
        give_back(r);
    return nullptr;
}

Storage* allocate(Recycler& r, int64_t n) PLAINGRAD_REQUIRES(r.mutex) {
    auto storage = std::make_unique<Storage>();
    const std::size_t size = static_cast<std::size_t>(n) * sizeof(Real);
    void* memory = ::operator new(size, alignment(n), std::nothrow);
    if (memory == nullptr) {  // free buffers of other sizes may be what the system lacks
        give_back(r);
        memory = ::operator new(size, alignment(n), std::nothrow);
    }
    check(memory != nullptr, "[storage] out of memory: a tensor of ", n, " elements was wanted");
    if (alignment(n) > std::align_val_t(kAlignment))
        prefer_large_pages(memory, size);
    storage->data = static_cast<Real*>(memory);
    storage->capacity = n;
    return storage.release();
}

}  // namespace

// To the free list of its size class.
static void recycle(Storage* storage) {
    storage->packed = nullptr;  // before the lock: this releases memory, too
    if (storage->data == nullptr) {
        delete storage;
        return;
    }
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    allow_only(*storage, 0);
    storage->version = 0;
    Storage*& free = r.free[size_class(storage->capacity).index];
    storage->next_free = std::exchange(free, storage);
    r.statistics.bytes_in_use -= bytes(*storage);
    r.statistics.bytes_recycled += bytes(*storage);
}

std::shared_ptr<Storage> Storage::make(int64_t n) {
    check(n <= kLargest, "[storage] out of memory: a tensor of ", n, " elements was wanted");
    Recycler& r = recycler();
    const SizeClass c = size_class(n);
    Storage* storage = nullptr;
    {
        const std::lock_guard lock(r.mutex);
        storage = take_free(r, c);
        if (storage == nullptr) {
            storage = allocate(r, c.size);
            ++r.statistics.system_calls;
        }
        r.statistics.bytes_in_use += bytes(*storage);
        r.most_in_use = std::max(r.most_in_use, r.statistics.bytes_in_use);
        if (r.poison) {
            allow_only(*storage, storage->capacity);
            std::fill_n(storage->data, storage->capacity, std::numeric_limits<Real>::quiet_NaN());
        }
        allow_only(*storage, n);
    }
    return {storage, recycle};
}

// Not to the free list: that would keep the memory of all weights of a model that is packed.
void Storage::drop_data() {
    ++version;
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    r.statistics.bytes_in_use -= bytes(*this);
    ::operator delete(data, alignment(capacity));
    data = nullptr;
    capacity = 0;
}

StorageStatistics storage_statistics() {
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    return r.statistics;
}

void storage_trim() {
    kernels::scratch_trim();
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    give_back(r);
    r.most_in_use = r.statistics.bytes_in_use;
}

void storage_poison(bool on) {
    Recycler& r = recycler();
    const std::lock_guard lock(r.mutex);
    r.poison = on;
}

}  // namespace plaingrad::autograd
