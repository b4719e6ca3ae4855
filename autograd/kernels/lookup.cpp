// Rows of a table by index, and gradients back into the rows. Part of unit.cpp.
#include "autograd/base/parallel.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
namespace {

void gather(const Lookup& o, const int32_t* ids, const Real* table, Real* y) {
    for_chunks(o.count, o.n, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const Real* row = table + static_cast<int64_t>(ids[r]) * o.n;
            for (int64_t i = 0; i < o.n; i += kLanes) {
                const int64_t left = o.n - i;
                store(y + r * o.n + i, left, ids[r] == o.pad ? zero() : load(row + i, left));
            }
        }
    });
}

// The terms of each row's sum: those of row v are at places[ends[v]] ... places[ends[v + 1] - 1], in order.
struct Terms {
    const int64_t *ends, *places;
};

// A counting sort of the ids.
Terms sorted(const Lookup& o, const int32_t* ids, int64_t table_rows) {
    constexpr int64_t kReals = sizeof(int64_t) / sizeof(Real);  // an int64_t takes
    auto* const ends =
        reinterpret_cast<int64_t*>(scratch(Scratch::places, kReals * (table_rows + 2 + o.count)));
    int64_t* const places = ends + table_rows + 2;
    for (int64_t v = 0; v < table_rows + 2; ++v)
        ends[v] = 0;
    for (int64_t t = 0; t < o.count; ++t)
        if (ids[t] != o.pad)
            ++ends[ids[t] + 2];
    for (int64_t v = 2; v < table_rows + 2; ++v)
        ends[v] += ends[v - 1];
    for (int64_t t = 0; t < o.count; ++t)  // ends[v + 1], where row v begins, moves to where it ends
        if (ids[t] != o.pad)
            places[ends[ids[t] + 1]++] = t;
    return {ends, places};
}

// The sum of the terms, starting from `sum`. Few are added in sequence. Many are added as a tree: 1000 equal
// terms in sequence would be off by 1e-5, 10⁶ by 1e-2.
constexpr int64_t kFewTerms = 64;

template <class F>
Vec sum_of_places(int64_t terms, Vec sum, const F& add) {
    if (terms <= kFewTerms)
        return sum_chain(0, terms, 1, sum, add);
    return sum + sum_terms((terms + kFewTerms - 1) / kFewTerms, 1, [&](Vec so_far, int64_t c) {
               return so_far + sum_chain(c * kFewTerms, smaller((c + 1) * kFewTerms, terms), 1, zero(), add);
           });
}

// Threads divide the columns, not the ids: a very frequent id would leave all work to one thread.
constexpr int64_t kTableColumns = 4 * kLanes;

void scatter_add(const Lookup& o, const int32_t* ids, const Real* dy, int64_t table_rows, Out dtable) {
    const int64_t n = o.n, strips = (n + kTableColumns - 1) / kTableColumns;
    const Terms terms = sorted(o, ids, table_rows);
    const int64_t grain = o.count + table_rows >= kGrainNumbers / kTableColumns ? 1 : strips;
    parallel_for(0, strips, grain > 0 ? grain : 1, [&](int64_t first, int64_t last) {
        const int64_t begin = first * kTableColumns, end = smaller(last * kTableColumns, n);
        for (int64_t v = 0; v < table_rows; ++v) {
            const int64_t* const places = terms.places + terms.ends[v];
            const int64_t count = terms.ends[v + 1] - terms.ends[v];
            Real* const row = dtable.data + v * n;
            for (int64_t i = begin; i < end && (count > 0 || !dtable.accumulate); i += kLanes) {
                const Vec before = dtable.accumulate ? load(row + i, end - i) : zero();
                store(row + i, end - i, sum_of_places(count, before, [&](Vec sum, int64_t k) {
                          return sum + load(dy + places[k] * n + i, end - i);
                      }));
            }
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
