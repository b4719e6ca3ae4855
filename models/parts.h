// Batches that are cut into parts, which several processes may share (nn/parallel/data_parallel.h).
#pragma once

#include "models/pairs.h"
#include "models/text/mask_tokens.h"
#include "nn/parallel/data_parallel.h"

namespace plaingrad::models {

// The rows of a part, in order. A part has rows of similar length, and the largest part, with its padding,
// is as small as possible, as all wait for it. lengths: of all rows. A part can be empty if there are few
// rows. Throws Error unless 0 <= part < parts.
std::vector<int64_t> rows_of_part(const std::vector<int64_t>& lengths, int64_t part, int64_t parts);

// That part of a batch, without the columns that are only padding there. (Where a batch has several matrices
// of tokens, they keep their rows together.)
autograd::Tokens part_of(const autograd::Tokens& texts, const nn::StepPart& at);
Batch part_of(const Batch& batch, const nn::StepPart& at);
text::MaskedTokens part_of(const text::MaskedTokens& batch, const nn::StepPart& at);
// The same for a matrix that belongs to texts, of labels or types: its rows are chosen by the lengths of
// these texts, so that both keep the same rows.
autograd::Tokens part_of(const autograd::Tokens& tokens, const std::vector<int64_t>& lengths,
                         const nn::StepPart& at);

inline int64_t row_count(const autograd::Tokens& texts) { return texts.batch(); }
inline int64_t row_count(const Batch& batch) { return batch.src.batch(); }
inline int64_t row_count(const text::MaskedTokens& batch) { return batch.ids.batch(); }

// The loss of any part, for nn::train. next(step): draws a batch; it is called once for each. loss(batch,
// mode): an nn::StepLoss. Every process draws whole batches, and cuts its parts out of them. The batches of a
// step are kept, as each of its parts is asked for in a call of its own.
template <class Next, class Loss>
nn::LossOf loss_of_parts(const Next& next, const Loss& loss) {
    using Drawn = decltype(next(int64_t{1}));
    return [next, loss, step = int64_t{0}, drawn = std::vector<Drawn>()](const nn::StepPart& at,
                                                                         const nn::Mode& mode) mutable {
        if (at.step != step)
            drawn.clear();
        step = at.step;
        while (std::ssize(drawn) <= at.batch)
            drawn.push_back(next(step));
        const Drawn& batch = drawn[static_cast<std::size_t>(at.batch)];
        nn::StepLoss result;
        if (at.parts == 1)
            result = loss(batch, mode);
        else if (const auto part = part_of(batch, at); row_count(part) > 0)
            result = loss(part, mode);
        if constexpr (requires { batch.ends_epoch; })
            result.ends_epoch = batch.ends_epoch;
        return result;
    };
}

}  // namespace plaingrad::models
