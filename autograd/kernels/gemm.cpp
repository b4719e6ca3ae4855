// The matrix product, c = op(a) @ op(b): where a Transformer spends its time.
//
// How it gets fast, step by step (`make bench-staircase` measures it on your machine). GFLOP/s at 1024 x 1024
// x 1024 on one core of an AMD EPYC (Zen 4), whose fma units peak at 117 with either instruction set. The
// figures below this comment are of a Zen 5 core, which peaks at 260 with AVX-512.
//
//                                                       AVX-512   AVX2
//   1  three loops: row times column                       0.6     0.6
//   2  the same three, k outside of j                       36      24
//   3  register tile (gemm_tile.h)                         102      70
//   4  blocks that fit into the caches                     106      83
//   5  b packed (gemm_pack.h)                              108     104
//   6  two threads                                         208
//
// 1  Going down a column of b, every element comes from another cache line and another page, and each fma
//    waits four cycles for the previous one.
// 2  With k outside of j, the inner loop goes along rows, whose elements do not depend on each other, so
//    the compiler vectorizes it. But each fma now loads and stores an element of c, and a core can load
//    and store only about as often as it can fma.
// 3  So c stays in registers, as many rows x columns as fit: the 6 + 4 loads of one k feed 24 fmas. Now
//    arithmetic is the limit, as long as a and b arrive in time.
// 4  They do if they come from a near cache: with k in blocks of 512 (kGemmBlockK), a panel, as many columns
//    of b as a tile has, is used for kBandRows rows before the next panel is needed.
// 5  Rows of b may be a page or more apart, and at such distances the lines of a panel evict each other from
//    the cache. Copying the panel in the order of use costs one pass over it and has neither problem. If a
//    or b is transposed, packing also transposes it back. A copy takes as long as two or three tiles, so it
//    should serve many: kGroupColumns are packed together and used by all rows of a task. Packing does not
//    pay if rows are short or each element is used only a few times: then the operand is read in place.
// 6  Threads take tasks, parts of c, and compute each for all k. Each task packs for itself. That costs some
//    extra copying, but no thread ever waits for another, and the panels stay in one core's cache. (Tried:
//    all threads pack each operand once, before the tasks. A training step of 6 layers, 384 wide, was 1 %
//    slower in float32 and 3 % faster in bfloat16, too little for a second way to pack. Two threads, Zen 5.)
//
// From the whole down to the registers, a product is divided into
//
//   tasks    Parts of c, a range of rows times a range of columns. A thread computes one after the other.
//   blocks   of k, kGemmBlockK each. A task goes through them in order.
//   groups   of a task's columns, kGroupColumns each, or twice as many if a is packed. b is packed by groups.
//   bands    of a task's rows, kBandRows each. a is packed by bands.
//   panels   of a group's columns, each as wide as a tile.
//   tiles    of a band and a panel: kTileRows rows, kTileVecs Vecs wide.
//
// Any of them may be smaller at an edge. Sizes in the comments are m x n x k: c has m rows and n columns.
//
// Products of bfloat16 (bf16.h) go through 1 to 6 as well. A tile then takes two k at a time, and both
// operands are always packed, because rounding copies them anyway.
//
// One row uses each element of b once, so it does not pay to pack b. If b was packed before, the row reads
// its panels, which are contiguous: so it is in decoding, as a Stepper (models/decoding/decoding.h) keeps its
// weights packed. Else gemm_thin.h reads b as it is, if it is float32.
//
// Each element's bits are the same on every path. An element is the chain of fmas that kernels.h describes;
// these steps decide when and where a chain runs, never what is in it. k is not split among threads, and each
// SIMD lane is one column, so there is no sum across lanes.
#include <cassert>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm_pack.h"
#include "autograd/kernels/gemm_thin.h"
#include "autograd/kernels/gemm_tile.h"
#include "autograd/kernels/kernels.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
namespace {

// Rows of a that pass by the panels of a group together. 192 x 512 floats are 384 KiB, which stay in the L2
// cache meanwhile, with a panel of b (128 KiB).
constexpr int64_t kBandRows = int64_t(32) * kTileRows;

// Columns whose panels are packed together, and then used by all rows of a task. Four panels are 512 KiB: 8
// are 1 to 2 % slower, as packing reads and writes L3 then. If a is packed too, it is for each group anew: 8.
constexpr int64_t kGroupColumns = 256;

// Approximate upper and lower limits for the size of a task's part of c. Packing costs as much as two tiles
// or three for each panel, so a task should have many rows; below kSmallestTask threads wait for memory more
// than they compute.
constexpr int64_t kLargestTask = 1 << 20;
constexpr int64_t kSmallestTask = 1 << 13;

// How many times as high as wide a task is, about: packing b costs more than reading a again.
constexpr int64_t kTaskAspect = 2;

// The least work of a task: 2^17 fmas take a microsecond, three times what it takes to hand them out.
constexpr int64_t kTaskWork = 1 << 17;

// Tasks per thread, unless the limits on the size of a task decide. With two, the other threads can take over
// from one that was interrupted, and tasks are still nearly as large as possible. (Twice as many cost
// 512 x 512 x 6400 with a transposed a 8 %.)
constexpr int64_t kThreadTasks = 2;

// Rows of b shorter than this are read in place: 64 x 64 x 320 runs at 127 GFLOP/s instead of 113.
constexpr int64_t kInPlaceRow = 256;

// With at most this many rows of a, rows of b of any length are read in place: each element of a packed
// panel is used once per tile of rows, and so few uses are not worth the copy (6 x 5000 x 512: 57 GFLOP/s
// instead of 46; 24 x 5000 x 512: 96 instead of 100).
constexpr int64_t kInPlaceRows = int64_t(3) * kTileRows;

// Rows of b at most this far apart are read in place by a single band, and so is a transposed a (128 x 512 x
// 768: 157 GFLOP/s instead of 134). More bands gain by a copy of b: its 512 rows lie on a quarter of the
// memory pages. If rows are further apart, some sets of the L2 cache have to hold more lines than they can:
// tiles run at half of the peak with rows of 1024, and at 98 % with 768. (A tile of AVX2 uses each line of a
// for 16 columns only, and is faster if numbers of a row are adjacent.)
constexpr int64_t kNearRow = kTileVecs > 1 ? 768 : 64;

struct GemmProblem {
    Gemm g;
    const Real* a;
    const Real* b;
    Real* c;
};

// A range of rows and columns of c, and of k.
struct GemmBlock {
    int64_t row, rows, column, columns, k, depth;

    GemmBlock with_rows(int64_t begin, int64_t end) const {
        const int64_t from = gemm_min(begin, rows), to = gemm_min(end, rows);
        return {row + from, to - from, column, columns, k, depth};
    }
    GemmBlock with_columns(int64_t begin, int64_t end) const {
        const int64_t from = gemm_min(begin, columns), to = gemm_min(end, columns);
        return {row, rows, column + from, to - from, k, depth};
    }
};

const Real* left_at(const GemmProblem& p, const GemmBlock& at) {
    return p.a + (p.g.a_transposed ? at.k * p.g.lda + at.row : at.row * p.g.lda + at.k);
}
// (Of a b that is not packed.)
const Real* right_at(const GemmProblem& p, const GemmBlock& at) {
    return p.b + (p.g.b_transposed ? at.column * p.g.ldb + at.k : at.k * p.g.ldb + at.column);
}

// y = f(x): in pointwise.cpp, a part of the same unit.
void unary_row(Unary f, int64_t n, const Real* x, Real* y);

// The activation of elements that are finished, while they are in the L1 cache.
void activate(const Gemm& g, int64_t rows, int64_t columns, Real* c, Real* before) {
    for (int64_t i = 0; i < rows; ++i, c += g.ldc) {
        if (before != nullptr)
            for (int64_t j = 0; j < columns; j += kLanes)
                store(before + i * g.ldc + j, columns - j, load(c + j, columns - j));
        unary_row(*g.activation, columns, c, c);
    }
}

GemmTarget target(const GemmProblem& p, const GemmBlock& block) {
    const Gemm& g = p.g;
    const bool last = block.k + block.depth == g.k;
    return {.c = p.c + block.row * g.ldc + block.column,
            .ld = g.ldc,
            .columns = block.columns,
            .add = g.accumulate || block.k > 0,
            .bias = last && g.bias != nullptr ? g.bias + block.column : nullptr};
}

// After the block has been added to c.
void finish_block(const GemmProblem& p, const GemmBlock& block) {
    const Gemm& g = p.g;
    if (g.activation == nullptr || block.k + block.depth < g.k)
        return;
    const int64_t at = block.row * g.ldc + block.column;
    Real* const before = g.before_activation == nullptr ? nullptr : g.before_activation + at;
    activate(g, block.rows, block.columns, p.c + at, before);
}

// A band with one panel of b, tile by tile: the panel stays in L2 while the rows of a pass by.
template <class T, class U>
void multiply(const GemmProblem& p, const GemmBlock& block, GemmLeft<T> a, const GemmRight<U>& b) {
    constexpr int rows = kParts<T> == kParts<U> ? kTileRows : 1;
    const int64_t steps = ceil_div(block.depth, kFactors<T>);
    for (int64_t i = 0; i < block.rows; i += rows, a.at += a.tile) {
        const GemmBlock tile = block.with_rows(i, i + rows);
        fitting_tile<rows>(tile.rows, steps, a, b, target(p, tile));
        finish_block(p, tile);
    }
}

// Whether the operands are read in place. Bfloat16 never are, because rounding copies them anyway. An a
// that is not transposed always is: a tile reads 6 rows of it in parallel, all 16 elements of each cache
// line in order. A panel of op(b) in place requires whole Vecs: memory beyond the last column may not be
// readable.
template <class T>
bool left_in_place(const Gemm& g) {
    return kFactors<T> == 1 && (!g.a_transposed || g.lda <= kNearRow);
}
template <class T>
bool right_in_place(const Gemm& g, const GemmBlock& part) {
    return kFactors<T> == 1 && !g.b_packed && !g.b_transposed && part.columns % kLanes == 0 &&
           (g.ldb < kInPlaceRow || part.rows <= kInPlaceRows ||
            (part.rows <= kBandRows && g.ldb <= kNearRow));
}

template <class T>
T* scratch_of(Scratch use, int64_t count) {
    static_assert(sizeof(T) <= sizeof(Real));
    return reinterpret_cast<T*>(scratch(use, count));
}

template <class T>
GemmLeft<T> left_of(const GemmProblem& p, const GemmBlock& band) {
    const Real* const a = left_at(p, band);
    const int64_t ld = p.g.lda;
    if (left_in_place<T>(p.g)) {
        const T* const at = reinterpret_cast<const T*>(a);
        return p.g.a_transposed ? GemmLeft<T>{at, 1, ld, kTileRows} : GemmLeft<T>{at, ld, 1, kTileRows * ld};
    }
    const int64_t row = ceil_div(count_of<T>(band.depth), kLanes) * kLanes + kPackGap;
    T* const packed = scratch_of<T>(Scratch::gemm_a, band.rows * row);
    pack_left(band.rows, band.depth, p.g.a_transposed, a, ld, packed, row);
    return {.at = packed, .row = row, .step = 1, .tile = kTileRows * row};
}

// Where a block begins in what pack_panels wrote: panel after panel, each with all k.
template <class T>
GemmRight<T> packed_right(const GemmProblem& p, const GemmBlock& block) {
    const int64_t panel = kTileColumns * ceil_div(p.g.k, kFactors<T>);
    const T* const at = reinterpret_cast<const T*>(p.b) + block.column / kTileColumns * panel;
    return {at + block.k / kFactors<T> * kTileColumns, kTileColumns, panel};
}

// b reaches the tiles in one of three ways:
//
//   in place        float32 that right_in_place allows: rows that are ldb apart
//   packed here     all else that is not packed: the group's panels are copied to scratch memory, and rounded
//   packed before   by pack_panels. Tiles read float32 as it is, and Halves where the processor has the
//                   instruction. Where it has none, panels of Halves are first unpacked to scratch memory, as
//                   floats; a single row unpacks them in registers (multiply_columns).
template <class T>
GemmRight<T> right_of(const GemmProblem& p, const GemmBlock& group) {
    if (p.g.b_packed && kParts<T> == 1)
        return packed_right<T>(p, group);
    if (right_in_place<T>(p.g, group))
        return {reinterpret_cast<const T*>(right_at(p, group)), p.g.ldb, kTileColumns};
    const int64_t panel = kTileColumns * (group.depth + 1);
    T* const packed = scratch_of<T>(Scratch::gemm_b, ceil_div(group.columns, kTileColumns) * panel);
    for (int64_t j = 0, at = 0; j < group.columns; j += kTileColumns, at += panel) {
        const GemmBlock part = group.with_columns(j, j + kTileColumns);
        if (p.g.b_packed)
            unpack(ceil_div(part.depth, 2), packed_right<Halves>(p, part).at, packed + at);
        else
            pack_right(part.depth, part.columns, p.g.b_transposed, right_at(p, part), p.g.ldb, packed + at,
                       kTileColumns);
    }
    return {packed, kTileColumns, panel};
}

// A group of columns of a task's part, for one block of k.
template <class T, class U>
void multiply_group(const GemmProblem& p, const GemmBlock& group, const GemmRight<U>& right) {
    for (int64_t i = 0; i < group.rows; i += kBandRows) {
        const GemmBlock band = group.with_rows(i, i + kBandRows);
        const GemmLeft<T> left = left_of<T>(p, band);
        GemmRight<U> panel = right;
        for (int64_t j = 0; j < band.columns; j += kTileColumns, panel.at += panel.panel)
            multiply(p, band.with_columns(j, j + kTileColumns), left, panel);
    }
}

template <class T>
void multiply_columns(const GemmProblem& p, const GemmBlock& group) {
    if constexpr (kParts < T >> 1)
        if (p.g.b_packed && p.g.m == 1)  // each number is used once, which is not worth a copy
            return multiply_group<T>(p, group, packed_right<Halves>(p, group));
    multiply_group<T>(p, group, right_of<T>(p, group));
}

// A task: its part of c, for all k. It packs what it needs by itself, so no thread waits for another.
template <class T>
void multiply_part(const GemmProblem& p, GemmBlock part) {
    const int64_t columns = (left_in_place<T>(p.g) ? 1 : 2) * kGroupColumns;
    for (part.k = 0; part.k < p.g.k; part.k += part.depth) {
        part.depth = gemm_min(kGemmBlockK, p.g.k - part.k);
        for (int64_t j = 0; j < part.columns; j += columns)
            multiply_columns<T>(p, part.with_columns(j, j + columns));
    }
}

// multiply_part for m == 1 and a b that is not packed, in float32.
void multiply_thin(const GemmProblem& p, GemmBlock part) {
    alignas(64) Real sum[kThinColumns];
    for (part.k = 0; part.k < p.g.k; part.k += part.depth) {
        part.depth = gemm_min(kGemmBlockK, p.g.k - part.k);
        for (int64_t j = 0; j < part.columns; j += kThinColumns) {
            const GemmBlock block = part.with_columns(j, j + kThinColumns);
            thin_sums(block.columns, block.depth, left_at(p, block), p.g.a_transposed ? p.g.lda : 1,
                      p.g.b_transposed, right_at(p, block), p.g.ldb, sum);
            const GemmTarget to = target(p, block);
            for (int64_t i = 0; i < block.columns; i += kLanes)
                finish(load(sum + i), block.columns - i, to.add, to.bias == nullptr ? nullptr : to.bias + i,
                       to.c + i);
            finish_block(p, block);
        }
    }
}

// How c is split into tasks, `down` times `across` of them, all about the same size. The split does not
// change the value of any element, so it may depend on the number of threads: a few large tasks read a and
// b less often. 64 threads have two tasks each from c = 1024 x 1024 on, and one each at 512 x 512; with a
// finer split, reading a and b would take each core longer than computing. (The blocks of k could be
// computed in parallel and added in order, with the same bits, but would need a copy of c for each block.)
struct GemmTasks {
    int64_t m, n;
    int64_t rows = ceil_div(m, kTileRows), columns = ceil_div(n, kTileColumns);  // in tiles
    int64_t down, across;

    explicit GemmTasks(const Gemm& g) : m(g.m), n(g.n) {
        const int64_t threads = thread_count(), work = gemm_max(1, m * n * g.k / kTaskWork);
        const int64_t few = m == 1 ? kThreadTasks * threads : gemm_max(2, m * n / kSmallestTask);
        int64_t wanted = gemm_max(gemm_min(few, kThreadTasks * threads), m * n / kLargestTask);
        wanted = gemm_min(ceil_div(wanted, threads) * threads, work);
        down = 1;
        while (2 * kTaskAspect * n * down * down < m * wanted)
            down *= 2;
        down = gemm_min(rows, down);
        across = gemm_max(1, gemm_min(columns, ceil_div(wanted, down)));
        down = gemm_max(down, gemm_min(rows, wanted / across));
        // Three panels in two tasks would let one thread wait: the busiest computes so many tiles.
        const auto busiest = [&](int64_t y, int64_t x) {
            return ceil_div(y * x, threads) * ceil_div(rows, y) * ceil_div(columns, x);
        };
        for (int64_t x = across - 1; x > 0; --x)
            if (const int64_t y = gemm_min(rows, ceil_div(wanted, x));
                100 * busiest(y, x) < 95 * busiest(down, across))
                down = y, across = x;
    }

    GemmBlock part(int64_t task) const {
        const int64_t i = task / across, j = task % across;
        return GemmBlock{0, m, 0, n, 0, 0}
            .with_rows(rows * i / down * kTileRows, rows * (i + 1) / down * kTileRows)
            .with_columns(columns * j / across * kTileColumns, columns * (j + 1) / across * kTileColumns);
    }
};

// k == 0: no block, so nothing is added to c.
void empty_sum(const Gemm& g, Real* c) {
    for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) {
            const Real sum = g.accumulate ? c[i * g.ldc + j] : Real(0);
            c[i * g.ldc + j] = g.bias == nullptr ? sum : sum + g.bias[j];
        }
    if (g.activation != nullptr)
        activate(g, g.m, g.n, c, g.before_activation);
}

template <class T>
void gemm(const Gemm& g, const Real* a, const Real* b, Real* c) {
    assert(g.m >= 0 && g.n >= 0 && g.k >= 0 && g.ldc >= g.n);
    assert(g.lda >= (g.a_transposed ? g.m : g.k) && (g.b_packed || g.ldb >= (g.b_transposed ? g.k : g.n)));
    if (g.m == 0 || g.n == 0)
        return;
    if (g.k == 0)
        return empty_sum(g, c);
    const GemmProblem p{g, a, b, c};
    const GemmTasks tasks(g);
    parallel_for(0, tasks.down * tasks.across, 1, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task)
            if (g.m == 1 && kFactors<T> == 1 && !g.b_packed)
                multiply_thin(p, tasks.part(task));
            else
                multiply_part<T>(p, tasks.part(task));
    });
}

static_assert(64 % kTileColumns == 0, "packed_size in kernels.h counts whole panels");

template <class T>
void pack_panels(const Gemm& g, const Real* b, Real* to) {
    const GemmProblem p{g, nullptr, b, nullptr};
    const int64_t size = kTileColumns * ceil_div(g.k, kFactors<T>);
    parallel_for(0, ceil_div(g.n, kTileColumns), 1, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
            const GemmBlock at =
                GemmBlock{0, 0, 0, g.n, 0, g.k}.with_columns(j * kTileColumns, (j + 1) * kTileColumns);
            auto* const panel = reinterpret_cast<PackedAs<T>*>(to) + j * size;
            if constexpr (kParts<T> == 1) {
                pack_right(g.k, at.columns, g.b_transposed, right_at(p, at), g.ldb, panel, kTileColumns);
            } else {
                T* const numbers = scratch_of<T>(Scratch::gemm_b, (g.k + 1) * kTileColumns);
                pack_right(g.k, at.columns, g.b_transposed, right_at(p, at), g.ldb, numbers, kTileColumns);
                join(ceil_div(g.k, 2), numbers, panel);
            }
        }
    });
}

// A bfloat16 is the upper half of a float.
inline Real packed_number(const Halves* word, int64_t half) {
    const uint32_t bits = half == 0 ? word->word << 16 : word->word & 0xffff0000u;
    float number;
    __builtin_memcpy(&number, &bits, sizeof number);
    return number;
}
inline Real packed_number(const Real* number, int64_t) { return *number; }

template <class T>
void unpack_column(const Gemm& g, const Real* packed, int64_t j, Real* to) {
    const GemmProblem p{g, nullptr, packed, nullptr};
    const GemmBlock from{0, 0, j, 1, 0, g.k};
    const auto* const at = packed_right<PackedAs<T>>(p, from).at + j % kTileColumns;
    for (int64_t k = 0; k < g.k; ++k)
        to[k] = packed_number(at + k / kFactors<T> * kTileColumns, k % kFactors<T>);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
