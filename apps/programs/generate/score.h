// How well a model predicts texts.
#pragma once

#include "apps/kit/text_training.h"
#include "models/writer.h"

namespace plaingrad::generate {

struct Score {
    double nats = 0;  // the sum over all tokens
    int64_t tokens = 0;
};

// Each token of a text but the first is predicted from those before it, as many as fit: the model reads
// windows of `context` tokens, each `stride` tokens behind the one before, and of each but the first only the
// last `stride` predictions count. So a prediction has at least context - stride tokens before it, or all
// that there are. A smaller stride takes longer, and is nearer to what the model would say with all of its
// context.
Score score(const models::LanguageModel& model, const kit::Sequence& text, int64_t context, int64_t stride);

// Scores each file, behind the token that begins a text, and prints perplexity, nats and bits per token and
// per byte; of several files, also of all together. Each line of a model of lines is a text, and its end is
// predicted, too. Characters that the model does not know are counted, and left out.
void print_scores(const models::Writer& w, const std::vector<kit::File>& files, int64_t stride);

}  // namespace plaingrad::generate
