#include "apps/programs/char_lm/train.h"

#include <algorithm>
#include <iostream>

#include "apps/kit/pretrained.h"
#include "apps/kit/run.h"
#include "apps/programs/char_lm/loss.h"
#include "apps/programs/char_lm/sample.h"
#include "autograd/base/mapped.h"
#include "models/text/lines.h"

namespace plaingrad::char_lm {

using autograd::check;

namespace {

// A long text has no end, and begins like a line.
void use_text(models::Config& config, const Corpus& corpus) {
    models::Specials& specials = config.specials;
    if (corpus.lines)
        return;
    specials.never.insert(specials.never.end(), specials.ends.begin(), specials.ends.end());
    const std::vector<int32_t> line_break = corpus.tokenizer.encode("\n");
    specials.start = line_break[0] == models::kUnk ? int32_t{models::kFirstFreeId} : line_break[0];
}

// What the page of --report shows: the attention of a held-out piece, and what the model writes.
kit::Subject subject(const models::Writer& w, const Sequence& piece) {
    const Tokens text(1, std::ssize(piece) - 1, {piece.begin(), piece.end() - 1});
    kit::Subject s = kit::subject_of(w.model, std::vector<Tokens>{text}, kit::token_names(w.tokenizer));
    s.samples = [&w] { return kit::Labels{w("", {.sampling = {.temperature = 0.5}, .max_tokens = 120})}; };
    return s;
}

// texts: those that the corpus was made from. Returns whether the run has come to its end.
bool train(const models::Writer& w, const Corpus& corpus, const std::vector<std::string>& texts,
           const Settings& s, const models::RunFolder& folder) {
    const int64_t context = w.model.config.max_length;
    const std::vector<Sequence> all = kit::cut(corpus.held_out, context);
    // During training, validation takes only every so many of these pieces if there are many: that is enough
    // to compare losses.
    constexpr std::size_t kEnough = 16'384;  // characters
    const std::size_t every = 1 + all.size() * static_cast<std::size_t>(context) / kEnough;
    std::vector<Sequence> some;
    for (std::size_t i = 0; i < all.size(); i += every)
        some.push_back(all[i]);

    kit::Batches batches(corpus.training, corpus.lines, context, models::kPad, s.batch,
                         Rng(static_cast<uint64_t>(s.seed)).fork("batches"));
    kit::Run run(
        folder,
        models::run_model(w.model, w.config(), models::text::fingerprint(texts),
                          {{"tokenizer.json", w.tokenizer.json()}}),
        run_options(s),
        {.activations = kit::activation_bytes(w.model.config, s.batch * context),
         .subject = subject(w, some[0]),
         .trial = kit::trial_of(w.model, [&](int64_t step) { return kit::examples_of(batches(step)); })});
    while (run.next()) {
        run.learn(batches(run.step()), [&](const Tokens& rows, const nn::Mode& mode) {
            return nn::StepLoss{kit::mean_loss(w.model, rows, mode), kit::predictions(rows)};
        });
        if (run.validates())
            run.validated(kit::measure(w.model, some, models::kPad, folder.team()).nats);
    }
    const bool ended = run.finish();
    if (ended) {
        print("validation loss", kit::measure(w.model, all, models::kPad, folder.team()), corpus.tokenizer);
        print("a bigram table", pair_table_loss(corpus), corpus.tokenizer);
    }
    return ended;
}

}  // namespace

void learn(const std::vector<File>& files, const Settings& s, const models::RunFolder& folder) {
    kit::check_heads(s.d_model, s.heads);
    const Corpus corpus = make_corpus(files, s.bytes, s.lines);
    int64_t context = s.context;
    check(s.lines || context < std::ssize(corpus.training[0]), kit::name_of(files), ": --context ", context,
          " is longer than the text to learn from, which has ", corpus.training[0].size(), " characters");
    if (s.lines)
        context =
            std::max({context, context_of_longest(corpus.training), context_of_longest(corpus.held_out)});
    constexpr int64_t kMost = 1024;  // attention takes time with the square
    check(context <= std::max(s.context, kMost), kit::name_of(files),
          ": with --lines each line is a separate text, and the longest has ", context - 1,
          " characters; --context ", context, " allows it");
    models::Config config = model_config(s, corpus.tokenizer.size(), context);
    use_text(config, corpus);
    kit::check_memory(models::least_parameters(config));
    const models::Writer w = {models::LanguageModel(config, Rng(static_cast<uint64_t>(s.seed)).fork("model")),
                              corpus.tokenizer, s.lines};
    kit::announce(kit::name(), nn::parameter_count(w.model), w.model.config.block.precision);
    describe(corpus);
    if (train(w, corpus, autograd::mapped(files, &File::text), s, folder) && !folder.exists()) {
        std::cout << '\n';
        write(w, {.sampling = {.temperature = 0.5}}, corpus.training);  // low: it has not learned for long
    }
}

}  // namespace plaingrad::char_lm
