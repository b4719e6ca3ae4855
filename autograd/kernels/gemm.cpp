// The matrix product, c = op(a) @ op(b): where a Transformer spends its time.
//
// How it gets fast, one step after the other. GFLOP/s at 1024 x 1024 x 1024 on one core of an AMD EPYC
// (Zen 4), whose fma units do 117 with either instruction set:
//
//                                                       AVX-512   AVX2
//   1  three loops: row times column                       0.6     0.6
//   2  the same three, k outside of j                       36      24
//   3  register tile (gemm_tile.h)                         102      70
//   4  blocks that fit into the caches                     106      83
//   5  b packed (gemm_pack.h)                              108     104
//   6  two threads                                         208
//
// 1  Walking down a column of b, every number comes from another cache line and another page, and each
//    fma waits four cycles for the one before.
// 2  With k outside of j, rows are walked along, and the numbers of a row do not wait for each other:
//    the compiler makes vectors. But each fma now loads and stores an element of c, and a core can
//    load and store only about as often as it can fma.
// 3  So c stays in registers, as many rows x columns as fit: the 6 + 4 loads of one k feed 24 fmas. Now
//    the arithmetic is the limit as long as a and b arrive in time.
// 4  They do if they come from a near cache: 512 ks at a time (kGemmBlockK), a panel of b as wide as a
//    tile is used for kTaskRows rows before the next one is needed.
// 5  Rows of b are a page or more apart, and such distances make a panel collide with itself in the
//    cache. A copy in the order of use costs one pass over b and has neither problem. AVX2's narrow
//    panels need it more. Where b or a are transposed, packing is also what turns them around. It
//    does not pay where little is computed with each number: there the operand is read in place.
// 6  Threads share the packed b, and each takes tasks, bands of rows times ranges of columns.
//
// Each element's bits are the same on every path: it is the chain that kernels.h describes, and none of
// these steps touches it. They decide when and where a chain runs, never what is in it: k is not split
// among threads, and lanes are columns, so no lane ever meets another.
#include <cassert>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm_pack.h"
#include "autograd/kernels/gemm_tile.h"
#include "autograd/kernels/kernels.h"

namespace autograd::kernels {
namespace {

// A task's rows: 96 x 512 floats of a are 192 KiB, which together with a panel of b (128 KiB) stay in
// an L2 cache of 512 KiB and more. 48 and 192 measure the same or 1 % slower.
constexpr int64_t kTaskRows = 16 * kTileRows;

// Packed at once: 2048 x 512 floats are 4 MiB, so that both operands fit into a usual L3 cache. A
// multiple of a tile's rows and columns.
constexpr int64_t kBlockRows = 344 * kTileRows;
constexpr int64_t kBlockColumns = 2048;

// Up to so many rows b is read where it lies: packing a number costs about 0.1 ns and saves little if
// few tiles read it. Measured at k = n = 512: 24 rows run at 97 % of the peak instead of 79 %. A panel
// of one Vec touches a cache line per page of b, so there packing pays earlier.
constexpr int64_t kInPlaceRows = 4 * kTileRows * kTileVecs;

// Up to so many columns, a transposed a is read where it lies: 64 x 64 x 768 runs at 97 % of the peak
// instead of 80 %. (An a that is not transposed is never packed: a tile reads 6 rows of it side by
// side, 16 numbers of each line one after the other, and packing gains nothing, even at 2048^3.)
constexpr int64_t kInPlaceColumns = 128;

// One row: more of b's columns at once, because each row of b is another page: 1 x 512 x 512 takes 10
// us instead of 13 with AVX-512, and 12 instead of 31 with AVX2.
constexpr int kWideVecs = kVecRegisters == 32 ? 8 : 6;

// The least work for a task: 2^19 fmas take 10 us, some hundred times what it costs to take one. Larger
// tasks (2^21) left one of two threads idle in the products of small models: 14 % of a training step.
// Packing 2^16 numbers takes about 10 us, too.
constexpr int64_t kTaskWork = 1 << 19;
constexpr int64_t kPackWork = 1 << 16;

// With few rows, tasks are cut from the columns: half a tile wide at least, so that enough chains of fma
// remain to run side by side.
constexpr int64_t kStripColumns = kTileVecs > 1 ? kTileColumns / 2 : kTileColumns;

// More tasks than processors, so that none waits long for the last one.
constexpr int64_t kMaxTasks = 128;

struct GemmProblem {
    Gemm g;
    const Real* a;
    const Real* b;
    Real* c;
};

// What is worked on: these rows and columns of c, and these k.
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

// All of a block, tile by tile: a panel of b stays in L1 or L2 while the rows of a pass by.
template <int rows, int vecs>
void multiply(const GemmProblem& p, const GemmBlock& block, const GemmLeft& left, const GemmRight& right) {
    const Gemm& g = p.g;
    const bool last = block.k + block.depth == g.k;
    constexpr int64_t width = vecs * kLanes;
    GemmRight b = right;
    for (int64_t j = 0; j < block.columns; j += width, b.at += right.panel) {
        GemmLeft a = left;
        for (int64_t i = 0; i < block.rows; i += rows, a.at += left.tile) {
            const int64_t at = (block.row + i) * g.ldc + block.column + j;
            const GemmTarget to{.c = p.c + at,
                                .ld = g.ldc,
                                .columns = gemm_min(width, block.columns - j),
                                .add = g.accumulate || block.k > 0,
                                .bias = last && g.bias != nullptr ? g.bias + block.column + j : nullptr};
            const int64_t count = gemm_min(rows, block.rows - i);
            fitting_tile<rows, vecs>(count, block.depth, a, b, to);
            if (last && g.activation != nullptr)
                activate(g, count, to.columns, to.c,
                         g.before_activation == nullptr ? nullptr : g.before_activation + at);
        }
    }
}

// op(a) of the block: where it lies, or packed by all threads into this thread's scratch.
GemmLeft left_of(const GemmProblem& p, const GemmBlock& block) {
    const int64_t ld = p.g.lda;
    if (!p.g.a_transposed)
        return {.at = left_at(p, block), .row = ld, .step = 1, .tile = kTileRows * ld};
    if (block.columns <= kInPlaceColumns)
        return {.at = left_at(p, block), .row = 1, .step = ld, .tile = kTileRows};
    const int64_t tiles = ceil_div(block.rows, kTileRows);
    const int64_t tile = packed_left_size(kTileRows, block.depth);
    Real* const packed = scratch(Scratch::gemm_a, tiles * tile);
    parallel_for(0, tiles, ceil_div(kPackWork, tile), [&](int64_t begin, int64_t end) {
        const GemmBlock part = block.with_rows(begin * kTileRows, end * kTileRows);
        pack_left(part.depth, part.rows, left_at(p, part), ld, packed + begin * tile);
    });
    return {.at = packed, .row = 1, .step = kTileRows, .tile = tile};
}

GemmRight pack_right_of(const GemmProblem& p, const GemmBlock& block, Real* to) {
    return pack_right(p.g.b_transposed, block.depth, block.columns, right_at(p, block), p.g.ldb, to);
}

// Reads b where it lies. Whole Vecs only: beyond the last column there may be nothing to read.
void multiply_in_place(const GemmProblem& p, const GemmBlock& block, const GemmLeft& left) {
    GemmRight right{.at = right_at(p, block), .step = p.g.ldb, .panel = kTileColumns};
    if (block.rows > 1)
        return multiply<kTileRows, kTileVecs>(p, block, left, right);
    right.panel = kWideVecs * kLanes;
    multiply<1, kWideVecs>(p, block, left, right);
}

// Tasks are ranges of columns. Each packs the b that it needs, because no other task needs it.
void few_rows(const GemmProblem& p, const GemmBlock& block, const GemmLeft& left) {
    const bool in_place = !p.g.b_transposed && block.rows <= kInPlaceRows;
    const int64_t strips = ceil_div(block.columns, kStripColumns);
    const int64_t strip_work = block.rows * kStripColumns * block.depth;
    parallel_for(0, strips, ceil_div(kTaskWork, strip_work), [&](int64_t begin, int64_t end) {
        const GemmBlock part = block.with_columns(begin * kStripColumns, end * kStripColumns);
        const int64_t split = in_place ? part.columns / kLanes * kLanes : 0;
        multiply_in_place(p, part.with_columns(0, split), left);
        const GemmBlock rest = part.with_columns(split, part.columns);
        if (rest.columns == 0)
            return;
        Real* const room = scratch(Scratch::gemm_b, packed_right_size(rest.columns, rest.depth));
        multiply<kTileRows, kTileVecs>(p, rest, left, pack_right_of(p, rest, room));
    });
}

// All threads pack b, then all multiply: a task is a band of rows times a range of panels.
void many_rows(const GemmProblem& p, const GemmBlock& block, const GemmLeft& left) {
    const int64_t panels = ceil_div(block.columns, kTileColumns);
    const int64_t panel = packed_right_size(kTileColumns, block.depth);
    Real* const packed = scratch(Scratch::gemm_b, panels * panel);
    parallel_for(0, panels, ceil_div(kPackWork, panel), [&](int64_t begin, int64_t end) {
        pack_right_of(p, block.with_columns(begin * kTileColumns, end * kTileColumns),
                      packed + begin * panel);
    });

    const int64_t wanted = gemm_min(ceil_div(block.rows * block.columns * block.depth, kTaskWork), kMaxTasks);
    const int64_t bands = ceil_div(block.rows, kTaskRows);
    const int64_t band = ceil_div(ceil_div(block.rows, bands), kTileRows);  // in tiles
    const int64_t range = ceil_div(panels, ceil_div(wanted, bands));        // in panels
    const int64_t ranges = ceil_div(panels, range);
    const int64_t tasks = bands * ranges;
    parallel_for(0, tasks, ceil_div(tasks, wanted), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
            const int64_t i = task / ranges * band, j = task % ranges * range;
            const GemmBlock part = block.with_rows(i * kTileRows, (i + band) * kTileRows)
                                       .with_columns(j * kTileColumns, (j + range) * kTileColumns);
            GemmLeft a = left;
            a.at += i * left.tile;
            multiply<kTileRows, kTileVecs>(p, part, a, {packed + j * panel, kTileColumns, panel});
        }
    });
}

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

void gemm(const Gemm& g, const Real* a, const Real* b, Real* c) {
    assert(g.m >= 0 && g.n >= 0 && g.k >= 0 && g.ldc >= g.n);
    assert(g.lda >= (g.a_transposed ? g.m : g.k) && g.ldb >= (g.b_transposed ? g.k : g.n));
    if (g.k == 0)
        return empty_sum(g, c);
    const GemmProblem p{g, a, b, c};
    for (int64_t i = 0; i < g.m; i += kBlockRows)
        for (int64_t k = 0; k < g.k; k += kGemmBlockK) {
            const GemmBlock rows{.row = i,
                                 .rows = gemm_min(kBlockRows, g.m - i),
                                 .column = 0,
                                 .columns = g.n,
                                 .k = k,
                                 .depth = gemm_min(kGemmBlockK, g.k - k)};
            const GemmLeft left = left_of(p, rows);
            if (rows.rows <= kTaskRows)
                few_rows(p, rows, left);
            else
                for (int64_t j = 0; j < g.n; j += kBlockColumns)
                    many_rows(p, rows.with_columns(j, j + kBlockColumns), left);
        }
}

}  // namespace
}  // namespace autograd::kernels
