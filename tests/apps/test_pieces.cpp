// Pieces of long texts: those of training, and how well those that are held out are predicted.
#include "apps/kit/text_training.h"

#include <set>

#include "apps/kit/model.h"
#include "models/text/learn_tokenizer.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using autograd::Tensor;
using autograd::Tokens;

TEST_CASE("a long text is learned to its last token", "[kit]") {
    const std::vector<kit::Sequence> text = {{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}};
    kit::Batches batches = {text, false, 4, 0, 2, autograd::Rng(1)};  // two pieces for a round
    std::set<int32_t> seen;
    for (int step = 1; step <= 50; ++step) {
        const autograd::Tokens pieces = batches(step);
        seen.insert(pieces.ids().begin(), pieces.ids().end());
    }
    CHECK(seen == std::set<int32_t>(text[0].begin(), text[0].end()));
}

TEST_CASE("pieces: a batch is a function of its step", "[kit]") {
    const std::vector<kit::Sequence> one = {{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
                                     many = {{4, 5, 6}, {7, 8}, {9, 10, 11, 12, 13, 14}};
    for (const bool separate : {false, true}) {
        const auto batches = [&] {
            return kit::Batches{separate ? many : one, separate, 3, 0, 3, autograd::Rng(1)};
        };
        kit::Batches in_turn = batches(), back = batches();  // rounds of four pieces, batches of three
        std::vector<std::vector<int32_t>> all;
        std::multiset<std::vector<int32_t>> of_rounds;
        for (int64_t step = 1; step <= 8; ++step) {
            const Tokens batch = in_turn(step);
            all.push_back(batch.ids());
            for (int64_t b = 0; b < 3; ++b)
                of_rounds.insert({batch.ids().begin() + b * batch.length(),
                                  batch.ids().begin() + (b + 1) * batch.length()});
        }
        for (int64_t step = 8; step >= 1; --step)
            CHECK(back(step).ids() == all[static_cast<std::size_t>(step - 1)]);
        if (separate)  // each piece once in each of the six rounds
            CHECK((of_rounds.count({7, 8, 0, 0}) + of_rounds.count({7, 8, 0}) == 6 &&
                   of_rounds.count({9, 10, 11, 12}) == 6));
        // Rounds have orders of their own: three are not as the next three.
        CHECK(std::vector(all.begin(), all.begin() + 4) != std::vector(all.begin() + 4, all.end()));
    }
}

TEST_CASE("held-out text: the mean over all predictions, however many pieces a batch has", "[kit]") {
    models::Config config = small_stack("gpt2");
    const models::LanguageModel model(config, autograd::Rng(1));
    for (const std::size_t pieces : {std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{513}}) {
        std::vector<kit::Sequence> all;  // of 4 predictions: 512 are a batch
        for (std::size_t i = 0; i < pieces; ++i)
            all.push_back({4, 5 + static_cast<int32_t>(i % 5), 6, 7, 8});
        const auto measured = kit::measure(kit::objective_of(model), kit::batches_of(all, models::kPad));
        const autograd::NoGrad no_grad;
        const kit::Examples e = kit::examples_of(Tokens::padded(all, models::kPad));
        const Tensor whole = model.loss(e.inputs[0], e.targets, nn::Mode::eval());
        CHECK(measured.predictions == 4 * static_cast<int64_t>(pieces));
        CHECK(measured.nats == Approx(static_cast<double>(whole.item())).epsilon(1e-4));
    }
}
