// Multi-head attention against the paper's formula, head by head. (A toy task can be learned even with
// scrambled heads.)
#include "nn/attention.h"

#include <algorithm>
#include <functional>

#include "nn/probe.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

struct Result {
    std::vector<double> out, weights;  // (B, T, d_model), (B, H, T, S)
};

using Allowed = std::function<bool(int64_t b, int64_t t, int64_t s)>;

// MultiHead(q, k, v) = Concat(head_1, ..., head_H) W_O, in double.
Result by_definition(const CrossAttention& layer, const Tensor& query, const Tensor& memory,
                     const Allowed& allowed) {
    const int64_t batch = query.size(0), n = query.size(2), heads = layer.n_heads, d = n / heads;
    const auto T = static_cast<std::size_t>(query.size(1)), S = static_cast<std::size_t>(memory.size(1));
    const std::vector<Tensor> k_v = autograd::split(layer.kv_proj(memory), n, 2);
    const Tensor q = layer.q_proj(query);
    Result r;
    std::vector<Tensor> sentences;
    for (int64_t b = 0; b < batch; ++b) {
        std::vector<Tensor> outputs;
        for (int64_t h = 0; h < heads; ++h) {
            const auto head = [&](const Tensor& x) {
                return doubles(autograd::slice(autograd::slice(x, 0, b, b + 1), 2, h * d, (h + 1) * d));
            };
            const auto D = static_cast<std::size_t>(d);
            const reference::Row weights = reference::attention_weights(
                head(q), head(k_v[0]), T, S, D, [&](std::size_t t, std::size_t s) {
                    return allowed(b, static_cast<int64_t>(t), static_cast<int64_t>(s));
                });
            const reference::Row out = reference::matmul(weights, head(k_v[1]), T, S, D);
            r.weights.insert(r.weights.end(), weights.begin(), weights.end());
            outputs.push_back(Tensor::from({1, query.size(1), d}, std::vector<Real>(out.begin(), out.end())));
        }
        sentences.push_back(autograd::concat(outputs, 2));
    }
    r.out = doubles(layer.out_proj(autograd::concat(sentences, 0)));
    return r;
}

const Allowed kAll = [](int64_t, int64_t, int64_t) { return true; };

}  // namespace

TEST_CASE("attention: equals the definition, head by head, under every mask", "[nn][attention]") {
    struct Row {
        const char* what;
        Mask mask;
        Allowed allowed;
    };
    const std::vector<Row> rows = {
        {"none", Mask::none(), kAll},
        {"padding", Mask::key_counts({7, 3}), [](int64_t b, int64_t, int64_t s) { return s < (b ? 3 : 7); }},
        {"no key at all", Mask::key_counts({0, 7}), [](int64_t b, int64_t, int64_t) { return b == 1; }},
        {"causal", Mask::causal(), [](int64_t, int64_t t, int64_t s) { return s <= t + 2; }},
        {"both", Mask::key_counts({4, 7}).and_causal(),
         [](int64_t b, int64_t t, int64_t s) { return s <= t + 2 && (b == 1 || s < 4); }},
    };
    const Tensor query = random({2, 5, 12}, 1), memory = random({2, 7, 12}, 2);
    for (const int64_t heads : {1, 2, 3, 12}) {
        for (const bool bias : {true, false}) {
            const CrossAttention layer(12, heads, Rng(3), {.bias = bias, .init = Init::pytorch});
            for (const Row& r : rows) {
                INFO(r.what << ", " << heads << " heads");
                Probe seen;
                const Tensor out = layer(query, memory, {r.mask, Mode::eval(&seen)});
                const Tensor& weights = seen.of(layer);
                const Result expected = by_definition(layer, query, memory, r.allowed);
                CHECK(out.shape() == query.shape());
                CHECK(weights.shape() == Shape({2, heads, 5, 7}));
                CHECK_FALSE(weights.needs_grad());
                CHECK(worst_error(out, expected.out) < 1e-5);
                CHECK(worst_error(weights, expected.weights) < 1e-5);
                CHECK(
                    same_bits(out, layer(query, memory, {r.mask, Mode::eval()})));  // a probe changes no bit
            }
        }
    }
}

TEST_CASE("attention: self-attention, with one joint product, is the same", "[nn][attention]") {
    const MultiHeadOptions options = {.dropout = Real(0.2), .init = Init::pytorch};
    const MultiHeadAttention layer(12, 3, Rng(3), options);
    const CrossAttention cross(12, 3, Rng(3), options);  // the same initial values
    const Tensor x = random({2, 5, 12}, 1);
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::key_counts({5, 3}).and_causal()}) {
        Probe joint, apart;
        for (const bool trains : {false, true}) {
            const auto mode = [&](Probe& probe) {
                return trains ? Mode::train(Rng(4), &probe) : Mode::eval(&probe);
            };
            CHECK(same_bits(layer(x, {mask, mode(joint)}), cross(x, x, {mask, mode(apart)})));
            CHECK(same_bits(joint.of(layer), apart.of(cross)));
        }
    }
}

TEST_CASE("attention: keys and values from a cache give the same", "[nn][attention]") {
    const CrossAttention layer(12, 3, Rng(12), {.init = Init::pytorch});
    const Tensor query = random({1, 4, 12}, 10);
    const Mask diagonal = Mask::allowed(1, 4, 4, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    KeyValueCache cache(layer.kv_proj(query));
    const Tensor cached = layer(query, Tensor(), {.mask = diagonal, .mode = Mode::eval(), .cache = &cache});
    CHECK(same_bits(cached, layer(query, query, {diagonal, Mode::eval()})));
}

TEST_CASE("cache: what does not fit is an error, and changes nothing; nor do its tensors change",
          "[nn][attention]") {
    const Tensor keys_values = random({3, 3, 8}, 1);
    const std::vector<Real> before = keys_values.to_vector();
    KeyValueCache cache(keys_values);
    CHECK_THROWS_WITH(
        cache.append(random({3, 1, 6}, 2)),
        "[KeyValueCache] (3, 1, 6) cannot continue (3, 3, 8): keys and values have another size");
    CHECK_THROWS_WITH(cache.append(random({3, 1, 8, 1}, 2)),
                      "[KeyValueCache] keys and values are (B, S, d): got (3, 1, 8, 1)");
    CHECK(same_bits(cache.stored().to_vector(), before));
    cache.rewind(1);
    cache.append(random({3, 2, 8}, 2));  // for which there is room
    CHECK(cache.length() == 3);
    CHECK(same_bits(keys_values.to_vector(), before));
    cache.select({2, 0});
    for (const int32_t row : {-1, 2}) {
        CHECK_THROWS_WITH(cache.select({0, row}),
                          "[KeyValueCache] there is no row " + std::to_string(row) + " of 2");
        REQUIRE(cache.rows() != nullptr);
        CHECK(*cache.rows() == std::vector<int32_t>{2, 0});
    }
    cache.select({1, 1, 0});
    CHECK(*cache.rows() == std::vector<int32_t>{0, 0, 2});
}

TEST_CASE("attention: dropout of the weights, in training only", "[nn][attention]") {
    const Tensor x = random({2, 9, 12}, 17);
    const MultiHeadAttention layer(12, 3, Rng(18), {.dropout = Real(0.4)}), plain(12, 3, Rng(18));
    const Mode train = Mode::train(Rng(19));
    CHECK(same_bits(layer(x, {Mask::none(), Mode::eval()}), plain(x, {Mask::none(), train})));
    Probe seen;
    const Tensor out = layer(x, {Mask::none(), Mode::train(Rng(19), &seen)});
    CHECK(same_bits(out, layer(x, {Mask::none(), train})));
    CHECK_FALSE(same_bits(out, layer(x, {Mask::none(), Mode::train(Rng(20))})));
    const std::vector<Real> weights = seen.of(layer).to_vector();
    CHECK(static_cast<double>(std::count(weights.begin(), weights.end(), Real(0))) ==
          Approx(0.4 * static_cast<double>(weights.size())).epsilon(0.25));
}

TEST_CASE("attention: sizes that do not fit", "[nn][attention]") {
    CHECK(error_of([] { MultiHeadAttention(10, 3, Rng(1)); }) ==
          "[MultiHeadAttention] d_model = 10 must be a multiple of n_heads = 3");
    CHECK(error_of([] { MultiHeadAttention(10, 0, Rng(1)); }) != "");
    CHECK(error_of([] { CrossAttention(10, 3, Rng(1)); }) ==
          "[CrossAttention] d_model = 10 must be a multiple of n_heads = 3");
    CHECK(contains(error_of([] { MultiHeadAttention(12, 4, Rng(1), {.n_kv_heads = 3}); }), "n_kv_heads = 3"));
    CHECK(error_of([] { MultiHeadAttention(10, 3, Rng(1), {.head_dim = 2}); }) == "");
    CHECK(error_of([] { MultiHeadAttention(9, 3, Rng(1), {.head_dim = -1}); }) ==
          "[MultiHeadAttention] head_dim must not be negative: got -1");
    const MultiHeadAttention layer(6, 2, Rng(1));
    CHECK(parameter_count(layer) == 4 * (6 * 6 + 6));
    CHECK(parameter_count(CrossAttention(6, 2, Rng(1))) == 4 * (6 * 6 + 6));
    const Tensor x = Tensor::zeros({2, 3, 6});
    const auto with = [&](const Mask& mask) { return error_of([&] { layer(x, {mask, Mode::eval()}); }); };
    CHECK(contains(with(Mask::key_counts({3})), "batch of 2"));
    CHECK(contains(with(Mask::key_counts({3, 4})), "from 0 to 3"));
    CHECK(contains(with(Mask::allowed(2, 3, 2, std::vector<uint8_t>(12))), "do not fit"));
}
