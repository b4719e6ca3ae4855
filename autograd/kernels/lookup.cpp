// Rows of a table by their numbers, and gradients back into the rows. Part of unit.cpp.
#include "autograd/base/parallel.h"
#include "autograd/kernels/row.h"

namespace autograd::kernels {
namespace {

void gather(int64_t count, int64_t n, const int32_t* ids, int32_t pad, const Real* table, Real* y) {
    parallel_for(0, count, rows_per_chunk(n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const Real* row = table + static_cast<int64_t>(ids[r]) * n;
            for (int64_t i = 0; i < n; i += kLanes)
                store(y + r * n + i, n - i, ids[r] == pad ? zero() : load(row + i, n - i));
        }
    });
}

// Two tokens with the same id write the same row, so threads share out the columns, not the tokens:
// each row's sum then grows in the order of the tokens, whoever computes it.
constexpr int64_t kTableColumns = 4 * kLanes;

void scatter_add(int64_t count, int64_t n, const int32_t* ids, int32_t pad, const Real* dy,
                 int64_t table_rows, Out dtable) {
    const int64_t strips = (n + kTableColumns - 1) / kTableColumns;
    const int64_t grain = count + table_rows >= kGrainNumbers / kTableColumns ? 1 : strips;
    parallel_for(0, strips, grain > 0 ? grain : 1, [&](int64_t first, int64_t last) {
        const int64_t begin = first * kTableColumns,
                      end = last * kTableColumns < n ? last * kTableColumns : n;
        for (int64_t r = 0; !dtable.accumulate && r < table_rows; ++r)
            for (int64_t i = begin; i < end; i += kLanes)
                store(dtable.data + r * n + i, end - i, zero());
        for (int64_t t = 0; t < count; ++t) {
            if (ids[t] == pad)
                continue;
            Real* row = dtable.data + static_cast<int64_t>(ids[t]) * n;
            for (int64_t i = begin; i < end; i += kLanes)
                store(row + i, end - i, load(row + i, end - i) + load(dy + t * n + i, end - i));
        }
    });
}

}  // namespace
}  // namespace autograd::kernels
