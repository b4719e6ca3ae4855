// How good a model is on pairs of sentences: the loss, and BLEU of its translations.
#pragma once

#include "apps/programs/translate/data.h"
#include "apps/programs/translate/decode.h"
#include "models/text/bleu.h"

namespace plaingrad::translate {

// Nats for a token.
inline double mean_loss(const models::Transformer& model, const Corpus& corpus, int64_t batch_tokens) {
    const autograd::NoGrad no_grad;
    double sum = 0;
    int64_t tokens = 0;
    for (const std::vector<int64_t>& indices :
         corpus.batches({.batch_tokens = batch_tokens, .shuffle = false})) {
        const nn::StepLoss batch = models::teacher_forcing(model, corpus.batch(indices), nn::Mode::eval());
        sum += static_cast<double>(batch.loss.item()) * static_cast<double>(batch.tokens);
        tokens += batch.tokens;
    }
    return sum / static_cast<double>(tokens);
}

struct Bleu {
    double score = 0;
    std::string text;  // a line with the score, and how it was computed
};

// Of text in tokens as Moses and fairseq compute it; of raw text as sacreBLEU does.
inline Bleu measure_bleu(const Translator& translator, const std::vector<SentencePair>& pairs) {
    std::vector<std::string> sources, references, hypotheses;
    for (const SentencePair& pair : pairs) {
        sources.push_back(pair.source);
        references.push_back(pair.target);
    }
    for (const Translation& translation : translator(sources))
        hypotheses.push_back(translation.best[0].text);
    const TextOptions& text = translator.codec.options();
    models::text::BleuOptions options =
        text.tokenized ? models::text::moses_bleu() : models::text::BleuOptions{};
    options.lower_case = text.lower_case;  // what it never sees it cannot say; the signature tells
    const models::text::BleuScore bleu = models::text::bleu(hypotheses, {references}, options);
    return {bleu.score, text.tokenized
                            ? models::text::fairseq_line(bleu)
                            : join("BLEU|", models::text::signature(options), " = ", to_string(bleu))};
}

}  // namespace plaingrad::translate
