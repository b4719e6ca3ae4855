// Batches of pairs, teacher forcing, and steps of several batches.
#include "models/batch.h"

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("a batch has start, end and padding", "[models]") {
    const Batch batch = make_batch({{{4, 5, 6}, {7}}, {{8}, {9, 10, 11}}});
    CHECK(batch.src.batch() == 2);
    CHECK(batch.src.length() == 3);
    CHECK(batch.src.ids() == std::vector<int32_t>{4, 5, 6, 8, 0, 0});
    CHECK(batch.tgt.length() == 5);
    CHECK(batch.tgt.ids() == std::vector<int32_t>{1, 7, 2, 0, 0, 1, 9, 10, 11, 2});
    const Batch alone = make_batch({{{4}, {}}});
    CHECK(alone.tgt.ids() == std::vector<int32_t>{1, 2});
}

TEST_CASE("a batch of another vocabulary has its start, end and padding", "[models][specials]") {
    const Specials other = {.start = 8, .ends = {0, 7}, .pad = 9, .never = {8, 9}};
    const Batch batch = make_batch({{{4, 5}, {1}}, {{3}, {2, 1}}}, other);
    CHECK(batch.tgt.ids() == std::vector<int32_t>{8, 1, 0, 9, 8, 2, 1, 0});
    CHECK(contains(error_of([] { make_batch({{{4}, {5}}}, {.ends = {}}); }), "no end"));
}

// The loss is a mean over these tokens: times their number, it is a sum, and so is its gradient.
TEST_CASE("teacher forcing: the loss of the next tokens, and how many these are", "[models][training]") {
    const std::vector<Pair> pairs = {{{4, 5, 6}, {7, 8}}, {{8}, {9, 10, 4, 4}}, {{9, 4}, {}}};
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(4));
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        const auto total = [&](const std::vector<Pair>& some, int64_t tokens) {
            const nn::StepLoss step = teacher_forcing(model, make_batch(some), Mode::eval(), Real(0.1));
            CHECK(step.tokens == tokens);
            const Tensor sum = step.loss * Real(tokens);
            sum.backward();  // accumulates
            return static_cast<double>(sum.item());
        };
        const double one_by_one = total({pairs[0]}, 3) + total({pairs[1]}, 5) + total({pairs[2]}, 1);
        const std::vector<Real> gradients = take_gradients(parameters);
        CHECK(total(pairs, 9) == Approx(one_by_one).epsilon(1e-6));
        CHECK(worst_error(take_gradients(parameters), gradients) < (autograd::kRealIsDouble ? 1e-12 : 2e-5));
    }
}
