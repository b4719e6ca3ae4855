// Packing: copies a block of an operand into the order in which the tiles will read it, one address
// after the other, padded with zeros where the matrix ends. See gemm.cpp for the reasons.
#pragma once

#include "autograd/kernels/gemm_tile.h"

namespace autograd::kernels {
namespace {

constexpr int64_t gemm_min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Between two packed tiles or panels. Their sizes are multiples of 4 KiB when the block of k is full;
// without a gap the copies below would write many lines of the same set of the L1 cache at once.
constexpr int64_t kPackGap = kLanes;

constexpr int64_t packed_left_size(int64_t rows, int64_t depth) {
    return ceil_div(rows, kTileRows) * (kTileRows * depth + kPackGap);
}
constexpr int64_t packed_right_size(int64_t columns, int64_t depth) {
    return ceil_div(columns, kTileColumns) * (kTileColumns * depth + kPackGap);
}

// Four numbers: the unit of transposing. Every machine has registers of this kind and instructions
// that shuffle them, which the compilers offer.
using Quad [[gnu::vector_size(4 * sizeof(Real))]] = Real;

// Four of the eight numbers of a and b, by their places.
template <int i, int j, int k, int l>
Quad pick(Quad a, Quad b) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
    return __builtin_shuffle(a, b, decltype(a < b){i, j, k, l});  // places: integers as wide as Real
#else
    return __builtin_shufflevector(a, b, i, j, k, l);
#endif
}

inline Quad load_quad(const Real* p) {
    Quad q;
    __builtin_memcpy(&q, p, sizeof q);
    return q;
}
inline void store_quad(Real* p, Quad q) { __builtin_memcpy(p, &q, sizeof q); }

// to[k * width + j] = from[j * ld + k] for j, k < 4.
inline void transpose_quads(const Real* from, int64_t ld, Real* to, int64_t width) {
    const Quad a = load_quad(from), b = load_quad(from + ld);
    const Quad c = load_quad(from + 2 * ld), d = load_quad(from + 3 * ld);
    const Quad ab = pick<0, 4, 1, 5>(a, b), AB = pick<2, 6, 3, 7>(a, b);
    const Quad cd = pick<0, 4, 1, 5>(c, d), CD = pick<2, 6, 3, 7>(c, d);
    store_quad(to, pick<0, 1, 4, 5>(ab, cd));
    store_quad(to + width, pick<2, 3, 6, 7>(ab, cd));
    store_quad(to + 2 * width, pick<0, 1, 4, 5>(AB, CD));
    store_quad(to + 3 * width, pick<2, 3, 6, 7>(AB, CD));
}

// to[k * width + j] = from[j * ld + k] for j < count and k < depth; 0 for count <= j < padded.
inline void pack_transposed(int64_t depth, int64_t count, int64_t padded, const Real* from, int64_t ld,
                            Real* to, int64_t width) {
    const int64_t quads = count < 4 ? 0 : depth / 4 * 4;
    for (int64_t k = 0; k < quads; k += 4)
        for (int64_t done = 0; done < count; done += 4) {
            const int64_t j = gemm_min(done, count - 4);  // the last quad overlaps the one before
            transpose_quads(from + j * ld + k, ld, to + k * width + j, width);
        }
    for (int64_t k = quads; k < depth; ++k)
        for (int64_t j = 0; j < count; ++j)
            to[k * width + j] = from[j * ld + k];
    for (int64_t k = 0; k < depth && count < padded; ++k)
        for (int64_t j = count; j < padded; ++j)
            to[k * width + j] = 0;
}

// `columns` columns of op(b) as panels: of each k, kTileColumns numbers.
inline GemmRight pack_right(bool transposed, int64_t depth, int64_t columns, const Real* b, int64_t ld,
                            Real* to) {
    const int64_t panel = kTileColumns * depth + kPackGap;
    if (transposed) {
        for (int64_t j = 0; j < columns; j += kLanes)
            pack_transposed(depth, gemm_min(kLanes, columns - j), kLanes, b + j * ld, ld,
                            to + j / kTileColumns * panel + j % kTileColumns, kTileColumns);
    } else {
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t j = 0; j < columns; j += kLanes)
                store(to + j / kTileColumns * panel + k * kTileColumns + j % kTileColumns,
                      load(b + k * ld + j, columns - j));
    }
    return {to, kTileColumns, panel};
}

// `rows` rows of op(a), which is stored transposed, as tiles: of each k, kTileRows numbers.
inline GemmLeft pack_left(int64_t depth, int64_t rows, const Real* a, int64_t ld, Real* to) {
    const int64_t tile = kTileRows * depth + kPackGap;
    for (int64_t k = 0; k < depth; ++k, a += ld)
        for (int64_t i = 0; i < rows; i += kTileRows) {
            Real* const out = to + i / kTileRows * tile + k * kTileRows;
            if (rows - i >= kTileRows)
                __builtin_memcpy(out, a + i, kTileRows * sizeof(Real));  // a constant: two instructions
            else
                __builtin_memcpy(out, a + i, static_cast<uint64_t>(rows - i) * sizeof(Real));
        }
    return {to, 1, kTileRows, tile};
}

}  // namespace
}  // namespace autograd::kernels
