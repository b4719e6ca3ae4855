// The same bits: at any number of threads, on every instruction set, from every compiler.

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

struct Run {
    std::vector<Real> losses;
    uint64_t weights;
};

// With a batch of 64 every kind of kernel divides its work among threads.
Run steps(int count, int batch) {
    Config c = small("blog", 40);
    c.block.d_model = 68;
    c.block.n_heads = 4;
    c.block.d_ff = 132;
    c.n_layers = c.n_decoder_layers = 1;
    c.block.dropout = {
        .embeddings = Real(0.1), .sublayers = Real(0.1), .feed_forward = Real(0.1), .attention = Real(0.1)};
    const Transformer model(c, Rng(3));
    Run run;
    run.losses = train(model, count, batch, 4);
    run.weights = hash(model);
    return run;
}

void check_same(const Run& a, const Run& b) {
    CHECK(same_bits(a.losses, b.losses));
    CHECK(a.weights == b.weights);
}

Run at_one_thread(int count, int batch) {
    const Threads threads(1);
    return steps(count, batch);
}

}  // namespace

TEST_CASE("bits: twenty training steps are the same at any number of threads", "[models][bits][threads]") {
    const int batch = autograd::kRealIsDouble ? 16 : 64;  // plain doubles are slow
    const Run expected = at_one_thread(20, batch);
    CHECK(expected.losses.size() == 20);
    CHECK(expected.losses.back() < expected.losses.front());
    for (const int n : {2, 3, 4, 8}) {
        INFO(n << " threads");
        const Threads threads(n);
        check_same(steps(20, batch), expected);
    }
}

TEST_CASE("bits: training steps are the same on every instruction set of this machine", "[models][bits]") {
    constexpr int kSteps = 4, kBatch = 6;  // few: the baseline is slow
    const Run expected = at_one_thread(kSteps, kBatch);
    int sets = 0;
    for_each_isa([&](const std::string& isa) {
        INFO(isa);
        const Threads threads(3);
        check_same(steps(kSteps, kBatch), expected);
        ++sets;
    });
    CHECK(sets >= 1);
}

TEST_CASE("bits: the same seed gives the same run, another seed another", "[models][bits]") {
    const auto run = [](uint64_t seed) {
        const Transformer model(small("article"), Rng(seed));
        const std::vector<Real> losses = train(model, 5, 4, seed);
        return std::make_pair(losses, hash(model));
    };
    const auto one = run(1), again = run(1), other = run(2);
    CHECK(same_bits(one.first, again.first));
    CHECK(one.second == again.second);
    CHECK(one.second != other.second);
}

// ---- The models with one stack.

namespace {

// 68 wide: no size is a multiple of 16, and every option is on or has a rate.
Config wide(const std::string& kind) {
    Config c = small_stack(kind, 40);
    c.block.d_model = 68;
    c.block.n_heads = 4;
    c.block.d_ff = 132;
    c.n_layers = 1;
    c.block.dropout = {
        .embeddings = Real(0.1), .sublayers = Real(0.1), .feed_forward = Real(0.1), .attention = Real(0.1)};
    return c;
}

template <class Model>
Run run_of(const Config& config, int steps, int batch) {
    const Model model(config, Rng(3));
    Run run;
    run.losses = train(model, steps, batch, 4);
    run.weights = hash(model);
    return run;
}

// With GPT's stack and with BERT's, so that both pre- and post-norm are run.
std::vector<Run> one_stack_runs(int count, int batch) {
    return {run_of<LanguageModel>(wide("gpt2"), count, batch),
            run_of<LanguageModel>(wide("mixed"), count, batch),
            run_of<LanguageModel>(wide("llama"), count, batch),
            run_of<MaskedLanguageModel>(wide("bert"), count, batch),
            run_of<Classifier>(with_classes(wide("bert"), 2), count, batch)};
}

std::vector<Run> one_stack_runs_at_one_thread(int count, int batch) {
    const Threads threads(1);
    return one_stack_runs(count, batch);
}

void check_same(const std::vector<Run>& a, const std::vector<Run>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO("model " << i);
        check_same(a[i], b[i]);
    }
}

}  // namespace

TEST_CASE("bits: models with one stack, at any number of threads", "[models][bits][lm][mlm][classifier]") {
    const int batch = autograd::kRealIsDouble ? 2 : 32;
    const std::vector<Run> expected = one_stack_runs_at_one_thread(5, batch);
    for (const int n : {2, 3, 4, 8}) {
        INFO(n << " threads");
        const Threads threads(n);
        check_same(one_stack_runs(5, batch), expected);
    }
}

TEST_CASE("bits: models with one stack, on every instruction set", "[models][bits][lm][mlm][classifier]") {
    const std::vector<Run> expected = one_stack_runs_at_one_thread(4, 2);
    for_each_isa([&](const std::string& isa) {
        INFO(isa);
        const Threads threads(2);
        check_same(one_stack_runs(4, 2), expected);
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
        CHECK(run_of<LanguageModel>(small_stack("gpt2"), 10, 4).weights == 0x5686127ccd0902f8u);
        CHECK(run_of<LanguageModel>(small_stack("bare"), 10, 4).weights == 0x31b01c9363f56d92u);
        CHECK(run_of<LanguageModel>(small_stack("llama"), 10, 4).weights == 0xd248603121ede321u);
        Config bert = small_stack("bert");
        CHECK(run_of<MaskedLanguageModel>(bert, 10, 4).weights == 0x939e8585178ef383u);
        bert.token_types = 0;
        CHECK(run_of<MaskedLanguageModel>(bert, 10, 4).weights == 0x27a01cdfcb19d011u);
        CHECK(run_of<Classifier>(with_classes(bert, 2), 10, 4).weights == 0xc512ae0d9c34af25u);
    });
}
