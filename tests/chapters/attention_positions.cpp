// Positions: what the sinusoids look like, why moving is a rotation, and rotary positions.
#include <cmath>
#include <numbers>
#include <ostream>

#include "apps/kit/text.h"
#include "autograd/base/portable_math.h"
#include "nn/positional_encoding.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// (length, d)
Tensor sinusoids(int64_t length, int64_t d) {
    return nn::PositionalEncoding(nn::Positions::sinusoidal, length, d, Rng(1)).sinusoids;
}

double at(const Tensor& x, int64_t row, int64_t column) {
    return static_cast<double>(x.data()[row * x.size(1) + column]);
}

// The angle by which pair i of the d / 2 pairs of columns moves on from one position to the next.
double frequency(int64_t i, int64_t d) {
    return portable::pow(10000, -static_cast<double>(2 * i) / static_cast<double>(d));
}

std::string binary(int64_t n) { return {n & 4 ? '1' : '0', n & 2 ? '1' : '0', n & 1 ? '1' : '0'}; }

void counter(std::ostream& out) {
    constexpr int64_t d = 16;
    const Tensor p = sinusoids(8, d);
    Rows rows = {{"position", "binary", "PE, columns 0 and 1", "columns 2 and 3", "columns 4 and 5"}};
    for (int64_t t = 0; t < 8; ++t) {
        std::vector<std::string> row = {std::to_string(t), binary(t)};
        for (int64_t i = 0; i < 3; ++i)
            row.push_back(
                vector_text(Tensor::from({2}, {p.data()[t * d + 2 * i], p.data()[t * d + 2 * i + 1]})));
        rows.push_back(row);
    }
    table(out, rows);
}

void wavelengths(std::ostream& out) {
    constexpr int64_t d = 512;
    Rows rows = {{"columns of d_model = 512", "wavelength, positions"}};
    for (const int64_t i : {0, 16, 64, 128, 192, 255})
        rows.push_back({std::to_string(2 * i) + " and " + std::to_string(2 * i + 1),
                        digits(2 * std::numbers::pi / frequency(i, d))});
    table(out, rows);
}

// Columns 2 and 3 of d_model = 8: from position 3 to 5, and from 10 to 12, by one matrix.
void rotation(std::ostream& out) {
    constexpr int64_t d = 8, i = 1, shift = 2;
    const Tensor p = sinusoids(16, d);
    const double angle = shift * frequency(i, d), c = portable::cos(angle), s = portable::sin(angle);
    out << "ω = 10000^(-2/8) = " << digits(frequency(i, d)) << ", so 2 positions are an angle of "
        << digits(angle) << ":\n\n"
        << "R = (  cos " << digits(angle) << "   sin " << digits(angle) << " )  =  ( "
        << kit::right(fixed(c, 3), 6) << "  " << fixed(s, 3) << " )\n"
        << "    ( -sin " << digits(angle) << "   cos " << digits(angle) << " )     ( "
        << kit::right(fixed(-s, 3), 6) << "  " << fixed(c, 3) << " )\n\n";
    for (const int64_t t : {3, 10}) {
        const double sine = at(p, t, 2 * i), cosine = at(p, t, 2 * i + 1);
        const double moved[2] = {c * sine + s * cosine, -s * sine + c * cosine};
        out << "R · PE(" << t << ") = R · (" << fixed(sine, 3) << ", " << fixed(cosine, 3) << ") = ("
            << fixed(moved[0], 3) << ", " << fixed(moved[1], 3) << ")     PE(" << t + shift << ") = ("
            << fixed(at(p, t + shift, 2 * i), 3) << ", " << fixed(at(p, t + shift, 2 * i + 1), 3) << ")\n";
        claim(
            std::abs(moved[0] - at(p, t + shift, 2 * i)) + std::abs(moved[1] - at(p, t + shift, 2 * i + 1)) <
                1e-5,
            "moving on is a rotation");
    }
}

void products(std::ostream& out) {
    const Tensor p = sinusoids(128, 64), all = matmul(p, p, true);  // (128, 64), (128, 128)
    Rows rows = {{"PE(t) · PE(t + k)"}};
    for (const int64_t k : {0, 1, 2, 5, 20})
        rows[0].push_back("k = " + std::to_string(k));
    for (const int64_t t : {0, 10, 100}) {
        std::vector<std::string> row = {"t = " + std::to_string(t)};
        for (const int64_t k : {0, 1, 2, 5, 20})
            row.push_back(fixed(at(all, t, t + k), 2));
        rows.push_back(row);
        for (std::size_t i = 1; i < row.size(); ++i)
            claim(row[i] == rows[1][i], "the product depends on k alone");
    }
    table(out, rows);
}

// q and k at several pairs of positions.
void rotary_products(std::ostream& out) {
    const Tensor q = Tensor::randn({1, 1, 8}, Rng(1)), k = Tensor::randn({1, 1, 8}, Rng(2));
    const nn::Rotary layer(64, 8, {});
    const auto rotated = [&](const Tensor& x, int64_t position) { return layer(x, 1, position); };
    Rows rows = {{"position of the query", "of the key", "query − key", "q · k, rotated"}};
    const std::vector<std::pair<int64_t, int64_t>> places = {{0, 0},   {7, 7}, {3, 1},  {9, 7},
                                                             {60, 58}, {1, 3}, {60, 20}};
    for (const auto& [t, s] : places)
        rows.push_back({std::to_string(t), std::to_string(s), std::to_string(t - s),
                        fixed(static_cast<double>(sum(rotated(q, t) * rotated(k, s)).item()), 3)});
    claim(rows[3][3] == rows[4][3] && rows[4][3] == rows[5][3] && rows[1][3] == rows[2][3] &&
              rows[3][3] != rows[6][3],
          "a rotated product depends on the distance alone");
    table(out, rows);
}

std::string draw_positions() {
    constexpr int64_t length = 32, d = 48;
    kit::HeatMap map = {.rows = labels(0, length),
                        .columns = labels(0, d),
                        .values = {},
                        .row_axis = "position",
                        .column_axis = "column of d_model = 48",
                        .low = -1,
                        .high = 1};
    for (const Real value : sinusoids(length, d).to_vector())
        map.values.push_back(static_cast<double>(value));
    return figures::svg(
        "Sinusoidal positions",
        "Each row encodes a position. The first columns change from row to row, the last ones hardly at all.",
        {map});
}

}  // namespace

Computed attention_positions() {
    return {.sections = {{"nn.positions.counter", Effort::quick, counter},
                         {"nn.positions.waves", Effort::quick, wavelengths},
                         {"nn.positions.rotation", Effort::quick, rotation},
                         {"nn.positions.products", Effort::quick, products},
                         {"nn.positions.rotary", Effort::quick, rotary_products}},
            .figures = {{"nn/figures/positions.svg", Effort::quick, draw_positions}}};
}

}  // namespace plaingrad::chapters
