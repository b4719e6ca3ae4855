// A model in bf16 runs no product of activations and weights in float32: not forward, not backward, not in
// decoding. The kernels that multiply are counted.
#include "autograd/kernels/kernels.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
using autograd::kernels::Kernels;
using autograd::kernels::Products;

namespace {

struct Calls {
    int64_t float32 = 0, bf16 = 0;
    int64_t& of(Precision p) { return p == Precision::bf16 ? bf16 : float32; }
} calls;
Kernels real;

template <Precision kPrecision, auto kKernel, class... A>
void counted(A... arguments) {
    ++calls.of(kPrecision);
    (real.products(kPrecision).*kKernel)(arguments...);
}

template <Precision kPrecision>
Products counting() {
    return {.gemm = counted<kPrecision, &Products::gemm>,
            .pack = counted<kPrecision, &Products::pack>,
            .unpack_column = nullptr,
            .attention = counted<kPrecision, &Products::attention>,
            .attention_backward = counted<kPrecision, &Products::attention_backward>,
            .fma_chains = nullptr};
}

template <class F>
Calls calls_of(const F& f) {
    static Kernels table;
    table = real = autograd::kernels::cpu();
    table.float32 = counting<Precision::float32>();
    table.bf16 = counting<Precision::bf16>();
    calls = {};
    autograd::kernels::use(table);
    f();
    autograd::kernels::use(real.name);
    return calls;
}

// Reads a prompt, drops a sentence, and then writes two tokens.
void decode(Stepper& stepper) {
    stepper.step(stepper.prompts);
    stepper.select({0, 0});
    for (int i = 0; i < 2; ++i)
        stepper.step(Tokens(2, 1, {5, 6}));
}

const Ids kOne = {7, 9, 4}, kOther = {5, 4, 6};

}  // namespace

// The mean over a text is a product with constants, one for each text, forward and backward.
TEST_CASE("precision: a training step, and decoding", "[models][bf16][decoding]") {
    for_each_model([](const std::string& name, const auto& given) {
        INFO(name);
        const auto run = [&](Precision p) {
            auto model = nn::clone(given);
            model.config.block.precision = p;
            train(model, 1, 3, 2);
            loss_of(model, example_of(model, {kOne, kOther}, Rng(1)), Mode::train(Rng(3))).backward();
            if constexpr (requires { model.start(Tokens()); })
                decode(*model.start(padded({kOne, kOther})));
        };
        const Calls rounded = calls_of([&] { run(Precision::bf16); }),
                    exact = calls_of([&] { run(Precision::float32); });
        const bool takes_mean = given.kKind == Kind::classifier && given.config.pooling == Pooling::mean;
        CHECK(rounded.float32 == (takes_mean ? 3 + 3 + 2 + 2 : 0));
        CHECK(rounded.bf16 > 0);
        CHECK(exact.float32 == rounded.float32 + rounded.bf16);
        CHECK(exact.bf16 == 0);
    });
}

TEST_CASE("precision: that of the model's configuration as it is now, wherever it is called",
          "[models][bf16]") {
    Classifier model(with_classes(small_stack("bert"), 2), Rng(1));
    const Tokens ids = padded({kOne, kOther});
    const Tensor exact = model(ids, Mode::eval());
    model.config.block.precision = Precision::bf16;
    const Tensor rounded = model(ids, Mode::eval());
    CHECK_FALSE(same_bits(exact, rounded));
    {
        const UsePrecision other(Precision::float32);
        CHECK(same_bits(model(ids, Mode::eval()), rounded));
        CHECK(UsePrecision::active() == Precision::float32);
    }
    const UsePrecision other(Precision::bf16);
    model.config.block.precision = Precision::float32;
    CHECK(same_bits(model(ids, Mode::eval()), exact));
    CHECK(UsePrecision::active() == Precision::bf16);
}
