#include "apps/kit/pairs.h"

namespace plaingrad::kit {

using namespace autograd;

Batch make_batch(const std::vector<Pair>& pairs) {
    std::vector<std::vector<int32_t>> src, tgt;
    for (const Pair& pair : pairs) {
        src.push_back(pair.src);
        tgt.push_back({models::kSos});
        tgt.back().insert(tgt.back().end(), pair.tgt.begin(), pair.tgt.end());
        tgt.back().push_back(models::kEos);
    }
    return {Tokens::padded(src, models::kPad), Tokens::padded(tgt, models::kPad)};
}

StepLoss teacher_forcing(const models::Transformer& model, const Batch& batch, const nn::Mode& mode,
                         Real label_smoothing) {
    // In short sentences, cutting off the last position drops padding, not <eos>. That is harmless: the
    // decoder then reads <eos> and is asked for padding, which the loss ignores.
    const Tokens read = batch.tgt.slice(0, batch.tgt.length() - 1);
    const Tokens predicted = batch.tgt.slice(1, batch.tgt.length());
    int64_t tokens = 0;
    for (const int32_t length : predicted.lengths())
        tokens += length;
    return {model.loss(batch.src, read, predicted, mode,
                       {.ignore = models::kPad, .label_smoothing = label_smoothing}),
            tokens};
}

}  // namespace plaingrad::kit
