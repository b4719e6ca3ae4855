// Order and positions: attention sees a set; what the sinusoids look like, why moving is a rotation, and
// rotary positions.
#include <cmath>
#include <ostream>

#include "autograd/base/portable_math.h"
#include "nn/attention.h"
#include "nn/positional_encoding.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The vector of `bites` in "dog bites man" and in "man bites dog".
void sentences(std::ostream& out) {
    constexpr int64_t d = 16;
    const nn::MultiHeadAttention layer(d, 2, Rng(3));
    const nn::PositionalEncoding positions(nn::Positions::sinusoidal, 3, d, Rng(1));
    const Tensor words = Tensor::randn({3, d}, Rng(4));  // dog, bites, man
    const Tensor x = embedding(words, {1, 3, {0, 1, 2}}),
                 y = embedding(words, {1, 3, {2, 1, 0}});  // (1, 3, d)
    const auto bites = [&](const Tensor& sentence) {
        return vector_text(slice(layer(sentence, {.mode = nn::Mode::eval()})[0][1], 0, 0, 3));
    };
    const auto placed = [&](const Tensor& sentence) { return positions(sentence, nn::Mode::eval()); };
    claim(bites(x) == bites(y) && bites(placed(x)) != bites(placed(y)), "only positions give an order");
    table(out, {{"the first three numbers of `bites`", "in `dog bites man`", "in `man bites dog`"},
                {"without positions", bites(x), bites(y)},
                {"with positions", bites(placed(x)), bites(placed(y))}});
}

// Columns 2 i and 2 i + 1 of position t.
Tensor pair_of(int64_t t, int64_t i, int64_t d) {
    const nn::PositionalEncoding positions(nn::Positions::sinusoidal, t + 1, d, Rng(1));
    return slice(positions.sinusoids[t], 0, 2 * i, 2 * i + 2);
}

void counter(std::ostream& out) {
    Rows rows = {{"position", "binary", "PE, columns 0 and 1", "columns 2 and 3", "columns 4 and 5"}};
    for (int64_t t = 0; t < 8; ++t) {
        const std::string binary = {t & 4 ? '1' : '0', t & 2 ? '1' : '0', t & 1 ? '1' : '0'};
        rows.push_back({std::to_string(t), binary});
        for (int64_t i = 0; i < 3; ++i)
            rows.back().push_back(vector_text(pair_of(t, i, 16)));
    }
    table(out, rows);
}

// Columns 2 and 3 of d_model = 8: from position 3 to 5, and from 10 to 12, by one matrix.
void rotation(std::ostream& out) {
    const double angle = 2 * portable::pow(10000, -2.0 / 8), c = portable::cos(angle),
                 s = portable::sin(angle);
    out << "ω = 10000^(-2/8) = " << digits(angle / 2) << ", so 2 positions are an angle of " << digits(angle)
        << ":\n\n"
        << "R = (  cos 0.200   sin 0.200 )  =  (  " << fixed(c, 3) << "  " << fixed(s, 3) << " )\n"
        << "    ( -sin 0.200   cos 0.200 )     ( " << fixed(-s, 3) << "  " << fixed(c, 3) << " )\n\n";
    const Tensor r = Tensor::from({2, 2}, {Real(c), Real(s), Real(-s), Real(c)});
    for (const int64_t t : {3, 10}) {
        const Tensor pe = pair_of(t, 1, 8), moved = matmul(r, unsqueeze(pe, 1)), later = pair_of(t + 2, 1, 8);
        out << "R · PE(" << t << ") = R · " << vector_text(pe, 3) << " = " << vector_text(moved, 3)
            << "     PE(" << t + 2 << ") = " << vector_text(later, 3) << '\n';
        claim(vector_text(moved, 3) == vector_text(later, 3), "moving on is a rotation");
    }
}

// q and k at several pairs of positions.
void rotary_products(std::ostream& out) {
    const Tensor q = Tensor::randn({1, 1, 8}, Rng(1)), k = Tensor::randn({1, 1, 8}, Rng(2));
    const nn::Rotary turned(64, 8, {});
    Rows rows = {{"position of the query", "of the key", "query − key", "q · k, rotated"}};
    const std::vector<std::pair<int64_t, int64_t>> places = {{3, 1}, {9, 7}, {60, 58}, {1, 3}, {60, 20}};
    for (const auto& [t, s] : places)
        rows.push_back({std::to_string(t), std::to_string(s), std::to_string(t - s),
                        fixed(value(sum(turned(q, 1, t) * turned(k, 1, s))), 3)});
    claim(rows[1][3] == rows[2][3] && rows[2][3] == rows[3][3] && rows[3][3] != rows[4][3],
          "a rotated product depends on the distance alone");
    table(out, rows);
}

const Adds kHere({{"nn.order.sentences", Effort::quick, sentences},
                  {"nn.positions.counter", Effort::quick, counter},
                  {"nn.positions.rotation", Effort::quick, rotation},
                  {"nn.positions.rotary", Effort::quick, rotary_products}});

}  // namespace

}  // namespace plaingrad::chapters
