// Every kernel on operands that touch a page which nobody may read or write: behind them, and before them. A
// kernel that goes one number too far, where no result shows it, dies here. Inputs cannot be written either.
//
// Sizes: nothing, one number, around one Vec and two of 16, and beyond each block: 64 rows or queries, 64
// keys of a panel, 128 numbers of a search, 256 of a short row, 512 keys, 1024 columns of a thin product,
// 4096 of a long sum.
#include "tests/autograd/kernels/calls.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

struct Size {
    int64_t rows, n;
};

const std::vector<Size> kSizes = {{0, 16},   {3, 0},    {1, 1},   {4, 15},   {1, 16},  {3, 16},
                                  {17, 17},  {6, 31},   {1, 32},  {7, 32},   {50, 33}, {16, 1},
                                  {33, 48},  {65, 65},  {2, 128}, {1, 129},  {2, 256}, {3, 257},
                                  {1, 1024}, {1, 1031}, {3, 512}, {1, 4096}, {1, 4097}};
// A third as many queries as rows.
const std::vector<Size> kAttentionSizes = {{0, 16},  {3, 0},  {3, 1},  {3, 15},  {48, 16},  {51, 17}, {9, 31},
                                           {12, 32}, {6, 33}, {6, 64}, {12, 65}, {195, 16}, {3, 513}};

// The kernel's results in ordinary memory, which other tests compare with formulas, and between guard pages.
void check_between_guard_pages(const Call& c, const std::vector<Size>& sizes = kSizes) {
    for (const Size size : sizes)
        for (const bool accumulate : {false, true}) {
            const auto expected = run(c, size.rows, size.n, {}, accumulate);
            REQUIRE(expected);
            for_each_isa([&](const char* isa) {
                for (const auto side : {Place::at_end, Place::at_begin}) {
                    if (accumulate && side == Place::at_begin)
                        continue;  // it reads only where it writes
                    INFO(c.name << ", " << size.rows << " x " << size.n << ", " << isa
                                << (side == Place::at_end ? ", the page behind" : ", the page before"));
                    const auto results = run(c, size.rows, size.n, {side}, accumulate);
                    REQUIRE(results);                         // a result's surroundings are as they were
                    CHECK(same_or_nan(*results, *expected));  // of rows of nothing, statistics are NaN
                }
            });
        }
}

}  // namespace

TEST_CASE("kernels: nothing before or behind an operand is touched", "[kernels][guarded]") {
    const Threads one(1);
    for (const auto family : {elementwise_calls, row_calls, moving_calls, gemm_calls})
        for (const Call& c : family())
            check_between_guard_pages(c);
    for (const Call& c : attention_calls())
        check_between_guard_pages(c, kAttentionSizes);
}
