// Every kernel against its formula in plain loops, in double, at sizes below, at and beyond its blocks: 16
// lanes, 64 rows of a sum and of layer norm's gains, 256 columns of a short row, 4096 elements of a long
// sum, 64 queries of attention's backward, 16 and 48 keys (here one more), which fill their rows of scores.
// (The matrix product's loops: test_gemm.cpp. Functions of one number: test_math.cpp.)
//
// No kernel can be forgotten: the test reads kernels.h, and each kernel must occur here and where bits are
// compared.
#include <algorithm>
#include <fstream>
#include <functional>
#include <regex>

#include "tests/autograd/kernels/attend.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace plaingrad;          // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT
using reference::Row;

namespace {

// The results of a kernel and of its formula.
struct Both {
    std::vector<Real> is;
    Row expected;
    void add(const std::vector<Real>& x, const Row& y) {
        is.insert(is.end(), x.begin(), x.end());
        expected.insert(expected.end(), y.begin(), y.end());
    }
};

using Reals = std::vector<Real>;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }
Reals room(int64_t n) { return Reals(at(n), kNan); }
Row part(const Reals& x, int64_t first, int64_t n) { return {x.begin() + first, x.begin() + first + n}; }
Row wide(const Reals& x) { return {x.begin(), x.end()}; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
    const char* name;
    std::function<void(int64_t rows, int64_t n, Both&)> call;
};

// f(row) -> row, for each
template <class F>
Row by_rows(int64_t rows, int64_t n, const Reals& x, const F& f) {
    Row all;
    for (int64_t r = 0; r < rows; ++r) {
        const Row y = f(part(x, r * n, n), r);
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}

std::vector<int32_t> ids(int64_t count, int64_t limit) {
    std::vector<int32_t> x;
    for (int64_t i = 0; i < count; ++i)
        x.push_back(static_cast<int32_t>(i * 7 % limit));
    return x;
}

double dot(const Row& x, const Row& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += x[i] * y[i];
    return sum;
}

// RMS norm: the same with 0 for the mean, and without a bias.
void norm_both(int64_t rows, int64_t n, bool rms, Both& b) {
    const Reals x = numbers(rows * n, 1), gain = numbers(n, 2), bias = rms ? Reals(at(n)) : numbers(n, 3),
                dout = numbers(rows * n, 4);
    Reals out = room(rows * n), statistics = room(3 * rows), dx = room(rows * n), dgain = room(n),
          dbias = room(n);
    const LayerNorm o = {.rows = rows, .n = n, .eps = Real(0.5), .centred = !rms};
    cpu().layer_norm(o, x.data(), nullptr, gain.data(), rms ? nullptr : bias.data(), nullptr, out.data(),
                     statistics.data());
    cpu().layer_norm_backward(o, x.data(), gain.data(), statistics.data(), dout.data(), {dx.data()},
                              {nullptr}, {dgain.data()}, {dbias.data()});
    const Row g = wide(gain);
    const auto normed = [&](const Row& row, const Row& by, const Row& shift) {
        return rms ? reference::rms_norm(row, by, 0.5) : reference::layer_norm(row, by, shift, 0.5);
    };
    const auto mean = [&](const Row& row) { return reference::total(row) / static_cast<double>(n); };
    b.add(out, by_rows(rows, n, x, [&](const Row& row, int64_t) { return normed(row, g, wide(bias)); }));
    Row gains(at(n)), biases(at(n));
    b.add(dx, by_rows(rows, n, x, [&](Row row, int64_t r) {
              const Row x_hat = normed(row, Row(at(n), 1), Row(at(n)));
              Row dy = part(dout, r * n, n);
              const double centre = rms ? 0 : mean(row);
              for (std::size_t i = 0; i < dy.size(); ++i) {
                  gains[i] += dy[i] * x_hat[i];
                  biases[i] += dy[i];
                  dy[i] *= g[i];
                  row[i] -= centre;
              }
              const double inverse = 1 / std::sqrt(dot(row, row) / static_cast<double>(n) + 0.5),
                           of_mean = rms ? 0 : mean(dy), along = dot(dy, x_hat) / static_cast<double>(n);
              for (std::size_t i = 0; i < dy.size(); ++i)
                  dy[i] = (dy[i] - of_mean - x_hat[i] * along) * inverse;
              return dy;
          }));
    b.add(dgain, gains), b.add(dbias, biases);
}

// softmax and log_softmax; the gradient of a row: slope(softmax(row), dy).
void softmax_both(int64_t rows, int64_t n, Both& b, decltype(Kernels::softmax) forward,
                  decltype(Kernels::softmax_backward) backward, Row (*value)(Row),
                  Row (*slope)(const Row& p, Row dy)) {
    const Reals x = numbers(rows * n, 1), dy = numbers(rows * n, 2);
    Reals y = room(rows * n), dx = room(rows * n);
    forward(rows, n, x.data(), y.data());
    backward(rows, n, y.data(), dy.data(), {dx.data()});
    b.add(y, by_rows(rows, n, x, [&](const Row& row, int64_t) { return value(row); }));
    b.add(dx, by_rows(rows, n, x, [&](const Row& row, int64_t r) {
              return slope(reference::softmax(row), part(dy, r * n, n));
          }));
}

// One sentence, the second of two heads of d columns; unless causal, the last key is padding. The gradients
// are added to what is there. From each 512 keys to the next, keys grow by `growth`.
void attention_both(int64_t queries, int64_t keys, bool causal, Both& b,
                    const Products& products = cpu().float32, Real growth = 0, int64_t d = 3) {
    const int64_t all = 2 * d;
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    Attend r(2, queries, keys, d, static_cast<Real>(scale));
    for (std::size_t i = 0; i < r.k.size(); ++i)
        r.k[i] *= 1 + growth * static_cast<Real>(i / at(all) / 512);
    const int32_t count = static_cast<int32_t>(causal ? keys : keys - 1);
    r.a.mask = {.key_counts = &count, .causal = causal};
    r.dq = numbers(queries * all, 5), r.dk = numbers(keys * all, 6), r.dv = numbers(keys * all, 7);
    Row o(r.out.size()), w(at(queries * keys)), to_q(r.dq.begin(), r.dq.end()),
        to_k(r.dk.begin(), r.dk.end()), to_v(r.dv.begin(), r.dv.end());
    Reals weights = room(2 * queries * keys);
    r.forward(products, weights.data());
    r.backward(products, 7, 7);
    const auto row_dot = [&](const Reals& x, int64_t i, const Reals& y, int64_t j) {
        double sum = 0;
        for (int64_t n = d; n < all; ++n)
            sum += static_cast<double>(x[at(i * all + n)]) * static_cast<double>(y[at(j * all + n)]);
        return sum;
    };
    for (int64_t t = 0; t < queries; ++t) {
        Row scores, dw;
        for (int64_t s = 0; s < (causal ? t + 1 + keys - queries : count); ++s) {
            scores.push_back(row_dot(r.q, t, r.k, s) * scale);
            dw.push_back(row_dot(r.dout, t, r.v, s));
        }
        const Row weight = reference::softmax(scores);
        const double mean = dot(weight, dw);
        for (std::size_t s = 0; s < scores.size(); ++s) {
            const double p = weight[s], ds = p * (dw[s] - mean) * scale;
            w[at(t * keys) + s] = p;
            for (std::size_t i = at(d), iq = at(t * all); i < at(all); ++i) {
                o[iq + i] += p * static_cast<double>(r.v[s * at(all) + i]);
                to_q[iq + i] += ds * static_cast<double>(r.k[s * at(all) + i]);
                to_k[s * at(all) + i] += ds * static_cast<double>(r.q[iq + i]);
                to_v[s * at(all) + i] += p * static_cast<double>(r.dout[iq + i]);
            }
        }
    }
    const auto second_head = [&](const auto& x, const auto& y) {
        Reals is;
        Row expected;
        for (std::size_t i = 0; i < x.size(); ++i)
            if (i % at(all) >= at(d))
                is.push_back(x[i]), expected.push_back(y[i]);
        b.add(is, expected);
    };
    second_head(r.out, o), second_head(r.dq, to_q), second_head(r.dk, to_k), second_head(r.dv, to_v);
    b.add({weights.begin() + queries * keys, weights.end()}, w);
}

const Case kCases[] = {
    {"softmax",
     [](int64_t rows, int64_t n, Both& b) {
         const auto slope = [](const Row& p, Row dy) {
             const double mean = dot(p, dy);
             for (std::size_t i = 0; i < p.size(); ++i)
                 dy[i] = p[i] * (dy[i] - mean);
             return dy;
         };
         softmax_both(rows, n, b, cpu().softmax, cpu().softmax_backward, reference::softmax, slope);
     }},
    {"log_softmax",
     [](int64_t rows, int64_t n, Both& b) {
         const auto slope = [](const Row& p, Row dy) {
             const double sum = reference::total(dy);
             for (std::size_t i = 0; i < p.size(); ++i)
                 dy[i] -= p[i] * sum;
             return dy;
         };
         softmax_both(rows, n, b, cpu().log_softmax, cpu().log_softmax_backward, reference::log_softmax,
                      slope);
     }},
    {"cross_entropy",
     [](int64_t rows, int64_t n, Both& b) {
         const Reals x = numbers(rows * n, 1);
         const std::vector<int32_t> target = ids(rows, n + 1);  // n: ignored
         const auto ignore = static_cast<int32_t>(n);
         Reals loss = room(rows), statistics = room(2 * rows), dx = room(rows * n);
         cpu().cross_entropy(rows, n, x.data(), target.data(), ignore, Real(0.25), loss.data(),
                             statistics.data());
         cpu().cross_entropy_backward(rows, n, x.data(), target.data(), ignore, Real(0.25), statistics.data(),
                                      Real(0.5), {dx.data()});
         Row losses;
         b.add(dx, by_rows(rows, n, x, [&](const Row& row, int64_t r) {
                   const int32_t id = target[at(r)];
                   losses.push_back(id == n ? 0 : reference::cross_entropy({row}, {id}, -1, 0.25));
                   Row d = reference::softmax(row);
                   for (int64_t i = 0; i < n; ++i)
                       d[at(i)] =
                           id == n ? 0
                                   : 0.5 * (d[at(i)] - 0.25 / static_cast<double>(n) - (i == id ? 0.75 : 0));
                   return d;
               }));
         b.add(loss, losses);
     }},
    {"layer_norm", [](int64_t rows, int64_t n, Both& b) { norm_both(rows, n, false, b); }},
    {"RMS norm", [](int64_t rows, int64_t n, Both& b) { norm_both(rows, n, true, b); }},
    {"glu",
     [](int64_t rows, int64_t n, Both& b) {
         const Reals gu = numbers(2 * rows * n, 1), dh = numbers(rows * n, 2);
         Reals h = room(rows * n), dgu = room(2 * rows * n);
         cpu().glu(Unary::silu, rows, n, gu.data(), h.data());
         cpu().glu_backward(Unary::silu, rows, n, gu.data(), dh.data(), {dgu.data()});
         const Row gate_up = wide(gu), d = wide(dh);
         Row hidden, gradient(gu.size());
         for (std::size_t i = 0; i < d.size(); ++i) {
             const std::size_t of_g = i / at(n) * 2 * at(n) + i % at(n), of_u = of_g + at(n);
             const double g = gate_up[of_g], u = gate_up[of_u], s = sigmoid(g);
             hidden.push_back(g * s * u);
             gradient[of_g] = d[i] * u * (s + g * s * (1 - s));
             gradient[of_u] = d[i] * g * s;
         }
         b.add(h, hidden), b.add(dgu, gradient);
     }},
    {"rotary",
     [](int64_t rows, int64_t n, Both& b) {  // two heads of n + 1 numbers, of which some turn, and 3 more
         const int64_t half = (n + 1) / 2, d = n + 1, row = 2 * d + 3, length = 5;
         const Reals x = numbers(rows * row, 1), turns = numbers(length * 2 * half, 2);
         Rotary o = {.rows = rows, .row = row, .heads = 2, .d = d, .width = 2 * half, .length = length};
         for (const bool back : {false, true}) {
             o.back = back;
             Reals y = room(rows * row), in_place = x;
             cpu().rotary(o, turns.data(), x.data(), y.data());
             cpu().rotary(o, turns.data(), in_place.data(), in_place.data());
             const Row before = wide(x), angles = wide(turns);
             Row expected = before;
             for (int64_t r = 0; r < rows; ++r)
                 for (int64_t i = 0; i < 2 * half; ++i) {
                     const std::size_t first = at(r * row + i / half * d + i % half),
                                       second = first + at(half),
                                       angle = at(r % length * 2 * half + i % half);
                     const double cosine = angles[angle], sine = (back ? -1 : 1) * angles[angle + at(half)];
                     expected[first] = before[first] * cosine - before[second] * sine;
                     expected[second] = before[second] * cosine + before[first] * sine;
                 }
             b.add(y, expected), b.add(in_place, expected);
         }
     }},
    {"attention",
     [](int64_t rows, int64_t n, Both& b) { attention_both(rows, std::min<int64_t>(n + 1, 130), false, b); }},
    {"sum, max: over the middle of (2, rows, n)",
     [](int64_t rows, int64_t n, Both& b) {
         const Middle m = {2, rows, n};
         const Reals x = numbers(2 * rows * n, 1), dy = numbers(2 * n, 2);
         Reals sum = room(2 * n), max = room(2 * n), dx = room(2 * rows * n);
         std::vector<int32_t> index(at(2 * n));
         cpu().sum(m, Real(0.5), x.data(), {sum.data()});
         cpu().max(m, x.data(), max.data(), index.data());
         cpu().max_backward(m, index.data(), dy.data(), {dx.data()});
         Row sums(at(2 * n)), largest(at(2 * n), -HUGE_VAL), d(x.size());
         for (int64_t i = 0; i < 2 * n; ++i) {
             int64_t best = 0;
             for (int64_t r = 0; r < rows; ++r) {
                 const int64_t place = i / n * rows * n + r * n + i % n;
                 const double value = static_cast<double>(x[at(place)]);
                 sums[at(i)] += 0.5 * value;
                 if (value > largest[at(i)])
                     largest[at(i)] = value, best = place;
             }
             d[at(best)] = static_cast<double>(dy[at(i)]);
         }
         b.add(sum, sums), b.add(max, largest), b.add(dx, d);
     }},
    {"sum, sum_of_squares: of all",
     [](int64_t rows, int64_t n, Both& b) {
         const Reals x = numbers(rows * n, 1);
         Real sum = kNan;
         cpu().sum({1, rows * n, 1}, 1, x.data(), {&sum});
         const Row all = part(x, 0, rows * n);
         b.add({sum}, {reference::total(all)});
         b.add({static_cast<Real>(cpu().sum_of_squares(rows * n, x.data()) / 1000)}, {dot(all, all) / 1000});
     }},
    {"first_from: a bound in each place, none, and a NaN",
     [](int64_t rows, int64_t n, Both& b) {
         Reals x = numbers(n + 1, 1);  // the last is not of the row
         x[at(n)] = -HUGE_VAL;
         const auto first = [&](Real bound) {
             b.add({static_cast<Real>(cpu().first_from(n, x.data(), bound))},
                   {static_cast<double>(
                       std::find_if(x.begin(), x.end() - 1, [&](Real y) { return !(y < bound); }) -
                       x.begin())});
         };
         for (int64_t r = 0; r < rows; ++r)
             first(x[at(r * 37 % n)]);
         first(100), first(-HUGE_VAL), first(*std::max_element(x.begin(), x.end()));
         x[at(n - 1)] = kNan, first(100), first(HUGE_VAL);
         x[at(n / 2)] = kNan, first(100);
     }},
    {"copy, fill, binary: a transpose",
     [](int64_t rows, int64_t n, Both& b) {
         const Reals x = numbers(rows * n, 1), z = numbers(n, 2);
         Reals y = room(rows * n), product = room(rows * n), filled = room(n);
         cpu().copy({{1, 1, n, rows}, {0, 0, 1, n}, {0, 0, rows, 1}}, x.data(), {y.data()});
         cpu().binary(Binary::mul, {{1, 1, rows, n}, {0, 0, n, 1}, {0, 0, 0, 1}}, x.data(), z.data(),
                      {product.data()});
         cpu().fill(n, Real(0.5), filled.data());
         b.add(y, reference::transpose(part(x, 0, rows * n), at(rows), at(n)));
         b.add(product, by_rows(rows, n, x, [&](Row row, int64_t) {
                   for (std::size_t i = 0; i < row.size(); ++i)
                       row[i] *= static_cast<double>(z[i]);
                   return row;
               }));
         b.add(filled, Row(at(n), 0.5));
     }},
    {"copy: two matrices, of rows or of columns that are next to each other or further apart",
     [](int64_t rows, int64_t n, Both& b) {
         const int64_t all = 2 * rows * n;
         const Reals x = numbers(2 * all, 1);
         const int64_t strides[][2] = {{2 * n, 1}, {2 * n, 2}, {1, 2 * rows}, {2, 2 * rows}};
         for (const int64_t count : {1, 2})
             for (const auto& from : strides)
                 for (const auto& to : strides)
                     for (const bool accumulate : {false, true}) {
                         Reals y = numbers(2 * all, 2);
                         Row expected(y.begin(), y.end());
                         cpu().copy({{1, count, rows, n}, {0, all, from[0], from[1]}, {0, all, to[0], to[1]}},
                                    x.data(), {y.data(), accumulate});
                         for (int64_t i = 0; i < count * rows * n; ++i) {
                             const int64_t matrix = i / (rows * n) * all, r = i / n % rows, c = i % n;
                             double& place = expected[at(matrix + r * to[0] + c * to[1])];
                             place = static_cast<double>(x[at(matrix + r * from[0] + c * from[1])]) +
                                     (accumulate ? place : 0);
                         }
                         b.add(y, expected);
                     }
     }},
    {"unary: sigmoid, also in place, and its derivative",
     [](int64_t rows, int64_t n, Both& b) {
         const Reals x = numbers(rows * n, 1), dy = numbers(rows * n, 2);
         Reals y = room(rows * n), in_place = x, dx = room(rows * n);
         cpu().unary(Unary::sigmoid, rows * n, x.data(), y.data());
         cpu().unary(Unary::sigmoid, rows * n, in_place.data(), in_place.data());
         cpu().unary_backward(Unary::sigmoid, rows * n, y.data(), dy.data(), {dx.data()});
         Row s, d;
         for (std::size_t i = 0; i < x.size(); ++i) {
             s.push_back(sigmoid(static_cast<double>(x[i])));
             d.push_back(s[i] * (1 - s[i]) * static_cast<double>(dy[i]));
         }
         b.add(y, s), b.add(in_place, s), b.add(dx, d);
     }},
    {"dropout, residual: the kept ones are scaled, the same in both",
     [](int64_t rows, int64_t n, Both& b) {
         const Reals x = numbers(rows * n, 1), ones(at(rows * n), 1);
         Reals kept = room(rows * n), sum = room(rows * n);
         cpu().dropout(rows * n, Real(0.5), {1, 2}, ones.data(), {kept.data()});
         cpu().residual(rows * n, Real(0.5), {1, 2}, ones.data(), x.data(), sum.data());
         Row factors, expected;
         for (std::size_t i = 0; i < x.size(); ++i) {
             factors.push_back(kept[i] > 1 ? 2 : 0);  // which ones: see test_pointwise.cpp
             expected.push_back(1 + factors[i] * static_cast<double>(x[i]));
         }
         b.add(kept, factors), b.add(sum, expected);
     }},
    {"gather, scatter_add",
     [](int64_t rows, int64_t n, Both& b) {
         const int64_t words = 23;
         const int32_t pad = 5;
         const Reals table = numbers(words * n, 1), dy = numbers(rows * n, 3);
         const std::vector<int32_t> id = ids(rows, words);
         const Lookup o = {.count = rows, .n = n, .pad = pad};
         Reals y = room(rows * n), dtable = room(words * n);
         cpu().gather(o, id.data(), table.data(), y.data());
         cpu().scatter_add(o, id.data(), dy.data(), words, {dtable.data()});
         Row expected, gradient(at(words * n));
         for (int64_t i = 0; i < rows * n; ++i) {
             const int64_t word = id[at(i / n)], column = i % n;
             const double factor = word == pad ? 0 : 1;
             expected.push_back(factor * static_cast<double>(table[at(word * n + column)]));
             gradient[at(word * n + column)] += factor * static_cast<double>(dy[at(i)]);
         }
         b.add(y, expected), b.add(dtable, gradient);
     }},
    {"adam",
     [](int64_t rows, int64_t n, Both& b) {
         const int64_t all = rows * n;
         const Reals g = numbers(all, 1), before = numbers(all, 2), mean = numbers(all, 3),
                     square = numbers(all, 4, 0.5, 1);
         Reals w = before, m = mean, v = square;
         const Adam o = {.lr = Real(0.25),
                         .beta1 = Real(0.5),
                         .beta2 = Real(0.75),
                         .rest1 = Real(0.5),
                         .rest2 = Real(0.25),
                         .eps = Real(0.125),
                         .correction1 = Real(0.5),
                         .correction2 = Real(0.25),
                         .decay = Real(0.5),
                         .decoupled = true,
                         .grad_scale = 2};
         cpu().adam(o, all, g.data(), w.data(), m.data(), v.data());
         Row ws = wide(before), ms = wide(mean), vs = wide(square);
         for (std::size_t i = 0; i < g.size(); ++i) {
             const double grad = 2 * static_cast<double>(g[i]);
             ms[i] = 0.5 * ms[i] + 0.5 * grad;
             vs[i] = 0.75 * vs[i] + 0.25 * grad * grad;
             ws[i] -= 0.25 * 0.5 * ws[i] + 0.25 * (ms[i] / 0.5) / (std::sqrt(vs[i] / 0.25) + 0.125);
         }
         b.add(w, ws), b.add(m, ms), b.add(v, vs);
     }},
};

struct Size {
    int64_t rows, n;
};
constexpr Size kSizes[] = {{1, 1},    {3, 16},   {16, 17},   {63, 5},   {64, 33},
                           {65, 3},   {129, 7},  {200, 2},   {1100, 3}, {5, 257},
                           {2, 1025}, {2, 4099}, {33, 2048}, {16, 15},  {17, 47}};

// A source file without its comments.
std::string code(const std::string& path) {
    std::ifstream file(path);  // tests run in the repository's root
    REQUIRE(file.is_open());
    std::string text;
    for (std::string line; std::getline(file, line);)
        text += line.substr(0, line.find("//")) + '\n';
    return text;
}

}  // namespace

TEST_CASE("kernels: each equals its formula, below, at and beyond its block sizes", "[kernels]") {
    for (const Case& c : kCases) {
        for (const Size size : kSizes) {
            Both b;
            c.call(size.rows, size.n, b);
            INFO(c.name << ", " << size.rows << " x " << size.n);
            CHECK(!b.is.empty());
            CHECK(worst_error(b.is, b.expected) <= (autograd::kRealIsDouble ? 1e-12 : 1e-5));
        }
    }
    for (const Products& products : {cpu().float32, cpu().bf16})
        CHECK(products.fma_chains(1000) >= 1000);
}

TEST_CASE("kernels: a class that cannot be leaves the loss of the others as it is", "[kernels]") {
    const Reals x = {1, -HUGE_VALF, 2};
    const std::vector<int32_t> target = {2};
    Reals loss = room(1), statistics = room(2), dx = room(3);
    cpu().cross_entropy(1, 3, x.data(), target.data(), -1, 0, loss.data(), statistics.data());
    cpu().cross_entropy_backward(1, 3, x.data(), target.data(), -1, 0, statistics.data(), 1, {dx.data()});
    const Row p = reference::softmax({1, -HUGE_VAL, 2});
    CHECK(worst_error(loss, Row{-std::log(p[2])}) <= 1e-6);
    CHECK(worst_error(dx, Row{p[0], 0, p[2] - 1}) <= 1e-6);
}

// Blocks of 16, 64 and 1024 queries; panels of 64 keys and blocks of 512.
TEST_CASE("kernels: attention of long texts equals its formula", "[kernels][attention]") {
    const Size sizes[] = {{17, 64},  {64, 511},    {65, 512},  {129, 513},
                          {1024, 1}, {1025, 1030}, {70, 5200}, {33, 10300}};
    for (const auto& [queries, n] : sizes)
        for (const bool causal : {false, true}) {
            const int64_t keys = causal ? std::max(queries, n) : n + 1;
            Both b;
            attention_both(queries, keys, causal, b);
            INFO(queries << " x " << keys << (causal ? ", causal" : ""));
            CHECK(worst_error(b.is, b.expected) <= (autograd::kRealIsDouble ? 1e-12 : 1e-5));
        }
    // Each block of keys has larger scores than all before, up to 100, whose rounding error of 4e-6 is an
    // error of the weight's last digits.
    for (const int64_t keys : {513, 1024, 1537}) {
        Both b;
        attention_both(40, keys, true, b, cpu().float32, 40);
        INFO(keys);
        CHECK(worst_error(b.is, b.expected) <= (autograd::kRealIsDouble ? 1e-11 : 1e-4));
    }
}

// Factors with 8 bits have errors of up to 2^-9; in a sum of many they partly cancel.
TEST_CASE("kernels: attention in bf16 is near its formula", "[kernels][attention][bf16]") {
    for (const int64_t keys : {512, 513, 1030, 1537})
        for (const bool causal : {false, true}) {
            Both b;
            attention_both(65, keys, causal, b, cpu().bf16);
            INFO(keys << (causal ? ", causal" : ""));
            CHECK(worst_error(b.is, b.expected) <= 0.02);
        }
    // Whole Vecs, and an odd number of queries that, as pairs, fill their room.
    for (const int64_t queries : {15, 16, 63, 64, 127})
        for (const int64_t d : {15, 16, 63, 64}) {
            Both b;
            attention_both(queries, queries, true, b, cpu().bf16, 0, d);
            INFO(queries << " queries, " << d << " columns");
            CHECK(worst_error(b.is, b.expected) <= 0.05);
        }
}

TEST_CASE("kernels: each has a reference, a comparison of bits, and a row in the profile", "[kernels]") {
    const std::string folder = "tests/autograd/kernels/";
    const std::string header = code("autograd/kernels/kernels.h");
    const std::regex declaration(R"(\(\*([a-z_0-9]+)\)\()");
    const auto text = [&](const std::vector<const char*>& files) {
        std::string all;
        for (const char* file : files)
            all += code(folder + file);
        return all;
    };
    const std::string reference = text({"test_kernel_reference.cpp", "attend.h", "../../trust/operands.h"});
    const std::string bits = text({"calls_elementwise.cpp", "calls_rows.cpp", "calls_moving.cpp",
                                   "calls_attention.cpp", "calls_gemm.cpp"});
    const std::string clocks = code("tests/bench/bench_profile.cpp");
    int count = 0;
    for (std::sregex_iterator i(header.begin(), header.end(), declaration), end; i != end; ++i, ++count) {
        const std::string name = (*i)[1];
        const bool product = clocks.find("&Products::" + name + ">") != std::string::npos;
        const std::string call = product ? "cpu().float32." + name : "cpu()." + name + "(";
        const std::string both = product ? "products." + name + "(" : call;  // of one precision or the other
        INFO(name);
        CHECK((contains(reference, call) || contains(reference, both) ||
               contains(reference, "cpu()." + name + ",")));
        if (name == "fma_chains")
            continue;  // it only measures speed
        CHECK((contains(bits, call) || contains(bits, both)));
        CHECK((product || contains(clocks, "CLOCK(" + name + ")")));
    }
    CHECK(count >= 26);
}
