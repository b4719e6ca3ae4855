// How good a model is on pairs of sentences: the loss, and BLEU of its translations.
#pragma once

#include "apps/programs/translate/data.h"
#include "models/translator.h"

namespace plaingrad::translate {

// Nats per token. team: the processes that share the work; all call it, and get the same result.
double mean_loss(nn::Team& team, const models::Transformer& model, const Corpus& corpus,
                 int64_t batch_tokens);

struct Bleu {
    double score = 0;
    std::string text;  // a line with the score, and how it was computed
};

// As sacreBLEU computes it; for text that is in tokens already, as Moses and fairseq do.
Bleu measure_bleu(nn::Team& team, const models::Transformer& model, const Tokenizer& tokenizer,
                  const std::vector<SentencePair>& pairs, const models::TranslationOptions& options);

}  // namespace plaingrad::translate
