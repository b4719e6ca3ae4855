// In which order sums are added: their bits are part of what the library promises, and few additions in
// sequence keep them exact. The reference is what row.h and reduce.cpp say, one number at a time.
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// Chains of at most `length` terms, each from 0, and a binary tree over the chains. The left half of a tree
// is the largest power of two of them.
template <class F>
Real tree_of_chains(int64_t begin, int64_t end, int64_t length, const F& term) {
    if (end - begin <= length) {
        Real sum = 0;
        for (int64_t i = begin; i < end; ++i)
            sum = sum + term(i);
        return sum;
    }
    int64_t left = length;
    for (; left * 2 < end - begin; left *= 2) {
    }
    return tree_of_chains(begin, begin + left, length, term) +
           tree_of_chains(begin + left, end, length, term);
}

// Sixteen sums, of each sixteenth number; then these.
Real row_sum(int64_t n, const Real* x) {
    Real lane[16];
    for (int64_t l = 0; l < 16; ++l)
        lane[l] = tree_of_chains(0, (n + 15) / 16, 16,
                                 [&](int64_t i) { return i * 16 + l < n ? x[i * 16 + l] : Real(0); });
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; ++l)
            lane[l] = lane[l] + lane[l + half];
    return lane[0];
}

// Blocks of 4096 numbers.
Real long_sum(int64_t n, const Real* x) {
    if (n <= 4096)
        return row_sum(n, x);
    return tree_of_chains(0, (n + 4095) / 4096, 16, [&](int64_t b) {
        return row_sum(std::min<int64_t>(4096, n - b * 4096), x + b * 4096);
    });
}

// Blocks of 64 rows, each of which adds chains of 16 one after the other.
Real column_sum(int64_t rows, int64_t n, const Real* x) {
    const auto block = [&](int64_t b) {
        Real total = 0;
        for (int64_t first = b * 64; first < std::min(rows, b * 64 + 64); first += 16)
            total = total + tree_of_chains(first, std::min(rows, first + 16), 16,
                                           [&](int64_t r) { return x[r * n]; });
        return total;
    };
    return rows <= 64 ? block(0) : tree_of_chains(0, (rows + 63) / 64, 16, block);
}

// Blocks of 64 rows, each one chain.
Real bias_sum(int64_t rows, int64_t n, const Real* x) {
    return tree_of_chains(0, (rows + 63) / 64, 16, [&](int64_t b) {
        Real sum = 0;
        for (int64_t r = b * 64; r < std::min(rows, b * 64 + 64); ++r)
            sum = sum + x[r * n];
        return sum;
    });
}

// All rows of x, added to one row of a table: up to 64 in sequence, more as blocks of 64.
Real scattered_sum(int64_t rows, int64_t n, const Real* x, Real before) {
    if (rows > 64)
        return before + bias_sum(rows, n, x);
    for (int64_t r = 0; r < rows; ++r)
        before = before + x[r * n];
    return before;
}

// f(j) for each column of n.
template <class F>
std::vector<Real> each(int64_t n, const F& f) {
    std::vector<Real> all;
    for (int64_t j = 0; j < n; ++j)
        all.push_back(f(j));
    return all;
}

constexpr int64_t kRows[] = {1, 16, 17, 63, 64, 65, 129, 1024, 1025, 2200};

}  // namespace

TEST_CASE("sums: of a row, in sixteen lanes, blocks of 4096 and trees of chains", "[kernels][bits][sums]") {
    for (const int64_t n : {1, 16, 17, 240, 256, 257, 512, 513, 768, 769, 4096, 4097, 8192, 65536, 70001}) {
        const std::vector<Real> x = numbers(2 * n, 1);
        const auto expected = each(2, [&](int64_t o) { return long_sum(n, x.data() + o * n) * Real(0.3); });
        for_each_isa([&](const char* isa) {
            std::vector<Real> y(2, kNan);
            cpu().sum({2, n, 1}, Real(0.3), x.data(), {y.data()});
            INFO(n << " numbers, " << isa);
            CHECK(same_bits(y, expected));
        });
    }
}

TEST_CASE("sums: down columns, in blocks of 64 rows", "[kernels][bits][sums]") {
    for (const int64_t rows : kRows)
        for (const int64_t n : {2, 16, 67}) {
            const std::vector<Real> x = numbers(rows * n, 1);
            const auto expected =
                each(n, [&](int64_t j) { return column_sum(rows, n, x.data() + j) * Real(0.3); });
            for_each_isa([&](const char* isa) {
                std::vector<Real> y(at(n), kNan);
                cpu().sum({1, rows, n}, Real(0.3), x.data(), {y.data()});
                INFO(rows << " x " << n << ", " << isa);
                CHECK(same_bits(y, expected));
            });
        }
}

TEST_CASE("sums: layer norm's bias and rows of a table, in blocks of 64", "[kernels][bits][sums]") {
    for (const int64_t rows : kRows)
        for (const int64_t n : {3, 33}) {
            const std::vector<Real> x = numbers(rows * n, 1), gain = numbers(n, 2), start = numbers(n, 3);
            const std::vector<int32_t> ids(at(rows), 0);
            const auto of_bias = each(n, [&](int64_t j) { return bias_sum(rows, n, x.data() + j); });
            const auto of_table =
                each(n, [&](int64_t j) { return scattered_sum(rows, n, x.data() + j, start[at(j)]); });
            for_each_isa([&](const char* isa) {
                std::vector<Real> dbias(at(n), kNan), dgain(at(n), kNan), dtable = start;
                const std::vector<Real> statistics(at(3 * rows), 1);
                cpu().layer_norm_backward({.rows = rows, .n = n, .eps = 1}, x.data(), gain.data(),
                                          statistics.data(), x.data(), {nullptr}, {nullptr}, {dgain.data()},
                                          {dbias.data()});
                cpu().scatter_add({.count = rows, .n = n, .pad = -1}, ids.data(), x.data(), 1,
                                  {dtable.data(), true});
                INFO(rows << " x " << n << ", " << isa);
                CHECK(same_bits(dbias, of_bias));
                CHECK(same_bits(dtable, of_table));
            });
        }
}
