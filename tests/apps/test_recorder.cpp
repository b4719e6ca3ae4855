// What the recorder of a run writes about a model, and the plan's estimate of its memory.
#include <limits>

#include "apps/kit/plan.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using autograd::Tensor;

TEST_CASE("recorder: how the numbers of a tensor are spread, those that are no numbers left out",
          "[kit][page]") {
    const auto snapshot = [](const std::vector<autograd::Real>& values) {
        kit::Subject subject;
        const auto size = static_cast<int64_t>(values.size());
        subject.parameters = {{"w", nn::Parameter(Tensor::from({1, size}, values))}};
        subject.looks = {{.source = {}, .pass = [](const nn::Mode&) {}}};
        kit::Recorder recorder(subject, 10);
        CHECK(recorder.snapshot(0));
        CHECK_FALSE(recorder.snapshot(0));  // there is one
        return recorder.lines();
    };
    const auto none = std::numeric_limits<autograd::Real>::quiet_NaN();
    const auto infinite = std::numeric_limits<autograd::Real>::infinity();
    CHECK(contains(snapshot({none, infinite}), R"("weights":[["w: nothing finite",0,0,0,0,[1]]])"));
    // Two at the lowest, one in the middle and one at the highest; the mean and the deviation are 0.5.
    const std::string line = snapshot({0, 0, 1, 1, none});
    CHECK(contains(line, R"(["w",0,1,0.5,0.5,[2,0,)"));
    CHECK(contains(line, R"(,0,2]])"));
    CHECK(contains(snapshot({3, 3}), R"(["w",3,3,3,0,[2,0,)"));
}

TEST_CASE("plan: what a forward pass keeps, by layers, widths and words", "[kit]") {
    models::StackConfig c;
    c.vocabulary = 100;
    c.n_layers = 3;
    c.block.d_model = 8;
    c.block.d_ff = 32;
    const double number = 1.5 * sizeof(autograd::Real);
    CHECK(kit::activation_bytes(c, 10) == number * (10 * 3 * (7 * 8 + 32) + 512 * 100));
    c.block.gated = true;
    CHECK(kit::activation_bytes(c, 10) == number * (10 * 3 * (7 * 8 + 2 * 32) + 512 * 100));
    models::TransformerConfig pair;
    pair.src_vocabulary = 50;
    pair.tgt_vocabulary = 100;
    pair.block = c.block;
    pair.n_encoder_layers = 1;
    pair.n_decoder_layers = 2;
    CHECK(kit::activation_bytes(pair, 10) == number * (10 * 5 * (7 * 8 + 2 * 32) + 512 * 100));
}
