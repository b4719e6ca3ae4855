#include "apps/programs/translate/score.h"

#include "apps/kit/text_training.h"
#include "autograd/base/list.h"
#include "models/text/bleu.h"

namespace plaingrad::translate {

using autograd::mapped;

double mean_loss(nn::Team& team, const models::Transformer& model, const Corpus& corpus,
                 int64_t batch_tokens) {
    const auto batches = corpus.batches({.batch_tokens = batch_tokens, .shuffle = false});
    const auto loss_of = [&](int64_t i) {
        const models::Batch batch = corpus.batch(batches[static_cast<std::size_t>(i)]);
        return models::teacher_forcing(model, batch, nn::Mode::eval());
    };
    return kit::measure(std::ssize(batches), loss_of, team).nats;
}

// The best translations. A sentence comes out the same in any batch, so each process translates some of them.
static std::vector<std::string> translated(nn::Team& team, const models::Transformer& model,
                                           const Tokenizer& tokenizer,
                                           const std::vector<std::string>& sources,
                                           const models::TranslationOptions& options) {
    const auto best = [](const models::Translation& translation) { return translation.best[0].text; };
    return nn::shared_ranges(team, std::ssize(sources), [&](int64_t begin, int64_t end) {
        const std::vector<std::string> some(sources.begin() + begin, sources.begin() + end);
        return mapped(models::translate(model, tokenizer, some, options), best);
    });
}

Bleu measure_bleu(nn::Team& team, const models::Transformer& model, const Tokenizer& tokenizer,
                  const std::vector<SentencePair>& pairs, const models::TranslationOptions& options) {
    const auto sources = mapped(pairs, &SentencePair::source),
               references = mapped(pairs, &SentencePair::target);
    const auto hypotheses = translated(team, model, tokenizer, sources, options);
    const bool tokenized = tokenizer.is_tokenized();
    models::text::BleuOptions bleu_options =
        tokenized ? models::text::moses_bleu() : models::text::BleuOptions{};
    bleu_options.lower_case = tokenizer.is_lower_case();  // the signature says so
    const models::text::BleuScore bleu = models::text::bleu(hypotheses, {references}, bleu_options);
    return {bleu.score, tokenized
                            ? models::text::fairseq_line(bleu)
                            : join("BLEU|", models::text::signature(bleu_options), " = ", to_string(bleu))};
}

}  // namespace plaingrad::translate
