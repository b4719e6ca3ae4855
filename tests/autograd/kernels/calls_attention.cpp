// Attention, forward and backward, in both precisions.
#include "tests/autograd/kernels/calls.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT
using autograd::Precision;

AttentionCase::AttentionCase(Run& r, int64_t d, int64_t most_queries) {
    const int64_t keys = std::min<int64_t>(r.n, 520), queries = std::min<int64_t>(r.rows / 3, most_queries);
    a.batch = 3, a.heads = 2, a.queries = queries, a.keys = keys, a.d = d;
    a.scale = 1 / std::sqrt(static_cast<Real>(d));
    a.q_row = a.kv_row = a.heads * d;
    a.key = {17, 4711};
    counts = r.integers({static_cast<int32_t>(keys), static_cast<int32_t>(keys / 2), 0});
    std::vector<uint8_t> pairs;
    for (int64_t i = 0; i < 3 * queries * keys; ++i)
        pairs.push_back(i % 3 != 1);
    allowed = r.bytes(pairs);
}

namespace {

bool sees(const Attention& a, int64_t b, int64_t t, int64_t s) {
    return (a.mask.key_counts == nullptr || s < a.mask.key_counts[b]) &&
           (!a.mask.causal || s <= t + a.keys - a.queries) &&
           (a.mask.allowed == nullptr || a.mask.allowed[(b * a.queries + t) * a.keys + s] != 0);
}

// Attention and its gradients as on paper, query by query.
struct Formula {
    Row out, weights, statistics, dq, dk, dv;
};
Formula formula(const Run& r, const AttentionCase& c, const Real* q, const Real* k, const Real* v,
                const Real* dout) {
    const Attention& a = c.a;
    const int64_t rows = a.batch * a.heads * a.queries;
    const Row zeros_q(at(c.q())), zeros_k(at(c.k())), zeros_w(at(rows * a.keys));
    Formula f = {zeros_q, zeros_w, {}, zeros_q, zeros_k, zeros_k};
    const Row factors = r.dropout_factors(rows * a.keys, a.dropout, a.key);
    const auto product = [&](const Real* x, const Real* y) {
        double sum = 0;
        for (int64_t i = 0; i < a.d; ++i)
            sum += static_cast<double>(x[i]) * y[i];
        return sum;
    };
    const auto add = [&](Row& to, int64_t begin, double factor, const Real* x) {
        for (int64_t i = 0; i < a.d; ++i)
            to[at(begin + i)] += factor * x[i];
    };
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t t = row % a.queries, h = row / a.queries % a.heads, b = row / a.queries / a.heads;
        const int64_t of_q = (b * a.queries + t) * a.q_row + h * a.d;
        const auto of_k = [&](int64_t s) { return (b * a.keys + s) * a.kv_row + h / a.group * a.d; };
        std::vector<int64_t> seen;
        Row scores, dw;
        for (int64_t s = 0; s < a.keys; ++s)
            if (sees(a, b, t, s)) {
                seen.push_back(s);
                scores.push_back(a.scale * product(q + of_q, k + of_k(s)));
                dw.push_back(factors[at(row * a.keys + s)] * product(dout + of_q, v + of_k(s)));
            }
        const Row p = reference::softmax(scores);
        const double mean = dot(p, dw);
        const auto largest = std::max_element(scores.begin(), scores.end()) - scores.begin();
        f.statistics.push_back(seen.empty() ? -std::numeric_limits<Real>::max() : scores[at(largest)]);
        f.statistics.push_back(seen.empty() ? 0 : p[at(largest)]);  // e⁰ / Σ exp
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const int64_t s = seen[i], place = row * a.keys + s;
            const double ds = p[i] * (dw[i] - mean) * a.scale;
            const double weight = f.weights[at(place)] = p[i] * factors[at(place)];
            add(f.out, of_q, weight, v + of_k(s));
            add(f.dq, of_q, ds, k + of_k(s));
            add(f.dk, of_k(s), ds, q + of_q);
            add(f.dv, of_k(s), weight, dout + of_q);
        }
    }
    return f;
}

// Heads of one Vec and a part, of whole ones, and of more than the four that are summed at once.
void attend_once(Run& r) {
    for (const int64_t d : {5, 16, 70}) {
        AttentionCase c(r, d);
        c.a.queries = 1;
        const Real *q = r.in(c.q(), 1), *k = r.in(c.k(), 2), *v = r.in(c.k(), 3);
        for (const int32_t* counts : {static_cast<const int32_t*>(nullptr), c.counts}) {
            c.a.mask.key_counts = counts;
            const Formula f = r.asks ? formula(r, c, q, k, v, q) : Formula{};
            for (const Precision precision : {Precision::float32, Precision::bf16}) {
                const double allowed = c.error[precision == Precision::bf16];
                Real *out = r.out(c.q()), *statistics = r.out(3 * 2 * 2);
                cpu().products(precision).attention(c.a, q, k, v, out, nullptr, statistics);
                r.expect(out, f.out, allowed), r.expect(statistics, f.statistics, allowed);
            }
        }
    }
}

// Both ways, of a case that is changed before.
Call attention(const char* name, int64_t d, const std::function<void(AttentionCase&)>& change) {
    return {name, [=](Run& r) {
                AttentionCase c(r, d);
                change(c);
                attention_both_ways(r, c);
            }};
}

}  // namespace

void attention_both_ways(Run& r, AttentionCase& c) {
    std::vector<Real> keys = numbers(c.k(), 2);
    for (std::size_t i = 0; i < keys.size(); ++i)
        keys[i] *= 1 + c.growth * static_cast<Real>(i / at(c.a.kv_row) / 512);
    const Real *q = r.in(c.q(), 1), *k = r.in(keys), *v = r.in(c.k(), 3), *dout = r.in(c.q(), 4);
    const Formula f = r.asks ? formula(r, c, q, k, v, dout) : Formula{};
    for (const Precision precision : {Precision::float32, Precision::bf16}) {
        const Products& products = cpu().products(precision);
        Real *out = r.out(c.q()), *weights = r.out(c.a.batch * c.a.heads * c.a.queries * c.a.keys);
        Real* statistics = r.out(2 * c.a.batch * c.a.heads * c.a.queries);
        products.attention(c.a, q, k, v, out, weights, statistics);
        const Out dq = r.sink(c.q()), dk = r.sink(c.k()), dv = r.sink(c.k());
        products.attention_backward(c.a, q, k, v, out, statistics, dout, dq, dk, dv);
        const double error = c.error[precision == Precision::bf16];
        r.expect(out, f.out, error), r.expect(weights, f.weights, error);
        r.expect(statistics, f.statistics, error), r.expect(dq.data, f.dq, error);
        r.expect(dk.data, f.dk, error), r.expect(dv.data, f.dv, error);
    }
}

std::vector<Call> attention_calls() {
    const Real some = Real(0.3);
    const auto is_long = [](const Attention& a) { return a.keys >= a.queries; };
    return {
        {"attention of a single query", attend_once},
        attention("attention, both heads read one, dropout", 5,
                  [=](AttentionCase& c) { c.a.group = 2, c.a.kv_row = c.a.d, c.a.dropout = some; }),
        attention("attention, no mask", 5, [](AttentionCase&) {}),
        attention("attention, heads of 16", 16, [](AttentionCase&) {}),
        attention("attention, heads of 33, causal", 33,
                  [=](AttentionCase& c) { c.a.mask.causal = is_long(c.a); }),
        attention("attention, padding, causal, dropout", 5,
                  [=](AttentionCase& c) {
                      c.a.mask = {.key_counts = c.counts, .causal = is_long(c.a)};
                      c.a.dropout = some;
                  }),
        attention("attention, allowed, dropout", 5,
                  [=](AttentionCase& c) { c.a.mask.allowed = c.allowed, c.a.dropout = some; }),
    };
}

}  // namespace plaingrad::tests
