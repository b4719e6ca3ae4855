// The language model gives the same bits with its cache as without, however a text is cut into steps.
#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

const Mode kEval = Mode::eval();

LanguageModel stirred(const Config& c) {
    LanguageModel model(c, Rng(1));
    stir(model);
    return model;
}

// Reads the text in steps of these lengths; all logits (B, T, V).
Tensor in_steps(const LanguageModel& model, const Tokens& text, const std::vector<int64_t>& lengths) {
    const auto stepper = model.start(text);
    std::vector<Tensor> parts;
    int64_t at = 0;
    for (const int64_t n : lengths) {
        parts.push_back(stepper->step(text.slice(at, at + n)));
        REQUIRE(parts.back().shape() == Shape({text.batch(), n, model.config.vocabulary}));
        REQUIRE_FALSE(parts.back().needs_grad());
        at += n;
    }
    REQUIRE(at == text.length());
    return autograd::concat(parts, 1);
}

Tokens drawn(int64_t batch, int64_t length, uint64_t seed) {
    return padded(
        sentences(std::vector<int>(static_cast<std::size_t>(batch), static_cast<int>(length)), seed));
}

}  // namespace

TEST_CASE("language model cache: every way to cut seven tokens", "[models][lm][decoding]") {
    std::vector<std::string> kinds = kStacks;
    kinds.insert(kinds.end(), kAlone.begin(), kAlone.end());
    for (const std::string& kind : kinds) {
        const LanguageModel model = stirred(small_stack(kind));
        const Tokens ids = drawn(2, 7, 2);
        const Tensor whole = model(ids, kEval);
        for (unsigned cuts = 0; cuts < 64; ++cuts) {  // bit i: a step ends after token i
            std::vector<int64_t> lengths = {1};
            for (unsigned i = 0; i < 6; ++i)
                if (cuts >> i & 1)
                    lengths.push_back(1);
                else
                    ++lengths.back();
            INFO(kind << ", cuts " << cuts);
            CHECK(same_bits(in_steps(model, ids, lengths), whole));
        }
    }
}

TEST_CASE("language model cache: while the cache grows, up to the last position", "[models][lm][decoding]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const LanguageModel model = stirred(small_stack(kind));
        const Tokens ids = drawn(3, 40, 3);
        const Tensor whole = model(ids, kEval);
        CHECK(same_bits(in_steps(model, ids, std::vector<int64_t>(40, 1)), whole));
        CHECK(same_bits(in_steps(model, ids, {40}), whole));
        CHECK(same_bits(in_steps(model, ids, {15, 1, 1, 1, 14, 7, 1}), whole));
        CHECK(same_bits(in_steps(model, ids, {1, 16, 1, 20, 2}), whole));
        CHECK(same_bits(in_steps(model, ids, {33, 7}), whole));
    }
}

TEST_CASE("language model cache: on every instruction set, at any number of threads",
          "[models][lm][decoding][threads]") {
    for (const char* const kind : {"gpt2", "llama"}) {
        Config c = small_stack(kind);
        c.block.d_model = 68;
        c.block.n_heads = 4;
        c.block.d_ff = 132;
        const Tokens ids = drawn(5, 37, 4);
        const Tensor whole = stirred(c)(ids, kEval);
        for_each_isa([&](const std::string& isa) {
            const LanguageModel model = stirred(c);  // no set reads what another one has packed
            for (const int n : {1, 3}) {
                INFO(kind << ", " << isa << ", " << n << " threads");
                const Threads threads(n);
                CHECK(same_bits(in_steps(model, ids, {20, 1, 1, 15}), whole));
                CHECK(same_bits(model(ids, kEval), whole));
            }
        });
    }
}

TEST_CASE("language model cache: it holds only the heads of keys and values", "[models][lm][decoding]") {
    const auto width = [](int64_t kv_heads) {
        const nn::MultiHeadAttention layer(12, 4, Rng(1), {.n_kv_heads = kv_heads, .head_dim = 6});
        nn::KeyValueCache cache;
        const autograd::NoGrad no_grad;
        layer(Tensor::zeros({2, 3, 12}), {.mode = kEval, .cache = &cache});
        return cache.stored().size(2);
    };
    CHECK((width(4) == 2 * 4 * 6 && width(2) == 2 * 2 * 6 && width(1) == 2 * 6));
}

TEST_CASE("language model cache: rows reordered, repeated and dropped", "[models][lm][decoding]") {
    for (const std::string& kind : kStacks) {
        const LanguageModel model = stirred(small_stack(kind));
        Sentences read = sentences({3, 3, 3}, 5);
        const auto stepper = model.start(padded(read));
        stepper->select({2, 0});  // before anything was read
        stepper->select({1, 1, 0});
        stepper->step(padded(read));
        const std::vector<Ids> plan = {{2, 0, 1}, {0, 0, 2, 1, 2}, {4, 3, 2, 1, 0}, {1, 3}, {1}, {0, 0}};
        for (std::size_t i = 0; i < plan.size(); ++i) {
            INFO(kind << ", selection " << i);
            stepper->select(plan[i]);
            Sentences chosen;
            for (const int32_t r : plan[i])
                chosen.push_back(read[static_cast<std::size_t>(r)]);
            read = chosen;
            const int count = i % 2 == 0 ? 1 : 6;
            const Sentences next = sentences(std::vector<int>(read.size(), count), 6 + i);
            for (std::size_t b = 0; b < read.size(); ++b)
                read[b].insert(read[b].end(), next[b].begin(), next[b].end());
            const Tensor whole = model(padded(read), kEval);
            CHECK(same_bits(stepper->step(padded(next)),
                            autograd::slice(whole, 1, whole.size(1) - count, whole.size(1))));
        }
    }
}

TEST_CASE("language model cache: only the last position's logits", "[models][lm][decoding]") {
    for (const std::string& kind : kStacks)
        for (const Precision p : {Precision::float32, Precision::bf16}) {
            INFO(kind << ", " << autograd::kPrecisionNames[int(p)]);
            LanguageModel model = stirred(small_stack(kind));
            model.config.block.precision = p;
            const Tokens ids = drawn(3, 9, 8);
            const Tensor whole = model(ids, kEval);
            const auto stepper = model.start(ids);
            for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 5}, {5, 6}, {6, 9}}) {
                const Tensor last = stepper->step(ids.slice(begin, end), Logits::last);
                CHECK(last.shape() == Shape({3, 1, model.config.vocabulary}));
                CHECK(same_bits(last, autograd::slice(whole, 1, end - 1, end)));
            }
        }
}

namespace {

int64_t largest_product = 0;  // rows times columns
const autograd::kernels::Kernels* real_kernels = nullptr;

}  // namespace

TEST_CASE("language model cache: a search computes no logits of a prompt but the last",
          "[models][lm][decoding]") {
    const LanguageModel model(small_stack("gpt2", 500), Rng(1));  // 500 ids: far more than any width
    autograd::kernels::Kernels counting = *(real_kernels = &autograd::kernels::cpu());
    counting.float32.gemm = [](const autograd::kernels::Gemm& g, const Real* a, const Real* b, Real* to) {
        largest_product = std::max(largest_product, g.m * g.n);
        real_kernels->float32.gemm(g, a, b, to);
    };
    const auto largest_in = [&](const auto& search) {
        const auto stepper = model.start(drawn(2, 9, 9));
        autograd::kernels::use(counting);
        largest_product = 0;
        search(*stepper);
        autograd::kernels::use(*real_kernels);
        return largest_product;
    };
    CHECK(largest_in([](Stepper& s) { s.step(s.prompts); }) == 2 * 9 * 500);
    CHECK(largest_in([](Stepper& s) { greedy(s, 3); }) == 2 * 500);
    CHECK(largest_in([](Stepper& s) { beam_search(s, {.beam = 1, .max_tokens = 3}); }) == 2 * 500);
    CHECK(largest_in([](Stepper& s) { generate(s, Rng(1), {.max_tokens = 3}); }) == 2 * 500);
}

TEST_CASE("language model cache: an error leaves it unchanged", "[models][lm][decoding]") {
    for (const char* kind : {"gpt2", "paper"}) {
        INFO(kind);
        Config c = small_stack(kind);
        c.max_length = 6;
        const LanguageModel model = stirred(c);
        const Tokens ids = drawn(2, 6, 7);
        const auto stepper = model.start(ids);
        CHECK(contains(error_of([&] { stepper->step(drawn(2, 7, 7)); }), "length of 6"));
        stepper->step(ids.slice(0, 4));
        CHECK(contains(error_of([&] { stepper->step(drawn(2, 3, 7)); }), "length of 6"));
        CHECK(contains(error_of([&] { stepper->step(Tokens(2, 1, {4, 11})); }), "id 11"));
        CHECK(contains(error_of([&] { stepper->step(Tokens(1, 1, {4})); }), "batch"));
        CHECK(contains(error_of([&] { stepper->step(Tokens(3, 1, {4, 5, 6})); }), "batch"));
        CHECK(contains(error_of([&] { stepper->step(padded({{4, 5}, {6}})); }), "no padding"));
        for (const int32_t row : {2, -1})
            CHECK(error_of([&] {
                      stepper->select({0, row});
                  }) == "[Stepper] there is no row " + std::to_string(row) + " in a batch of 2");
        const Tensor last = stepper->step(ids.slice(4, 6));
        CHECK(same_bits(last, autograd::slice(model(ids, kEval), 1, 4, 6)));
        CHECK(contains(error_of([&] { stepper->step(ids.slice(0, 1)); }), "length of 6"));
    }
}
