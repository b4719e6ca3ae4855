#include "models/pairs.h"

#include <algorithm>

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

// Without the last position, the longest sentences lose their end, and the others only padding. For the
// latter the decoder also reads the end and predicts padding, which the loss ignores.
int64_t Batch::tokens() const {
    const std::vector<int32_t> ids = said().ids();
    return std::ssize(ids) - std::count(ids.begin(), ids.end(), tgt.pad());
}

nn::StepLoss teacher_forcing(const Transformer& model, const Batch& batch, const Mode& mode,
                             Real label_smoothing) {
    return {model.loss(batch.src, batch.read(), batch.said(), mode, {.label_smoothing = label_smoothing}),
            batch.tokens()};
}

}  // namespace plaingrad::models
