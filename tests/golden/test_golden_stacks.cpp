// Encoder, decoder, and both as torch.nn.Transformer has them, agree with PyTorch.
#include "tests/golden/golden.h"
#include "tests/golden/models.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

const std::vector<int32_t> kSrcCounts = {6, 4}, kTgtCounts = {3, 5};  // as in make_golden.py

Config small_stack(NormPlacement norm, nn::Activation activation, bool final_norm, int64_t n_layers = 2) {
    return {.vocabulary = 1,
            .n_layers = n_layers,
            .n_decoder_layers = n_layers,
            .final_norm = final_norm,
            .block = {.d_model = 12, .n_heads = 3, .d_ff = 20, .activation = activation, .norm = norm}};
}

Case encoder(const Config& config) {
    return [=](const Golden& golden, Results& results) {
        const Encoder module(config, Rng(1));
        golden.load(module);
        const Tensor src = golden.input("src");
        const Tensor y = module(src, {Mask::key_counts(kSrcCounts), Mode::eval()});
        results.output("y", rows_of(y, kSrcCounts));
        results.input_gradient("src", src);
        results.gradients(state_dict(module));
    };
}

Tensor decode(const Decoder& decoder, const Tensor& tgt, const Tensor& memory) {
    const Pass self = {Mask::key_counts(kTgtCounts).and_causal(), Mode::eval()};
    const Pass cross = {Mask::key_counts(kSrcCounts), Mode::eval()};
    return rows_of(decoder(tgt, memory, self, cross), kTgtCounts);
}

Case decoder(const Config& config) {
    return [=](const Golden& golden, Results& results) {
        const Decoder module(config, Rng(1));
        golden.load(module);
        const Tensor src = golden.input("src"), tgt = golden.input("tgt");
        results.output("y", decode(module, tgt, src));
        results.input_gradient("src", src);
        results.input_gradient("tgt", tgt);
        results.gradients(state_dict(module));
    };
}

Case transformer(const Config& config) {
    return [=](const Golden& golden, Results& results) {
        const Encoder encoder(config, Rng(1));
        const Decoder decoder(config, Rng(2));
        const Stacks module{encoder, decoder};  // it has no embeddings
        golden.load(module);
        const Tensor src = golden.input("src"), tgt = golden.input("tgt");
        const Tensor memory = encoder(src, {Mask::key_counts(kSrcCounts), Mode::eval()});
        results.output("y", decode(decoder, tgt, memory));
        results.input_gradient("src", src);
        results.input_gradient("tgt", tgt);
        results.gradients(state_dict(module));
    };
}

constexpr auto kPost = NormPlacement::post, kPre = NormPlacement::pre;
constexpr auto kRelu = nn::Activation::relu, kGelu = nn::Activation::gelu;

const Cases kStacks = {
    {"encoder_post_relu", encoder(small_stack(kPost, kRelu, false))},
    {"encoder_post_gelu_norm", encoder(small_stack(kPost, kGelu, true))},
    {"encoder_pre_relu_norm", encoder(small_stack(kPre, kRelu, true))},
    {"encoder_pre_gelu", encoder(small_stack(kPre, kGelu, false))},
    {"decoder_post_relu", decoder(small_stack(kPost, kRelu, false))},
    {"decoder_pre_gelu_norm", decoder(small_stack(kPre, kGelu, true))},
    {"transformer_post", transformer(small_stack(kPost, kRelu, true, 1))},
    {"transformer_pre", transformer(small_stack(kPre, kRelu, true, 1))},
};

}  // namespace

TEST_CASE("PyTorch agrees: encoder, decoder, Transformer", "[golden]") { check_agreement("stacks", kStacks); }
TEST_CASE("planted faults in golden files are noticed: stacks", "[golden]") {
    check_faults_are_noticed("stacks", kStacks);
}
