// Batches of pairs, teacher forcing, and steps of several batches.
#include "models/batch.h"

#include <cmath>

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

TEST_CASE("teacher forcing: the loss of the next tokens, and how many these are", "[models][training]") {
    Config c = Config{.src_vocabulary = 12,
                      .vocabulary = 12,
                      .max_length = 6,
                      .n_layers = 1,
                      .n_decoder_layers = 1,
                      .block = {.d_model = 8, .n_heads = 2, .d_ff = 8}};
    const Transformer model(c, Rng(1));
    const Batch batch = make_batch({{{4, 5, 6}, {7, 8}}, {{8}, {9, 10, 11, 4}}, {{9}, {}}});
    const auto eval = Mode::eval();
    const nn::StepLoss now = teacher_forcing(model, batch, eval);
    CHECK(now.tokens == 3 + 5 + 1);
    double sum = 0;
    for (const Pair& pair : std::vector<Pair>{{{4, 5, 6}, {7, 8}}, {{8}, {9, 10, 11, 4}}, {{9}, {}}}) {
        const nn::StepLoss one = teacher_forcing(model, make_batch({pair}), eval);
        sum += static_cast<double>(one.loss.item()) * static_cast<double>(one.tokens);
    }
    CHECK(static_cast<double>(now.loss.item()) == Approx(sum / 9).epsilon(1e-5));
}
