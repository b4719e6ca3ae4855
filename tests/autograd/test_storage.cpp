// The recycler: alignment, size classes, and that a training loop soon needs no memory from the system.
#include "autograd/storage.h"

#include <algorithm>
#include <barrier>
#include <limits>
#include <thread>
#include <utility>

#include "autograd/kernels/scratch.h"
#include "autograd/ops.h"
#include "tests/allocations.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

// Of the sanitizer, which only the library is built with.
extern "C" int __asan_address_is_poisoned(const volatile void*) __attribute__((weak));

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr auto kBytes = static_cast<int64_t>(sizeof(Real));

// One step of a small model with every kind of memory: graph, saved tensors, leaves' gradients.
void step(std::vector<Tensor>& parameters) {
    Tensor &table = parameters[0], &weight = parameters[1], &gain = parameters[2];
    const Tokens ids(2, 5, {1, 2, 3, 4, 0, 4, 4, 2, 0, 0}, 0);
    const Tensor x = layer_norm(embedding(table, ids), gain, gain);
    const Tensor y = attention(x, x, x, {.n_heads = 2, .mask = Mask::padding(ids).and_causal()});
    const Tensor hidden = dropout(gelu(linear(add(x, y), weight)), Real(0.1), Rng(1));
    const Tensor logits = linear_transposed(hidden, table);
    cross_entropy(logits, ids, {.ignore = 0}).backward();
    for (Tensor& p : parameters) {
        for (int64_t i = 0; i < p.numel(); ++i)
            p.mutable_data()[i] -= Real(0.01) * p.grad().data()[i];
        p.zero_grad();
    }
}

}  // namespace

TEST_CASE("storage: 1000 steps take no more memory than 10, and all of it is returned", "[memory]") {
    storage_trim();
    const int64_t in_use = storage_statistics().bytes_in_use;
    {
        std::vector<Tensor> parameters = {leaf(random({7, 18}, 1)), leaf(random({18, 18}, 2)),
                                          leaf(random({18}, 3))};
        for (int i = 0; i < 10; ++i)
            step(parameters);
        const StorageStatistics early = storage_statistics();
        for (int i = 0; i < 990; ++i)
            step(parameters);
        const StorageStatistics late = storage_statistics();
        CHECK(late.system_calls == early.system_calls);
        CHECK(late.bytes_in_use == early.bytes_in_use);
        CHECK(late.bytes_recycled == early.bytes_recycled);
        CHECK(early.bytes_in_use > in_use);
        CHECK(early.bytes_recycled > 0);
        CHECK(same_bits(parameters[1], parameters[1]));
    }
    CHECK(storage_statistics().bytes_in_use == in_use);
    storage_trim();
    CHECK(storage_statistics().bytes_recycled == 0);
}

TEST_CASE("storage: aligned, big enough, at most an eighth too big", "[memory]") {
    int wrong = 0;
    for (int64_t n = 0; n < 3000; n = n < 300 ? n + 1 : n + 37) {
        const std::shared_ptr<Storage> storage = Storage::make(n);
        wrong += reinterpret_cast<std::uintptr_t>(storage->data) % 64 != 0;
        wrong += storage->capacity < n || storage->capacity < 16;
        wrong += n > 16 && storage->capacity > n + n / 8 + 1;
        for (int64_t i = 0; i < storage->capacity; ++i)
            storage->data[i] = 1;  // the address sanitizer checks that it is ours
    }
    CHECK(wrong == 0);
    constexpr int64_t kPage = int64_t(1) << 21;  // a large one, of two such pages or more, begins with one
    const std::shared_ptr<Storage> large = Storage::make(2 * kPage / kBytes);
    CHECK(reinterpret_cast<std::uintptr_t>(large->data) % kPage == 0);
    storage_trim();
}

TEST_CASE("storage: a buffer is reused for requests of its size class", "[memory]") {
    storage_trim();
    const int64_t calls = storage_statistics().system_calls, used = storage_statistics().bytes_in_use;
    const Real* first = nullptr;
    {
        const Tensor x = Tensor::zeros({100});
        first = x.data();
        CHECK(storage_statistics().bytes_in_use == used + 104 * kBytes);
    }
    CHECK(storage_statistics().bytes_in_use == used);
    CHECK(storage_statistics().bytes_recycled == 104 * kBytes);
    {
        const Tensor same_class = Tensor::zeros({8, 13}), other = Tensor::zeros({105});
        CHECK(same_class.data() == first);
        CHECK(other.data() != first);
        CHECK(storage_statistics().system_calls == calls + 2);
    }
    storage_trim();
}

TEST_CASE("storage: with varying sizes, the kept memory stays bounded", "[memory]") {
    storage_trim();
    const int64_t before = storage_statistics().bytes_in_use;
    int64_t most = 0, most_held = 0;
    for (int round = 0; round < 20; ++round)
        for (int64_t n = 1 << 19; n < 1 << 24; n += 777'777) {  // 2 to 64 MiB, if Real is float
            const Tensor x = Tensor::uninitialized({n});
            const StorageStatistics now = storage_statistics();
            most = std::max(most, now.bytes_in_use);
            most_held = std::max(most_held, now.bytes_in_use + now.bytes_recycled);
        }
    CHECK(most < before + 72 * (int64_t(1) << 20) * kBytes / 4);
    CHECK(most_held <= most + most / 2);  // else it would be the sum over all classes, ten times as much
    CHECK(storage_statistics().bytes_recycled > 0);
    storage_trim();

    // 48 MiB may have company of 24; more than that, and up to a third less than 48, is given the 48
    //    themselves.
    constexpr int64_t mib = (int64_t(1) << 20) / kBytes;
    const Real* large = Tensor::uninitialized({48 * mib}).data();
    CHECK(Tensor::uninitialized({20 * mib}).data() != large);
    CHECK(Tensor::uninitialized({34 * mib}).data() == large);
    storage_trim();
    // 88 are the fourth class above 60, beyond a power of two.
    { Tensor::uninitialized({88 * mib}); }
    const int64_t calls = storage_statistics().system_calls;
    { Tensor::uninitialized({60 * mib}); }
    CHECK(storage_statistics().system_calls == calls);
    storage_trim();
    // What was in use before does not count any more: after 96, a request of 80 is at the limit again.
    { Tensor::uninitialized({200 * mib}); }
    storage_trim();
    large = Tensor::uninitialized({96 * mib}).data();
    CHECK(Tensor::uninitialized({80 * mib}).data() == large);
    storage_trim();
}

TEST_CASE("storage: poison fills new and recycled buffers with NaN", "[memory]") {
    { const Tensor x = Tensor::full({37}, 1); }
    storage_poison(true);
    for (const int64_t n : {37, 4001}) {
        const Tensor y = Tensor::uninitialized({n});
        int64_t numbers_found = 0;
        for (int64_t i = 0; i < n; ++i)
            numbers_found += y.data()[i] == y.data()[i];
        CHECK(numbers_found == 0);
    }
    storage_poison(false);
    CHECK(Tensor::zeros({37}).data()[36] == 0);
}

TEST_CASE("storage: a failed allocation is an error, not a crash", "[memory][errors]") {
    const StorageStatistics before = storage_statistics();
    for (const int64_t n : {std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::max() / kBytes + 1, int64_t(1) << 62}) {
        const std::string error = error_of([&] { Tensor::uninitialized({n}); });
        INFO(error);
        CHECK(contains(error, "[storage] out of memory"));
        CHECK(contains(error, std::to_string(n)));
        CHECK(!contains(error, "\n"));
    }
    CHECK(storage_statistics().bytes_in_use == before.bytes_in_use);
    CHECK(storage_statistics().system_calls == before.system_calls);
    CHECK(Tensor::zeros({3}).data()[0] == 0);
}

// ---- the handle

TEST_CASE("storage: the address sanitizer sees a read past the end, and of a tensor that is gone",
          "[storage][memory]") {
    if (__asan_address_is_poisoned == nullptr)
        SKIP("VARIANT=asan has the sanitizer");
    const auto is_forbidden = [](const Real* at) { return __asan_address_is_poisoned(at) != 0; };
    const Real* freed = nullptr;
    for (const int64_t n : {1, 5, 16, 17, 1000, 300'000}) {
        const Tensor x = Tensor::uninitialized({n});
        CHECK(!is_forbidden(x.data() + n - 1));
        CHECK(is_forbidden(x.data() + n));
        freed = x.data();
    }
    CHECK(is_forbidden(freed));
    for (const int64_t n : {9, 3, 8}) {
        const Real* const first = kernels::scratch(kernels::Scratch::partial, n);
        CHECK(!is_forbidden(first + n - 1));
        CHECK(is_forbidden(first + n));
    }
}

TEST_CASE("tensor: making, reading, copying", "[tensor]") {
    const Tensor empty;
    CHECK((!empty.defined() && !empty.needs_grad() && !empty.has_grad()));
    const Tensor x = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK((x.defined() && x.rank() == 2 && x.size(-1) == 3 && x.numel() == 6));
    CHECK(x.to_vector() == std::vector<Real>{1, 2, 3, 4, 5, 6});
    CHECK(Tensor(7).item() == 7);
    CHECK(Tensor::full({1, 1}, 3).item() == 3);
    CHECK(Tensor::zeros({0, 3}).to_vector().empty());

    Tensor handle = x, copy = x.clone();
    handle.mutable_data()[0] = 9;
    CHECK((x.data()[0] == 9 && copy.data()[0] == 1));
    CHECK((handle.same_memory(x) && !copy.same_memory(x)));
    const Tensor moved = std::move(handle);
    CHECK(moved.same_memory(x));
    CHECK(moved.with_shape({3, 2}).shape() == Shape{3, 2});
}

// A request for a few elements gets the large buffer that was kept; after a trim, a new one. (Which may begin
// where the old one did: so allocations are counted, while the other thread waits.)
TEST_CASE("storage: trim also gives back the kernels' working memory, of every thread", "[storage]") {
    if (!tests::counts_allocations())
        SKIP(tests::kNotCounted);
    const auto ask = [](int64_t n) { kernels::scratch(kernels::Scratch::partial, n); };
    const auto gets_new = [&] {
        const int64_t before = tests::allocations_made();
        ask(16);
        return tests::allocations_made() > before;
    };
    constexpr int64_t kLarge = 1 << 23;
    ask(kLarge);
    CHECK(!gets_new());
    std::barrier asked(2), trimmed(2);
    bool kept = false, released = false;
    std::thread other([&] {
        ask(kLarge);
        kept = !gets_new();
        asked.arrive_and_wait();
        trimmed.arrive_and_wait();
        released = gets_new();
    });
    asked.arrive_and_wait();
    storage_trim();
    CHECK(gets_new());
    trimmed.arrive_and_wait();
    other.join();
    CHECK((kept && released));
}

TEST_CASE(
    "storage: the kernels' working memory is allocated anew only if more is asked for, and ends with its "
    "thread",
    "[storage]") {
    if (!tests::counts_allocations())
        SKIP(tests::kNotCounted);
    constexpr int64_t kLine = 64 / kBytes;
    kernels::scratch(kernels::Scratch::partial, 1);  // this thread's first one, which makes a list of them
    storage_trim();
    const auto allocations = [](int64_t n) {
        const int64_t before = tests::allocations_made();
        kernels::scratch(kernels::Scratch::partial, n);
        return tests::allocations_made() - before;
    };
    CHECK(allocations(kLine) == 1);
    CHECK(allocations(kLine) == 0);
    CHECK(allocations(1) == 0);
    CHECK(allocations(kLine + 1) == 1);
    CHECK(allocations(2 * kLine) == 0);  // a buffer ends with a cache line
    storage_trim();
    const int64_t before = tests::allocations_live();
    int64_t inside = 0;
    std::thread([&] {
        kernels::scratch(kernels::Scratch::partial, 1000);
        kernels::scratch(kernels::Scratch::gemm_a, 1000);
        inside = tests::allocations_live();
    }).join();
    const int64_t after = tests::allocations_live();  // before a CHECK, in which Catch2 releases messages
    CHECK(inside >= before + 2);
    CHECK(after == before);
}
