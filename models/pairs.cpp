#include "models/pairs.h"

namespace plaingrad::models {

Batch make_batch(const std::vector<Pair>& pairs, const Specials& specials) {
    std::vector<std::vector<int32_t>> src, tgt;
    for (const Pair& pair : pairs) {
        src.push_back(pair.src);
        tgt.push_back({specials.start});
        tgt.back().insert(tgt.back().end(), pair.tgt.begin(), pair.tgt.end());
        tgt.back().push_back(specials.end());
    }
    return {Tokens::padded(src, specials.pad), Tokens::padded(tgt, specials.pad)};
}

nn::StepLoss teacher_forcing(const Transformer& model, const Batch& batch, const Mode& mode,
                             Real label_smoothing) {
    // Without the last position, the longest sentences lose their end, and the others only padding. For the
    // latter the decoder also reads the end and predicts padding, which the loss ignores.
    const Tokens read = batch.tgt.slice(0, batch.tgt.length() - 1);
    const Tokens predicted = batch.tgt.slice(1, batch.tgt.length());
    return {model.loss(batch.src, read, predicted, mode, {.label_smoothing = label_smoothing}),
            predicted.count("teacher_forcing", model.config.vocabulary, predicted.pad())};
}

}  // namespace plaingrad::models
