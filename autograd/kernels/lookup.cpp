// Rows of a table by their numbers, and gradients back into the rows. Part of unit.cpp.
#include "autograd/base/parallel.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

void gather(const Lookup& o, const int32_t* ids, const Real* table, const Real* positions, Real* y) {
    const Vec scale = broadcast(o.scale);
    const DropOut drop_out(o.key, o.p);
    parallel_for(0, o.count, rows_per_chunk(o.n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const Real* row = table + static_cast<int64_t>(ids[r]) * o.n;
            for (int64_t i = 0; i < o.n; i += kLanes) {
                const int64_t left = o.n - i;
                Vec x = ids[r] == o.pad ? zero() : load(row + i, left) * scale;
                if (positions != nullptr)
                    x = x + load(positions + r % o.length * o.n + i, left);
                store(y + r * o.n + i, left, drop_out(x, r * o.n + i));
            }
        }
    });
}

// Two tokens with the same id write the same row, so threads share out the columns, not the tokens:
// each row's sum then grows in the order of the tokens, whoever computes it.
constexpr int64_t kTableColumns = 4 * kLanes;

void scatter_add(const Lookup& o, const int32_t* ids, const Real* dy, int64_t table_rows, Out dtable) {
    const int64_t count = o.count, n = o.n;
    const Vec scale = broadcast(o.scale);
    const int64_t strips = (n + kTableColumns - 1) / kTableColumns;
    const int64_t grain = count + table_rows >= kGrainNumbers / kTableColumns ? 1 : strips;
    parallel_for(0, strips, grain > 0 ? grain : 1, [&](int64_t first, int64_t last) {
        const int64_t begin = first * kTableColumns,
                      end = last * kTableColumns < n ? last * kTableColumns : n;
        for (int64_t r = 0; !dtable.accumulate && r < table_rows; ++r)
            for (int64_t i = begin; i < end; i += kLanes)
                store(dtable.data + r * n + i, end - i, zero());
        for (int64_t t = 0; t < count; ++t) {
            if (ids[t] == o.pad)
                continue;
            Real* row = dtable.data + static_cast<int64_t>(ids[t]) * n;
            for (int64_t i = begin; i < end; i += kLanes)
                store(row + i, end - i, load(row + i, end - i) + load(dy + t * n + i, end - i) * scale);
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
