// The same bits: at any number of threads, on every instruction set, from every compiler.

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

// The losses of a few steps of training, and the hash of the weights.
using Run = std::pair<std::vector<Real>, uint64_t>;

template <class Model>
Run run_of(const Config& config, int steps, int batch) {
    const Model model(config, Rng(3));
    std::vector<Real> losses = train(model, steps, batch, 4);
    return {std::move(losses), hash(model)};
}

// No size is a multiple of 16, and every dropout has a rate.
Config wide(Config c, int64_t layers = 1) {
    c = sized(c, {40, c.max_length, 68, 4, 132, layers});
    const Real p = Real(0.1);
    c.block.dropout = {.embeddings = p, .sublayers = p, .feed_forward = p, .attention = p};
    return c;
}

// Models of all kinds, so that both pre- and post-norm are run, and that with batches of 64 and 32 every kind
// of kernel divides its work among threads.
std::vector<Run> runs(int threads, int steps, int batch) {
    const Threads guard(threads);
    const auto stack = [](const char* kind) { return wide(small_stack(kind)); };
    return {run_of<Transformer>(wide(small("blog")), 4 * steps, 2 * batch),
            run_of<LanguageModel>(stack("gpt2"), steps, batch),
            run_of<LanguageModel>(stack("mixed"), steps, batch),
            run_of<LanguageModel>(stack("llama"), steps, batch),
            run_of<MaskedLanguageModel>(stack("bert"), steps, batch),
            run_of<Classifier>(with_classes(stack("bert"), 2), steps, batch)};
}

void check_same(const std::vector<Run>& a, const std::vector<Run>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO("model " << i);
        CHECK(same_bits(a[i].first, b[i].first));
        CHECK(a[i].second == b[i].second);
    }
}

}  // namespace

TEST_CASE("bits: training steps are the same at any number of threads", "[models][bits][threads]") {
    const int batch = autograd::kRealIsDouble ? 4 : 32;  // plain doubles are slow
    const std::vector<Run> expected = runs(1, 5, batch);
    CHECK(expected[0].first.back() < expected[0].first.front());
    for (const int n : {2, 3, 4, 8}) {
        INFO(n << " threads");
        check_same(runs(n, 5, batch), expected);
    }
}

TEST_CASE("bits: training steps are the same on every instruction set of this machine", "[models][bits]") {
    const std::vector<Run> expected = runs(1, 2, 3);  // few: the baseline is slow
    for_each_isa([&](const std::string& isa) {
        INFO(isa);
        check_same(runs(3, 2, 3), expected);
    });
}

// ---- Golden hashes: written down once, equal on every machine and from every compiler.

namespace {

uint64_t trained(const std::string& kind, Precision precision = {}) {
    Config config = small(kind);
    config.block.precision = precision;
    const Transformer model(config, Rng(7));
    train(model, 10, 4, 8);
    return hash(model);
}

// One tensor with four consumers, two dropouts, and both branches of every accumulation.
uint64_t trained_graph() {
    const Rng rng(9);
    nn::Parameter a(nn::normal({13, 21}, 0.5, rng.fork("a"))), b(nn::normal({21, 13}, 0.5, rng.fork("b")));
    const std::vector<nn::NamedParameter> parameters = {{"a", a}, {"b", b}};
    nn::Adam adam(parameters, {.lr = 0.01, .weight_decay = 0.1, .decoupled = true});
    const Tensor x = nn::normal({5, 13}, 1, rng.fork("x"));
    for (uint64_t step = 0; step < 10; ++step) {
        const Rng masks = rng.fork("dropout").fork(step);
        const Tensor h = autograd::gelu(autograd::matmul(x, a));  // (5, 21), consumed four times:
        const Tensor kept = autograd::dropout(h, Real(0.2), masks.fork(1));
        const Tensor scaled = h * Real(0.3);
        const Tensor weights = autograd::softmax(h);
        const Tensor product = autograd::matmul(h, b);  // (5, 13)
        const Tensor mixed = autograd::tanh(kept * weights + scaled);
        const Tensor dropped = autograd::dropout(autograd::sigmoid(product), Real(0.3), masks.fork(2));
        const Tensor squares = mixed * mixed;
        const Tensor first = autograd::mean(squares), second = autograd::mean(autograd::exp(dropped));
        const Tensor loss = first - second;
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
    return hash(parameters);
}

}  // namespace

TEST_CASE("bits: golden hashes of trained weights", "[models][bits]") {
    if (autograd::kRealIsDouble)
        SKIP("the hashes are of floats");
    CHECK(trained("paper") == 0x0b34641b0731b854u);
    CHECK(trained("blog") == 0xe66f56a36d139e4bu);
    CHECK(trained("prenorm") == 0x58a0a4e38a66aa7eu);
    CHECK(trained_graph() == 0x40fe52e70f8c5698u);
}

TEST_CASE("bits: golden hashes of weights trained with products of bfloat16", "[models][bits][bf16]") {
    if (autograd::kRealIsDouble)
        SKIP("the hashes are of floats");
    for_each_isa([](const std::string& isa) {
        INFO(isa);
        CHECK(trained("paper", Precision::bf16) == 0xd82093740640f0bdu);
        CHECK(trained("prenorm", Precision::bf16) == 0xf1468aaa58bdcfecu);
    });
}

TEST_CASE("bits: golden hashes of models with one stack", "[models][bits][lm][mlm][classifier]") {
    if (autograd::kRealIsDouble)
        SKIP("the hashes are of floats");
    for_each_isa([](const std::string& isa) {
        INFO(isa);
        CHECK(run_of<LanguageModel>(small_stack("gpt2"), 10, 4).second == 0x5686127ccd0902f8u);
        CHECK(run_of<LanguageModel>(small_stack("bare"), 10, 4).second == 0x31b01c9363f56d92u);
        CHECK(run_of<LanguageModel>(small_stack("llama"), 10, 4).second == 0xd248603121ede321u);
        Config bert = small_stack("bert");
        CHECK(run_of<MaskedLanguageModel>(bert, 10, 4).second == 0x939e8585178ef383u);
        bert.token_types = 0;
        CHECK(run_of<MaskedLanguageModel>(bert, 10, 4).second == 0x27a01cdfcb19d011u);
        CHECK(run_of<Classifier>(with_classes(bert, 2), 10, 4).second == 0xc512ae0d9c34af25u);
    });
}
