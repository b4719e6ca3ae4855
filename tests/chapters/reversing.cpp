#include "tests/chapters/reversing.h"

#include "models/decoding/decoding.h"
#include "nn/optim.h"
#include "tests/chapters/experiment.h"

namespace plaingrad::chapters {

using namespace models;

namespace {

constexpr int64_t kSymbols = 10, kLength = 6;

std::vector<int32_t> random_ids(const Rng& rng) {
    return random_tokens(1, kLength, kSymbols, rng, kFirstFreeId).ids();
}

std::vector<Pair> random_pairs(const Rng& rng, int count, bool related) {
    std::vector<Pair> pairs;
    for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
        const std::vector<int32_t> src = random_ids(rng.fork(2 * i)), other = random_ids(rng.fork(2 * i + 1));
        pairs.push_back({src, related ? std::vector<int32_t>(src.rbegin(), src.rend()) : other});
    }
    return pairs;
}

}  // namespace

Reversed learn_to_reverse(const Reversing& how) {
    const Transformer model({.src_vocabulary = kFirstFreeId + kSymbols,
                             .vocabulary = kFirstFreeId + kSymbols,
                             .max_length = 16,
                             .n_layers = 1,
                             .n_decoder_layers = 1,
                             .block = {.d_model = 32, .n_heads = 4, .d_ff = 64, .dropout = {0, 0, 0, 0}}},
                            Rng(1));
    const Rng data = Rng(1).fork("data");
    nn::Adam adam(nn::parameters(model), {.lr = how.lr});
    Reversed result;
    for (int step = 1; step <= how.steps; ++step) {
        const Rng random = data.fork(how.one_batch ? 1 : static_cast<uint64_t>(step));
        const Batch batch = make_batch(random_pairs(random, kBatch, how.related));
        const Tokens read = batch.tgt.slice(0, kLength + 1), said = batch.tgt.slice(1, kLength + 2);
        const Tensor memory = model.encode(batch.src, Mode::eval());
        const Mask self = how.causal ? Mask::causal() : Mask::none();
        const Tensor loss = cross_entropy(model.decode(read, memory, self, Mask::none(), Mode::eval()), said);
        result.losses.push_back(static_cast<double>(loss.item()));
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
    const std::vector<Pair> unseen = random_pairs(Rng(1).fork("test"), kUnseen, how.related);
    const auto stepper = model.start(make_batch(unseen).src);
    const std::vector<Hypothesis> answers = greedy(*stepper, kLength + 1);
    for (std::size_t i = 0; i < unseen.size(); ++i)
        result.right += answers[i].ids == unseen[i].tgt ? 1 : 0;
    return result;
}

}  // namespace plaingrad::chapters
