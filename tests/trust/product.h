// Matrix products drawn at random: sizes, layouts, precision, threads, and the numbers themselves.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"
#include "tests/dice.h"

namespace plaingrad::trust {

using autograd::Precision;
using autograd::Real;
using autograd::kernels::Unary;
using tests::Dice;

enum class Values { plain, wide, special };  // wide: of all sizes; special: some NaN, infinite, subnormal

struct Product {
    autograd::kernels::Gemm g = {};  // without pointers
    Precision precision = Precision::float32;
    bool with_bias = false, keeps_sum = false;
    Unary activation = Unary::count;  // none
    Values values = Values::plain;
    bool at_end = true;  // operands touch the page behind them, not the one before them
    int threads = 1;
    int64_t batch_a = 1, batch_b = 1;  // of the public op

    bool has_activation() const { return activation != Unary::count; }
    // Numbers from the first to the last of a matrix whose rows are ld apart.
    static int64_t extent(int64_t rows, int64_t columns, int64_t ld) {
        return rows == 0 || columns == 0 ? 0 : (rows - 1) * ld + columns;
    }
    int64_t extent_c() const { return extent(g.m, g.n, g.ldc); }
    std::string name() const;
};

// No operand has more numbers than this.
constexpr int64_t kMostNumbers = 5'000'000;

// Factors and what is added to their sums, dense: a (m, k), b (k, n), c (m, n), bias (n).
struct Operands {
    std::vector<Real> a, b, c, bias;
    Operands(const Product& p, const autograd::Rng& rng);
};

// Sizes at, before and behind the edges of tiles (6 rows; 16 and 64 columns), of rows that are read in place,
// of bands (192), groups (256, 512), a single row's sums (1024) and blocks of k (512).
inline int64_t edge(Dice& draw, const std::vector<int64_t>& edges, int64_t most) {
    const int64_t size = draw.one_of(edges) * (1 + draw.below(2)) + draw.below(3) - 1;
    return std::clamp<int64_t>(size, 0, most);
}
inline int64_t size(Dice& draw, const std::vector<int64_t>& edges) {
    static const std::vector<int64_t> kPrimes = {2, 3, 5, 7, 13, 29, 37, 61, 97, 131, 251, 509, 521, 1031};
    switch (draw.below(8)) {
        case 0:
            return draw.below(3);
        case 1:
            return draw.one_of(kPrimes);
        case 2:
        case 3:
            return draw.below(100);
        default:
            return edge(draw, edges, 2100);
    }
}

// m, n, k that take at most so many fmas.
inline void draw_sizes(Dice& draw, int64_t most, autograd::kernels::Gemm& g) {
    do {
        g.m = size(draw, {1, 6, 12, 18, 24, 192});
        g.n = size(draw, {1, 16, 32, 64, 128, 256, 512, 1024});
        g.k = size(draw, {1, 2, 16, 64, 512, 1024});
    } while (g.m * g.n * g.k > most);
}

// From one row to the next: often no more than needed, else a bit more, or about as far apart as decides
// whether rows are read in place.
inline int64_t leading(Dice& draw, int64_t rows, int64_t columns) {
    const int64_t gaps[] = {0, 0, 0, 1, 3, 16, 17, draw.below(70)};
    int64_t ld = columns + gaps[draw.below(8)];
    if (draw.one_in(6))
        ld = std::max(columns, draw.one_of<int64_t>({64, 256, 768}) + draw.below(3) - 1);
    return Product::extent(rows, columns, ld) <= kMostNumbers ? ld : columns;
}

inline Product draw_product(const autograd::Rng& rng) {
    Dice draw(rng);
    Product p;
    autograd::kernels::Gemm& g = p.g;
    draw_sizes(draw, draw.one_in(100) ? 1 << 25 : draw.one_in(8) ? 1 << 21 : 1 << 17, g);
    g.a_transposed = draw.one_in(2);
    g.b_transposed = draw.one_in(2);
    g.accumulate = draw.one_in(2);
    g.lda = g.a_transposed ? leading(draw, g.k, g.m) : leading(draw, g.m, g.k);
    g.ldb = g.b_transposed ? leading(draw, g.n, g.k) : leading(draw, g.k, g.n);
    g.ldc = leading(draw, g.m, g.n);
    p.precision = draw.one_in(2) ? Precision::bf16 : Precision::float32;
    p.with_bias = draw.one_in(3);
    if (draw.one_in(5))
        p.activation = draw.one_of<Unary>({Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu});
    p.keeps_sum = p.has_activation() && draw.one_in(2);
    p.values = draw.one_in(8) ? Values::special : draw.one_in(4) ? Values::wide : Values::plain;
    p.at_end = !draw.one_in(3);
    p.threads = draw.one_of<int>({1, 1, 1, 1, 1, 2, 2, 3, 4, 7});
    if (g.m * g.n * g.k <= 1 << 15)
        p.batch_a = 1 + draw.below(3), p.batch_b = 1 + draw.below(3);
    return p;
}

inline std::string Product::name() const {
    return autograd::join(g.m, " x ", g.n, " x ", g.k, g.a_transposed ? ", a transposed" : "",
                          g.b_transposed ? ", b transposed" : "", g.accumulate ? ", accumulating" : "",
                          with_bias ? ", bias" : "", has_activation() ? ", activation" : "", ", rows ", g.lda,
                          " ", g.ldb, " ", g.ldc, " apart, ",
                          autograd::kPrecisionNames[static_cast<std::size_t>(precision)], ", ", threads,
                          " threads");
}

inline Operands::Operands(const Product& p, const autograd::Rng& rng) {
    Dice draw(rng);
    const auto number = [&] {
        const Real x = static_cast<Real>(draw.uniform(-1, 1));  // with all digits, so that the order matters
        if (p.values == Values::wide || (p.values == Values::special && draw.one_in(2)))
            return std::ldexp(x, static_cast<int>(draw.below(80)) - 60);
        if (p.values == Values::special && draw.one_in(50))
            return draw.one_of<Real>({0, -Real(0), std::numeric_limits<Real>::infinity(),
                                      std::numeric_limits<Real>::quiet_NaN(), Real(1e-40), Real(3e38)});
        return x;
    };
    const auto fill = [&](std::vector<Real>& x, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
            x.push_back(number());
    };
    fill(a, p.g.m * p.g.k);
    fill(b, p.g.k * p.g.n);
    fill(c, p.g.m * p.g.n);
    if (p.with_bias)
        fill(bias, p.g.n);
}

}  // namespace plaingrad::trust
