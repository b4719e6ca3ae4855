// The staircase described at the top of autograd/kernels/gemm.cpp, as code: the same product c = a @ b, each
// step one idea faster than the one before, and at the end the library's. Read it from top to bottom.
//
// All matrices are 1152 x 1152, so that no tile is cut off at an edge. (The library's code is longer mostly
// because it handles edges.) This file is compiled for the instruction set of the machine at hand, and with
// fused multiply-adds.
#include "autograd/base/check.h"
#include "tests/bench/bench.h"

using namespace plaingrad;  // NOLINT

namespace {

using autograd::Real;

constexpr int64_t N = 1152;

// ---------------------------------------------------------------------------------- 1  three loops
// Element by element, a row times a column. Each number of the column is in another cache line, and each
// addition waits for the one before.
void three_loops(int64_t rows, const Real* a, const Real* b, Real* c) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < N; ++j) {
            Real sum = 0;
            for (int64_t k = 0; k < N; ++k)
                sum += a[i * N + k] * b[k * N + j];
            c[i * N + j] = sum;
        }
}

// ---------------------------------------------------------------------------------- 2  loop order
// The same with the loop over k outside the loop over j. It walks along rows, and the additions of a row are
// independent, so the compiler uses vectors. But each addition reads and writes an element of c.
void loop_order(int64_t rows, const Real* a, const Real* b, Real* c) {
    std::fill(c, c + rows * N, Real(0));
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < N; ++k)
            for (int64_t j = 0; j < N; ++j)
                c[i * N + j] += a[i * N + k] * b[k * N + j];
}

// -------------------------------------------------------------------------------- 3  register tile The size
// of a vector register, and a tile of c, in rows x registers, that leaves registers for a row of b and a
// number of a. See gemm_tile.h.
#if defined(__AVX512F__)
constexpr int kBytes = 64, kTileRows = 6, kTileVecs = 4;  // of 32 registers
#elif defined(__AVX__)
constexpr int kBytes = 32, kTileRows = 6, kTileVecs = 2;  // of 16
#elif defined(__aarch64__)
constexpr int kBytes = 16, kTileRows = 6, kTileVecs = 4;  // of 32
#else
constexpr int kBytes = 16, kTileRows = 6, kTileVecs = 2;  // of 16
#endif
using Vec [[gnu::vector_size(kBytes), gnu::aligned(sizeof(Real)), gnu::may_alias]] = Real;
constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(Real));
constexpr int64_t kTileColumns = kTileVecs * kLanes;

// `depth` steps of k. The elements of c stay in registers throughout. Each step loads a row of the tile's b
// once for all rows of a, and an element of a once for the whole row of b.
void tile(int64_t depth, const Real* a, const Real* b, int64_t b_step, bool add, Real* c) {
    Vec sum[kTileRows][kTileVecs] = {};
    for (int64_t k = 0; k < depth; ++k, b += b_step) {
#pragma GCC unroll 8
        for (int i = 0; i < kTileRows; ++i)
#pragma GCC unroll 8
            for (int v = 0; v < kTileVecs; ++v)
                sum[i][v] += a[i * N + k] * *reinterpret_cast<const Vec*>(b + v * kLanes);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i)
#pragma GCC unroll 8
        for (int v = 0; v < kTileVecs; ++v) {
            Vec& target = *reinterpret_cast<Vec*>(c + i * N + v * kLanes);
            target = add ? target + sum[i][v] : sum[i][v];
        }
}

void register_tile(int64_t rows, const Real* a, const Real* b, Real* c) {
    for (int64_t i = 0; i < rows; i += kTileRows)
        for (int64_t j = 0; j < N; j += kTileColumns)
            tile(N, a + i * N, b + j, N, false, c + i * N + j);
}

// --------------------------------------------------------------------------------- 4  cache blocks The loops
// above read all of b from memory for every 6 rows of a. Here a part of b, kDepth rows of one tile's columns,
// stays in a near cache for kBandRows rows of a.
constexpr int64_t kDepth = 384, kBandRows = 96;

void cache_blocks(int64_t rows, const Real* a, const Real* b, Real* c) {
    for (int64_t k = 0; k < N; k += kDepth)
        for (int64_t band = 0; band < rows; band += kBandRows)
            for (int64_t j = 0; j < N; j += kTileColumns)
                for (int64_t i = band; i < band + kBandRows; i += kTileRows)
                    tile(kDepth, a + i * N + k, b + k * N + j, N, k > 0, c + i * N + j);
}

// -------------------------------------------------------------------------------------- 5  packing
//
// The rows of b are more than a page apart. So kDepth of them are packed, that is, copied in the order in
// which the tiles read them: one tile's columns after the other's, without gaps.
void pack(const Real* b, int64_t j, Real* packed) {
    for (int64_t k = 0; k < kDepth; ++k)
        std::copy(b + k * N + j, b + k * N + j + kTileColumns, packed + j * kDepth + k * kTileColumns);
}

void band_of_tiles(int64_t band, int64_t k, const Real* a, const Real* packed, Real* c) {
    for (int64_t j = 0; j < N; j += kTileColumns)
        for (int64_t i = band; i < band + kBandRows; i += kTileRows)
            tile(kDepth, a + i * N + k, packed + j * kDepth, kTileColumns, k > 0, c + i * N + j);
}

bench::Numbers packed_b(static_cast<std::size_t>(kDepth* N));

void packing(int64_t rows, const Real* a, const Real* b, Real* c) {
    for (int64_t k = 0; k < N; k += kDepth) {
        for (int64_t j = 0; j < N; j += kTileColumns)
            pack(b + k * N, j, packed_b.data());
        for (int64_t band = 0; band < rows; band += kBandRows)
            band_of_tiles(band, k, a, packed_b.data(), c);
    }
}

// -------------------------------------------------------------------------------------- 6  threads
// Bands are independent of each other, and so are the columns to pack.
void threads(int64_t rows, const Real* a, const Real* b, Real* c) {
    for (int64_t k = 0; k < N; k += kDepth) {
        autograd::parallel_for(0, N / kTileColumns, 1, [&](int64_t begin, int64_t end) {
            for (int64_t j = begin; j < end; ++j)
                pack(b + k * N, j * kTileColumns, packed_b.data());
        });
        autograd::parallel_for(0, rows / kBandRows, 1, [&](int64_t begin, int64_t end) {
            for (int64_t band = begin; band < end; ++band)
                band_of_tiles(band * kBandRows, k, a, packed_b.data(), c);
        });
    }
}

// ---------------------------------------------------------------------------------- 7  the library
void library(int64_t rows, const Real* a, const Real* b, Real* c) {
    autograd::kernels::cpu().float32.gemm({.m = rows, .n = N, .k = N, .lda = N, .ldb = N, .ldc = N}, a, b, c);
}

struct Step {
    const char* name;
    void (*product)(int64_t rows, const Real* a, const Real* b, Real* c);
    int64_t rows = N;  // how many are computed: the slowest steps do fewer
};
constexpr Step kSteps[] = {
    {"1 three loops", three_loops, kBandRows},
    {"2 loop order", loop_order},
    {"3 register tile", register_tile},
    {"4 cache blocks", cache_blocks},
    {"5 packing", packing},
    {"6 threads", threads},
    {"7 the library", library},
};
constexpr std::size_t kThreadedStep = 5;  // earlier steps use one
constexpr int kRounds = 5;
static_assert(N % kTileColumns == 0 && N % kDepth == 0 && N % kBandRows == 0 && kBandRows % kTileRows == 0);

void climb(bool csv) {
    constexpr auto kAll = static_cast<std::size_t>(N * N);
    bench::Numbers a(kAll), b(kAll), c(kAll), expected(kAll);
    // So small that all sums are exact: every step gives the same result.
    for (std::size_t i = 0; i < kAll; ++i) {
        a[i] = static_cast<Real>(i % 7) - 3;
        b[i] = static_cast<Real>(i % 11) - 5;
    }
    library(N, a.data(), b.data(), expected.data());
    const double peak = bench::fma_peak();
    std::vector<std::vector<double>> samples(std::size(kSteps));
    // Rounds go over all steps in turn: what disturbs hits one sample of each.
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < std::size(kSteps); ++i) {
            const Step& step = kSteps[i];
            std::fill_n(c.data(), kAll,
                        std::numeric_limits<Real>::quiet_NaN());  // or a step that does nothing could pass
            samples[i].push_back(1e-9 * bench::rate([&] {
                                     step.product(step.rows, a.data(), b.data(), c.data());
                                     return 2.0 * static_cast<double>(step.rows * N * N);
                                 }));
            autograd::check(std::equal(c.data(), c.data() + step.rows * N, expected.data()), "[bench] step ",
                            step.name, " computes something else");
        }
    const bench::Table table(csv, {"step", "gflops", "share_of_peak"});
    for (std::size_t i = 0; i < std::size(kSteps); ++i) {
        const double gflops = bench::median(samples[i]);
        table.row(kSteps[i].name, gflops,
                  gflops / (i < kThreadedStep ? peak / autograd::thread_count() : peak));
    }
}

}  // namespace

int main(int argc, char** argv) {
    bool csv = false;
    return bench::run(
        "bench_staircase", "makes a matrix product faster, step by step", argc, argv, &csv,
        [](kit::Options& options) { options.add_threads(); }, [&] { climb(csv); });
}
