// Kernels with working memory that ends, to the cache line, at a page which nobody may touch, and that is
// full of NaN: what a kernel writes behind it, or reads before writing it, shows.
#include <thread>

#include "autograd/kernels/scratch.h"
#include "tests/allocations.h"
#include "tests/autograd/kernels/calls.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

// f() with working memory that is allocated anew; a cache line is its alignment.
template <class F>
auto guarded(const F& f) {
    struct Guards {
        Guards() { scratch_trim(), guard_allocations(64, true); }
        ~Guards() { guard_allocations(64, false), scratch_trim(); }
    } guards;
    return f();
}

struct Size {
    int64_t rows, n;
};

// Rows of whole cache lines, and such that pieces of working memory, or places of ids, are whole ones.
constexpr Size kSizes[] = {{0, 16},   {3, 0},    {3, 16},   {7, 16},   {17, 33},  {48, 48},
                           {64, 64},  {189, 16}, {192, 64}, {195, 80}, {65, 128}, {1, 512},
                           {1, 1024}, {1, 4096}, {1, 8192}, {2, 4097}, {3, 512},  {3, 528}};

}  // namespace

TEST_CASE("kernels: nothing behind working memory is touched, and nothing read before it is written",
          "[kernels][guarded]") {
    const Threads one(1);
    for (const Call& c : all_calls())
        for (const Size size : kSizes) {
            const auto expected = run(c, size.rows, size.n).value();
            for_each_isa([&](const char* isa) {
                INFO(c.name << ", " << size.rows << " x " << size.n << ", " << isa);
                const auto results = guarded([&] { return run(c, size.rows, size.n).value(); });
                REQUIRE(results.size() == expected.size());
                CHECK((results.empty() ||
                       std::memcmp(results.data(), expected.data(), results.size() * sizeof(Real)) == 0));
            });
        }
}

// Six rows' ends, and two more, are a cache line.
TEST_CASE("kernels: no ids need no places", "[kernels][guarded]") {
    const Threads one(1);
    std::vector<Real> table(6 * 16, kNan);
    guarded([&] { cpu().scatter_add({.count = 0, .n = 16, .pad = 0}, nullptr, nullptr, 6, {table.data()}); });
    CHECK(same_bits(table, std::vector<Real>(6 * 16, 0)));
}

TEST_CASE("kernels: a thread may ask for no working memory first", "[kernels]") {
    const Real* numbers = nullptr;
    std::thread([&] { numbers = scratch(Scratch::attention, 0); }).join();
    CHECK(numbers != nullptr);
}
