#include <algorithm>
#include <iostream>

#include "apps/kit/model.h"
#include "apps/programs/classify/classify.h"
#include "autograd/base/list.h"
#include "models/text/lines.h"
#include "nn/schedule.h"

namespace plaingrad::classify {

using autograd::Rng;
using Sequence = std::vector<int32_t>;

void add_train_options(kit::Options& options, Settings& s) {
    options
        .rest("FILE", "lines of label<TAB>text; without a tab the first word is the label", s.files, {1, 1})
        .may_change();
    kit::add_run_options(options, s.run);
    options.add("--from", "FOLDER", "begin with a BERT from Hugging Face: its layers and its tokens", s.from)
        .may_change()
        .reads(kit::whole_name);
    options
        .add("--validation", "N|FILE",
             "lines to hold out, or a file of such lines (default: a tenth, at most 500)", s.validation)
        .may_change()
        .reads([](const std::string& text) { return is_number(text) ? text : kit::whole_name(text); });
    options
        .add("--epochs", "N", "passes over all texts; 0: 15, at least 300 steps", s.epochs,
             {.max = 1'000'000})
        .can_not_change("the learning rate falls over all of them");
    options.add("--batch", "N", "texts per step", s.batch, {.min = 1, .max = 1 << 16});
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    options.add("--label-smoothing", "X", "share of the target that is spread over all labels",
                s.label_smoothing, {.max = 0.99});
    options.add(
        "--patience", "N",
        "validate after each epoch, keep the best, stop after N without improvement; 0: train to the end",
        s.patience);
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 100});
    options.add("--heads", "N", "attention heads", s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model; the feed-forward layers are twice as wide", s.d_model,
                {.min = 1, .max = 8192});
    options.add("--dropout", "X", "probability of dropping an element", s.dropout, {.max = 0.99});
    options.add("--context", "N", "read only the first N words of a text", s.features.max_words,
                {.min = 1, .max = 1 << 14});
    options.add("--keep-case", "distinguish A and a in spelling; otherwise case is only a separate feature",
                s.features.keep_case);
    options.add_common(s.seed);
    options.defaults([&s](const kit::Options& given) {
        if (given.was_given("--from"))  // as BERT is usually fine-tuned
            s.epochs = 3, s.batch = 16, s.lr = 5e-5, s.label_smoothing = 0;
    });
}

namespace {

constexpr int64_t kEpochs = 15, kLeastSteps = 300;
constexpr double kWordDropout = 0.1;  // of a word, but not of its parts: so rare words are learned, too

int64_t steps_per_epoch(const Settings& s, std::size_t examples) {
    return (static_cast<int64_t>(examples) + s.batch - 1) / s.batch;
}

models::RunOptions run_options(const Settings& s, std::size_t examples) {
    const int64_t per_epoch = steps_per_epoch(s, examples);
    const int64_t steps = s.epochs > 0 ? s.epochs * per_epoch : std::max(kLeastSteps, kEpochs * per_epoch);
    return {.steps = steps,
            .learning_rate = nn::CosineSchedule{s.lr, steps, steps / 10},
            .adam = {.beta2 = 0.98, .weight_decay = 0.01, .decoupled = true, .decay_matrices_only = true},
            .seed = static_cast<uint64_t>(s.seed),
            .validate_every = s.patience > 0 ? per_epoch : 0,
            .patience = s.patience};
}

kit::Examples examples(const Labeller& l, const std::vector<Example>& training, const Settings& s,
                       int64_t step) {
    const auto n = static_cast<int64_t>(training.size()), per_epoch = steps_per_epoch(s, training.size());
    const int64_t epoch = (step - 1) / per_epoch, first = (step - 1) % per_epoch * s.batch;
    const Rng rng(static_cast<uint64_t>(s.seed));
    const std::vector<int64_t> order = rng.fork("order").fork(static_cast<uint64_t>(epoch)).permutation(n);
    const Rng drop = rng.fork("words").fork(static_cast<uint64_t>(step));
    std::vector<Labeller::Encoding> texts;
    Sequence labels;
    for (int64_t i = first; i < std::min(first + s.batch, n); ++i) {
        const Example& e = training[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
        texts.push_back(l.encode(e.text, {.dropout = s.from.empty() ? kWordDropout : 0,
                                          .rng = drop.fork(static_cast<uint64_t>(i))}));
        labels.push_back(static_cast<int32_t>(index_of(e, l.labels)));
    }
    return {l.inputs(texts), autograd::Tokens(std::ssize(labels), 1, labels)};
}

// What the page of --report shows: the attention of some texts, and which labels are confused.
kit::ReportModel report_model(const Labeller& l, const Corpus& corpus) {
    const std::vector<Example>& shown = corpus.held_out.empty() ? corpus.training : corpus.held_out;
    std::vector<Labeller::Encoding> texts;
    for (std::size_t i = 0; i < std::min<std::size_t>(shown.size(), 3); ++i)
        texts.push_back(l.encode(shown[i].text));
    kit::ReportModel s = kit::report_model_of(l.model, l.inputs(texts), kit::token_names(l.tokenizer));
    s.answers = [&l, &shown] { return kit::Answers{{}, l.labels, evaluate(l, shown).counts}; };
    return s;
}

Labeller from_folder(const std::vector<std::string>& labels, const Settings& s) {
    models::OpenOptions options = kit::opening(s.from, s.run.precision);
    options.rng = Rng(static_cast<uint64_t>(s.seed)).fork("model");
    Labeller l = Labeller::based_on(s.from, labels, options);
    kit::say_opened(s.from, l);
    return l;
}

Labeller from_nothing(const Corpus& corpus, const std::vector<std::string>& labels, const Settings& s) {
    kit::check_heads(s.d_model, s.heads);
    auto tokenizer = models::text::learn_features(texts_of(corpus.training), s.features);
    const auto dropout = static_cast<autograd::Real>(s.dropout);
    const models::Config config = {.kind = models::Kind::classifier,
                                   .vocabulary = tokenizer.size(),
                                   .max_length = models::text::kIdsPerWord * s.features.max_words,
                                   .n_layers = s.layers,
                                   .final_norm = true,
                                   .block = {.d_model = s.d_model,
                                             .n_heads = s.heads,
                                             .d_ff = 2 * s.d_model,
                                             .norm = models::NormPlacement::pre,
                                             .dropout = {.embeddings = dropout, .sublayers = dropout},
                                             .precision = kit::precision_of(s.run.precision)},
                                   .classes = std::ssize(labels),
                                   .pooling = models::Pooling::mean};
    return {kit::new_model<models::Classifier>(config, Rng(static_cast<uint64_t>(s.seed)).fork("model")),
            std::move(tokenizer), labels};
}

}  // namespace

Labeller new_labeller(const Corpus& corpus, const std::vector<std::string>& labels, const Settings& s) {
    Labeller l = s.from.empty() ? from_nothing(corpus, labels, s) : from_folder(labels, s);
    std::cerr << autograd::join(kit::grouped(std::ssize(corpus.training)), " texts to learn from, ",
                                kit::grouped(std::ssize(corpus.held_out)), " held out; ", l.labels.size(),
                                " labels\n");
    report_cuts(l, texts_of(corpus.training));
    report_cuts(l, texts_of(corpus.held_out));
    return l;
}

bool train(const Labeller& l, const Corpus& corpus, const Settings& s, const models::RunFolder& folder) {
    std::vector<std::string> texts;
    std::vector<Sequence> ids;
    int64_t longest = 0;
    for (const std::vector<Example>* part : {&corpus.training, &corpus.held_out}) {
        for (const Example& e : *part) {
            texts.push_back(e.label + '\t' + e.text);
            ids.push_back(l.encode(e.text).ids);
            longest = std::max<int64_t>(longest, std::ssize(ids.back()));
        }
        texts.emplace_back();  // marks the end of the part
    }
    const std::string data = models::text::fingerprint(texts, ids);
    const auto batch = [&](int64_t step) { return examples(l, corpus.training, s, step); };
    const models::RunOptions options = run_options(s, corpus.training.size());
    kit::Run run(folder, kit::run_model_of(l, data, s.from), options,
                 {.activations = kit::activation_bytes(l.model.config, s.batch * longest),
                  .report_model = report_model(l, corpus),
                  .objective = kit::objective_of(l, batch, false, s.label_smoothing)});
    while (run.next()) {
        run.learn();
        if (s.patience > 0 && run.validates())
            run.validated(evaluate(l, corpus.held_out, folder.team()).loss);
    }
    return run.finish();
}

}  // namespace plaingrad::classify
