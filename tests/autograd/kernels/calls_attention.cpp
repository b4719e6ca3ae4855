// Attention, forward and backward, in both precisions.
#include "tests/autograd/kernels/calls.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

AttentionCase::AttentionCase(Run& r, int64_t d, int64_t most_queries) {
    const int64_t keys = std::min<int64_t>(r.n, 520), queries = std::min<int64_t>(r.rows / 3, most_queries);
    a.batch = 3, a.heads = 2, a.queries = queries, a.keys = keys, a.d = d, a.scale = Real(0.3);
    a.q_row = a.kv_row = a.heads * d;
    a.key = {17, 4711};
    counts = r.integers({static_cast<int32_t>(keys), static_cast<int32_t>(keys / 2), 0});
    std::vector<uint8_t> pairs;
    for (int64_t i = 0; i < 3 * queries * keys; ++i)
        pairs.push_back(i % 3 != 1);
    allowed = r.bytes(pairs);
}

void attention_both_ways(Run& r, AttentionCase& c) {
    const Real *q = r.in(c.q(), 1), *k = r.in(c.k(), 2), *v = r.in(c.k(), 3), *dout = r.in(c.q(), 4);
    for (const Products& products : {cpu().float32, cpu().bf16}) {
        Real* out = r.out(c.q());
        Real* weights = r.out(c.a.batch * c.a.heads * c.a.queries * c.a.keys);
        Real* statistics = r.out(2 * c.a.batch * c.a.heads * c.a.queries);
        products.attention(c.a, q, k, v, out, weights, statistics);
        const Out dq = r.sink(c.q()), dk = r.sink(c.k()), dv = r.sink(c.k());
        products.attention_backward(c.a, q, k, v, out, statistics, dout, dq, dk, dv);
    }
}

// Heads of one Vec and a part, of whole ones, and of more than the four that are summed at once.
static void attend_once(Run& r) {
    for (const int64_t d : {5, 16, 70}) {
        AttentionCase c(r, d);
        c.a.queries = 1;
        const Real *q = r.in(c.q(), 1), *k = r.in(c.k(), 2), *v = r.in(c.k(), 3);
        for (const int32_t* counts : {static_cast<const int32_t*>(nullptr), c.counts}) {
            c.a.mask.key_counts = counts;
            for (const Products& products : {cpu().float32, cpu().bf16})
                products.attention(c.a, q, k, v, r.out(c.q()), nullptr, r.out(3 * 2 * 2));
        }
    }
}

std::vector<Call> attention_calls() {
    return {
        {"attention of a single query", false, attend_once},
        {"attention, both heads read one, dropout", true,
         [](Run& r) {
             AttentionCase c(r);
             c.a.group = 2, c.a.kv_row = c.a.d, c.a.dropout = Real(0.3);
             attention_both_ways(r, c);
         }},
        {"attention, no mask", true,
         [](Run& r) {
             AttentionCase c(r);
             attention_both_ways(r, c);
         }},
        {"attention, heads of 16", true,
         [](Run& r) {
             AttentionCase c(r, 16);
             attention_both_ways(r, c);
         }},
        {"attention, heads of 33, causal", true,
         [](Run& r) {
             AttentionCase c(r, 33);
             c.a.mask.causal = c.a.keys >= c.a.queries;
             attention_both_ways(r, c);
         }},
        {"attention, padding, causal, dropout", true,
         [](Run& r) {
             AttentionCase c(r);
             c.a.mask = {.key_counts = c.counts, .causal = c.a.keys >= c.a.queries};
             c.a.dropout = Real(0.3);
             attention_both_ways(r, c);
         }},
        {"attention, allowed, dropout", true,
         [](Run& r) {
             AttentionCase c(r);
             c.a.mask.allowed = c.allowed;
             c.a.dropout = Real(0.3);
             attention_both_ways(r, c);
         }},
    };
}

}  // namespace plaingrad::tests
