#include "apps/programs/translate/score.h"

#include "autograd/base/mapped.h"
#include "models/text/bleu.h"

namespace plaingrad::translate {

using autograd::mapped;

double mean_loss(nn::Team& team, const models::Transformer& model, const Corpus& corpus,
                 int64_t batch_tokens) {
    const autograd::NoGrad no_grad;
    const auto batches = corpus.batches({.batch_tokens = batch_tokens, .shuffle = false});
    const std::vector<double> of_batches =
        nn::shared_numbers(team, std::ssize(batches), [&](int64_t i) -> std::vector<double> {
            const nn::StepLoss batch = models::teacher_forcing(
                model, corpus.batch(batches[static_cast<std::size_t>(i)]), nn::Mode::eval());
            return {static_cast<double>(batch.loss.item()), static_cast<double>(batch.tokens)};
        });
    double sum = 0, tokens = 0;
    for (std::size_t i = 0; i < of_batches.size(); i += 2) {
        sum += of_batches[i] * of_batches[i + 1];
        tokens += of_batches[i + 1];
    }
    return sum / tokens;
}

// The best translations. A sentence comes out the same in any batch, so each process translates some of them.
static std::vector<std::string> translated(nn::Team& team, const models::Transformer& model,
                                           const Codec& codec, const std::vector<std::string>& sources,
                                           const models::TranslationOptions& options) {
    const int64_t n = team.size();
    std::vector<std::vector<std::string>> of_process(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < sources.size(); ++i)
        of_process[i % of_process.size()].push_back(sources[i]);
    const auto best = [](const models::Translation& translation) { return translation.best[0].text; };
    const std::vector<std::string> shares = nn::shared_out(team, n, [&](int64_t i) {
        const std::vector<std::string>& own = of_process[static_cast<std::size_t>(i)];
        return nn::packed(mapped(models::translate(model, codec, own, options), best));
    });
    std::vector<std::vector<std::string>> all = mapped(shares, nn::unpacked);
    std::vector<std::string> translations;
    for (std::size_t i = 0; i < sources.size(); ++i)
        translations.push_back(all[i % all.size()][i / all.size()]);
    return translations;
}

Bleu measure_bleu(nn::Team& team, const models::Transformer& model, const Codec& codec,
                  const std::vector<SentencePair>& pairs, const models::TranslationOptions& options) {
    const auto sources = mapped(pairs, &SentencePair::source),
               references = mapped(pairs, &SentencePair::target);
    const auto hypotheses = translated(team, model, codec, sources, options);
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
