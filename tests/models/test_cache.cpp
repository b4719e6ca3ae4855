// Decoding with the key/value cache gives, at every step, the bits of the whole forward pass.
#include "autograd/plain.h"
#include "tests/catch.h"
#include "tests/models/steppers.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

// Reads random tokens with a model's own stepper and with one without a cache; the logits must be the same.
template <class Model>
class Reader {
public:
    Reader(const Model& model, const std::vector<int>& lengths)
        : own(start(model, sentences(lengths, 1), true)),
          plain_(start(model, sentences(lengths, 1), false)),
          rows_(lengths.size()) {}

    Tokens draw(int64_t count) {
        return padded(sentences(std::vector<int>(rows_, static_cast<int>(count)), ++drawn_));
    }
    void read(int64_t count, Logits which = Logits::all) {
        const Tokens next = draw(count);
        const Tensor logits = own->step(next, which);
        INFO("step " << drawn_ << ", batch of " << rows_ << ", " << count << " tokens");
        REQUIRE(same_bits(logits, plain_->step(next, which)));
        REQUIRE_FALSE(logits.needs_grad());
    }
    void select(const Ids& rows) {
        own->select(rows);
        plain_->select(rows);
        rows_ = rows.size();
    }
    void rewind(int64_t length) {
        own->rewind(length);
        plain_->rewind(length);
    }

    const std::unique_ptr<Stepper> own;

private:
    std::unique_ptr<Stepper> plain_;
    std::size_t rows_;
    uint64_t drawn_ = 1;
};

// f(a new Reader of four sentences) for each translator and language model.
template <class F>
void for_each_reader(const F& f) {
    for (const Precision p : {Precision::float32, Precision::bf16})
        for_each_model(
            [&](const std::string& name, const auto& model) {
                INFO(name << " in " << autograd::kPrecisionNames[int(p)]);
                if constexpr (requires { model.start(Tokens()); })
                    f([&] {
                        const bool translates = model.kKind == Kind::encoder_decoder;
                        return Reader(model, translates ? std::vector{5, 2, 7, 1} : std::vector{3, 3, 3, 3});
                    });
            },
            [&](Config& c) { c.block.precision = p; });
}

}  // namespace

TEST_CASE("cache: every step gives the bits of the whole pass, also after the cache has grown twice",
          "[models][decoding]") {
    const std::vector<std::vector<int64_t>> cuts = {
        std::vector<int64_t>(40, 1), {40}, {15, 1, 1, 1, 14, 7, 1}, {1, 16, 1, 20, 2}, {33, 7}, {2, 3, 1, 4}};
    for_each_reader([&](const auto& start) {
        for (const std::vector<int64_t>& lengths : cuts) {
            auto reader = start();
            for (const int64_t n : lengths)
                reader.read(n);
        }
        auto reader = start();
        for (const int64_t n : {5, 1, 3})
            reader.read(n, Logits::last);
    });
}

TEST_CASE(
    "cache: every step gives the bits of the whole pass after rows were reordered, repeated and dropped",
    "[models][decoding]") {
    // Before which step which rows are selected: also before anything was read, and twice in a row.
    const std::vector<std::pair<int, Ids>> plan = {{0, {1, 0, 3, 2}},
                                                   {0, {2, 2, 0, 3}},
                                                   {1, {2, 0, 3, 1}},
                                                   {3, {0, 0, 2, 3, 3, 1}},
                                                   {4, {5, 4, 3, 2, 1, 0}},
                                                   {15, {3, 1}},
                                                   {16, {1, 1, 0}},
                                                   {17, {0, 2}},
                                                   {17, {1, 0}},
                                                   {32, {1, 0, 0, 1, 1}},
                                                   {33, {4}},
                                                   {34, {0, 0}}};
    for_each_reader([&](const auto& start) {
        auto reader = start();
        for (int step = 0; step < 35; ++step) {
            for (const auto& [when, rows] : plan)
                if (when == step)
                    reader.select(rows);
            reader.read(step == 4 || step == 16 ? 3 : 1);
        }
        for (const int64_t length : {17, 0, 1}) {
            reader.rewind(length);
            reader.read(2);
        }
    });
}

TEST_CASE("cache: on every instruction set, at any number of threads", "[models][lm][decoding][threads]") {
    for (const char* const kind : {"gpt2", "llama"})
        for_each_isa([&](const std::string& isa) {
            // No set reads what another one has packed.
            const LanguageModel model(sized(small_stack(kind), {11, 40, 68, 4, 132}), Rng(1));
            for (const int n : {1, 3}) {
                INFO(kind << ", " << isa << ", " << n << " threads");
                const Threads threads(n);
                Reader reader(model, std::vector<int>(5, 2));
                for (const int64_t count : {20, 1, 1, 15})
                    reader.read(count);
            }
        });
}

TEST_CASE("cache: of no sentence, none; and it holds only the heads of keys and values",
          "[models][decoding]") {
    nn::KeyValueCache empty(Tensor::zeros({2, 3, 4}));
    empty.select({});
    empty.select({});
    CHECK(empty.stored().shape() == Shape({0, 3, 4}));
    static_assert(!std::is_copy_constructible_v<nn::KeyValueCache>);
    for (const int64_t kv_heads : {1, 2, 4}) {
        const nn::MultiHeadAttention layer(12, 4, Rng(1), {.n_kv_heads = kv_heads, .head_dim = 6});
        nn::KeyValueCache cache;
        const autograd::NoGrad no_grad;
        layer(Tensor::zeros({2, 3, 12}), {.mode = Mode::eval(), .cache = &cache});
        CHECK(cache.stored().size(2) == 2 * kv_heads * 6);
    }
}

TEST_CASE("cache: sentences that read the same source have the bits that copies of it give",
          "[models][decoding]") {
    const nn::CrossAttention layer(8, 2, Rng(1));
    const Tensor memory = random({4, 5, 8}, 2), x = random({4, 3, 8}, 3);
    const Ids rows = {3, 1, 1, 0}, lengths = {1, 2, 2, 5};
    nn::KeyValueCache cache(layer.kv_proj(memory));
    cache.select(rows);
    std::vector<Tensor> copies;
    for (const int32_t row : rows)
        copies.push_back(autograd::slice(memory, 0, row, row + 1));
    const Mask mask = Mask::key_counts(lengths);
    nn::Probe here, there;
    const Tensor expected = layer(x, autograd::concat(copies, 0), {.mask = mask, .mode = Mode::eval(&there)});
    const Pass unseen = {.mask = mask, .mode = Mode::eval(), .cache = &cache};
    CHECK(
        same_bits(layer(x, Tensor(), {.mask = mask, .mode = Mode::eval(&here), .cache = &cache}), expected));
    CHECK(same_bits(layer(x, Tensor(), unseen), expected));
    CHECK(same_bits(here.of(layer), there.of(layer)));
    const autograd::Plain plain;
    CHECK(worst_error(layer(x, Tensor(), unseen), expected) < 1e-5);
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

namespace {

int64_t largest_product = 0;  // rows times columns
const autograd::kernels::Kernels* real_kernels = nullptr;

}  // namespace

TEST_CASE("cache: a search computes no logits of a prompt but the last", "[models][lm][decoding]") {
    const LanguageModel model(small_stack("gpt2", 500), Rng(1));  // 500 ids: far more than any width
    autograd::kernels::Kernels counting = *(real_kernels = &autograd::kernels::cpu());
    counting.float32.gemm = [](const autograd::kernels::Gemm& g, const Real* a, const Real* b, Real* to) {
        largest_product = std::max(largest_product, g.m * g.n);
        real_kernels->float32.gemm(g, a, b, to);
    };
    const auto largest_in = [&](const auto& search) {
        const auto stepper = model.start(padded(sentences({9, 9}, 9)));
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

TEST_CASE("cache: an error leaves it unchanged", "[models][decoding]") {
    const auto check = [](const auto& model, const std::vector<int>& lengths) {
        Reader reader(model, lengths);
        Stepper& own = *reader.own;
        CHECK(own.max_length == 6);
        const auto refused = [&](const Tokens& tokens, const std::string& part) {
            CHECK(contains(error_of([&] { own.step(tokens); }), part));
        };
        refused(reader.draw(7), "maximum length of 6");
        reader.read(4);
        refused(reader.draw(3), "maximum length of 6");
        refused(Tokens(2, 1, {4, 11}), "id 11");
        refused(Tokens(1, 1, {4}), "for 1 sentences, the batch has 2");
        refused(Tokens(3, 1, {4, 5, 6}), "for 3 sentences, the batch has 2");
        refused(padded({{4, 5}, {6}}), "no padding");
        for (const int32_t wrong : {2, -1, 100000000})
            CHECK(error_of([&] {
                      own.select({0, wrong});
                  }) == "[Stepper] there is no row " + std::to_string(wrong) + " in a batch of 2");
        reader.read(2);
        refused(reader.draw(1), "maximum length of 6");
    };
    for (const char* kind : {"gpt2", "paper"}) {
        Config c = small_stack(kind);
        c.max_length = 6;
        check(LanguageModel(c, Rng(1)), {4, 4});
    }
    Config c = small("paper");
    c.max_length = 6;
    const Transformer translator(c, Rng(7));
    check(translator, {4, 2});
    CHECK(contains(error_of([&] { translator.start(padded(sentences({7}, 6))); }), "maximum length of 6"));
}
