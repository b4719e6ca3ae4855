#include "apps/programs/translate/score.h"

#include "autograd/base/mapped.h"
#include "models/text/bleu.h"

namespace plaingrad::translate {

using autograd::mapped;

double mean_loss(const models::Transformer& model, const Corpus& corpus, int64_t batch_tokens) {
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

Bleu measure_bleu(const models::Transformer& model, const Codec& codec,
                  const std::vector<SentencePair>& pairs, const models::TranslationOptions& options) {
    const auto best = [](const models::Translation& translation) { return translation.best[0].text; };
    const auto sources = mapped(pairs, &SentencePair::source),
               references = mapped(pairs, &SentencePair::target);
    const auto hypotheses = mapped(models::translate(model, codec, sources, options), best);
    const bool tokenized = codec.options().tokenized;
    models::text::BleuOptions bleu_options =
        tokenized ? models::text::moses_bleu() : models::text::BleuOptions{};
    bleu_options.lower_case = codec.options().lower_case;  // the signature says so
    const models::text::BleuScore bleu = models::text::bleu(hypotheses, {references}, bleu_options);
    return {bleu.score, tokenized
                            ? models::text::fairseq_line(bleu)
                            : join("BLEU|", models::text::signature(bleu_options), " = ", to_string(bleu))};
}

}  // namespace plaingrad::translate
