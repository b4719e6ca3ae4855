// Decoding with the key/value cache gives, at every step, the bits of the whole forward pass.
#include "autograd/plain.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

// A sentence being decoded: which source, and the tokens read so far.
struct Growing {
    std::size_t source;
    Ids read;
};

// The logits (B, 1, V) after the last token of each, computed without a cache.
Tensor uncached(const Transformer& model, const Sentences& sources, const std::vector<Growing>& batch) {
    const autograd::NoGrad no_grad;
    Sentences src, tgt;
    for (const Growing& g : batch) {
        src.push_back(sources[g.source]);
        tgt.push_back(g.read);
    }
    const Tensor logits = model(padded(src), padded(tgt), Mode::eval());  // (B, T, V)
    return autograd::slice(logits, 1, logits.size(1) - 1, logits.size(1));
}

int32_t token(std::size_t b, int t) {
    return static_cast<int32_t>(kFirstFreeId + Rng(99).fork(b).below(static_cast<uint64_t>(t), 7));
}

// Steps `steps` times, each token different in each sentence; before step i, select(plan[i]) if not empty.
void compare(const std::string& kind, const Sentences& sources, int steps,
             const std::vector<std::pair<int, Ids>>& plan, Precision precision = {}) {
    Config config = small(kind);
    config.block.precision = precision;
    const Transformer model(config, Rng(5));
    const std::unique_ptr<Stepper> stepper = model.start(padded(sources));
    std::vector<Growing> batch;
    for (std::size_t b = 0; b < sources.size(); ++b)
        batch.push_back({b, {}});
    for (int t = 0; t < steps; ++t) {
        for (const auto& [when, rows] : plan) {
            if (when != t)
                continue;
            std::vector<Growing> chosen;
            for (const int32_t r : rows)
                chosen.push_back(batch[static_cast<std::size_t>(r)]);
            batch = chosen;
            stepper->select(rows);
        }
        Ids next;
        for (std::size_t b = 0; b < batch.size(); ++b) {
            next.push_back(t == 0 ? int32_t(kSos) : token(b, t));
            batch[b].read.push_back(next.back());
        }
        const int64_t rows = std::ssize(next);
        const Tensor cached = stepper->step(Tokens(rows, 1, next));  // (B, 1, V)
        INFO(kind << " in " << autograd::kPrecisionNames[int(precision)] << ", step " << t << ", batch of "
                  << batch.size());
        REQUIRE(cached.shape() == Shape({rows, 1, 11}));
        REQUIRE(same_bits(cached, uncached(model, sources, batch)));
        REQUIRE_FALSE(cached.needs_grad());
    }
}

}  // namespace

TEST_CASE("cache: every step gives the bits of the whole pass, also after the cache has grown twice",
          "[models][decoding]") {
    for (const std::string& kind : kKinds)
        for (const Precision precision : {Precision::float32, Precision::bf16})
            compare(kind, sentences({5, 2, 7}, 1), 35, {}, precision);
}

TEST_CASE(
    "cache: every step gives the bits of the whole pass after rows were reordered, repeated and dropped",
    "[models][decoding]") {
    const std::vector<std::pair<int, Ids>> plan = {{1, {2, 0, 3, 1}},
                                                   {3, {0, 0, 2, 3, 3, 1}},
                                                   {4, {5, 4, 3, 2, 1, 0}},
                                                   {15, {3, 1}},
                                                   {16, {1, 1, 0}},
                                                   {17, {2, 1}},
                                                   {32, {1, 0, 0, 1, 1}},
                                                   {33, {4}},
                                                   {34, {0, 0}}};
    for (const std::string& kind : kKinds)
        for (const Precision precision : {Precision::float32, Precision::bf16})
            compare(kind, sentences({5, 2, 7, 1}, 2), 35, plan, precision);
}

TEST_CASE("cache: select before the first step, and twice in a row", "[models][decoding]") {
    compare("paper", sentences({3, 6}, 3), 4, {{0, {1, 0, 1}}, {2, {0, 2}}, {2, {1}}});
    nn::KeyValueCache cache(Tensor::zeros({2, 3, 4}));
    cache.select({});
    cache.select({});  // of no sentence, none
    CHECK(cache.stored().shape() == Shape({0, 3, 4}));
    static_assert(!std::is_copy_constructible_v<nn::KeyValueCache>);
}

TEST_CASE("cache: sentences that read the same source have the bits that copies of it give",
          "[models][decoding]") {
    const nn::CrossAttention layer(8, 2, Rng(1));
    const Tensor memory = random({4, 5, 8}, 2);
    const Ids lengths = {5, 2, 3, 1};
    // Which source each sentence reads: after one selection, and of these after another.
    const std::vector<std::pair<Ids, Ids>> plans = {
        {{0, 1, 2, 3}, {0, 1, 2}}, {{1, 1, 0, 1, 3}, {4, 0, 2}}, {{3}, {0, 0}}, {{2, 3, 3}, {2, 1, 0, 0, 0}}};
    for (const auto& [first, second] : plans)
        for (const int64_t t : {1, 3}) {
            nn::KeyValueCache cache(layer.kv_proj(memory));
            Ids sources = {0, 1, 2, 3};
            for (const Ids& rows : {first, second}) {
                cache.select(rows);
                std::vector<Tensor> copies;
                Ids read, counts;
                for (const int32_t row : rows) {
                    read.push_back(sources[static_cast<std::size_t>(row)]);
                    copies.push_back(autograd::slice(memory, 0, read.back(), read.back() + 1));
                    counts.push_back(lengths[static_cast<std::size_t>(read.back())]);
                }
                sources = read;
                const Mask mask = Mask::key_counts(counts);
                const Tensor x = random({std::ssize(rows), t, 8}, 3);
                nn::Probe here, there;
                const Tensor out =
                    layer(x, Tensor(), {.mask = mask, .mode = Mode::eval(&here), .cache = &cache});
                const Tensor expected =
                    layer(x, autograd::concat(copies, 0), {.mask = mask, .mode = Mode::eval(&there)});
                CHECK(same_bits(out, expected));
                const Pass unseen = {.mask = mask, .mode = Mode::eval(), .cache = &cache};
                CHECK(same_bits(layer(x, Tensor(), unseen), expected));
                CHECK(same_bits(here.of(layer), there.of(layer)));
                const autograd::Plain plain;
                CHECK(worst_error(layer(x, Tensor(), unseen), expected) < 1e-5);
            }
        }
}

TEST_CASE("cache: attention's weights are those of the filled positions", "[models][decoding]") {
    const nn::MultiHeadAttention layer(8, 2, Rng(1));
    const Tensor x = random({1, 3, 8}, 1);
    nn::Probe whole, step;
    layer(x, {.mask = Mask::causal(), .mode = Mode::eval(&whole)});  // weights (1, 2, 3, 3)
    nn::KeyValueCache cache;
    const autograd::NoGrad no_grad;
    for (int64_t t = 0; t < 3; ++t)
        layer(autograd::slice(x, 1, t, t + 1), {.mode = Mode::eval(&step), .cache = &cache});
    CHECK(same_bits(step.of(layer), autograd::slice(whole.of(layer), 2, 2, 3)));  // (1, 2, 1, 3)
}

TEST_CASE("cache: a batch of one, sources of one token, one head, no decoder layers but one",
          "[models][decoding]") {
    compare("blog", sentences({1}, 4), 18, {});
    Config c = small("prenorm");
    c.block.n_heads = 1;
    c.n_decoder_layers = 1;
    const Transformer model(c, Rng(6));
    const Sentences sources = sentences({1, 4}, 5);
    const std::unique_ptr<Stepper> stepper = model.start(padded(sources));
    std::vector<Growing> batch = {{0, {kSos}}, {1, {kSos}}};
    CHECK(same_bits(stepper->step(Tokens(2, 1, {kSos, kSos})), uncached(model, sources, batch)));
}

TEST_CASE("cache: rows that do not exist are an error", "[models][decoding]") {
    models::Config config = models::preset("blog");
    config.max_length = 8;
    const models::Transformer model(config, autograd::Rng(1));
    const auto stepper = model.start(Tokens(1, 2, {4, 5}, models::kPad));
    CHECK_THROWS_AS(stepper->select({100000000}), autograd::Error);
    CHECK_THROWS_AS(stepper->select({-1}), autograd::Error);
    CHECK_THROWS_AS(stepper->step(Tokens(1, 1, {99})), autograd::Error);
}

TEST_CASE("cache: errors", "[models][decoding]") {
    Config c = small("paper");
    c.max_length = 4;
    const Transformer model(c, Rng(7));
    CHECK(contains(error_of([&] { model.start(padded(sentences({5}, 6))); }), "maximum length of 4"));
    const std::unique_ptr<Stepper> stepper = model.start(padded(sentences({4, 2}, 6)));
    CHECK(stepper->max_length == 4);
    CHECK(
        contains(error_of([&] { stepper->step(Tokens(1, 1, {kSos})); }), "for 1 sentences, the batch has 2"));
    for (int t = 0; t < 4; ++t)
        CHECK(error_of([&] { stepper->step(Tokens(2, 1, {kSos, 5})); }) == "");
    CHECK(contains(error_of([&] { stepper->step(Tokens(2, 1, {kSos, 5})); }), "maximum length of 4"));
}
