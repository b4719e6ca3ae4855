#include "apps/programs/classify/options.h"

#include "apps/kit/run.h"

namespace plaingrad::classify {

bool is_number(const std::string& text) { return text.find_first_not_of("-0123456789") == text.npos; }

static void add_learning_options(kit::Options& options, Settings& s) {
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
}

static void add_model_options(kit::Options& options, Settings& s) {
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 100});
    options.add("--heads", "N", "attention heads", s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model; the feed-forward layers are twice as wide", s.d_model,
                {.min = 1, .max = 8192});
    options.add("--dropout", "X", "probability of dropping an element", s.dropout, {.max = 0.99});
}

static void add_text_options(kit::Options& options, Settings& s) {
    options.add("--context", "N", "read only the first N words of a text", s.features.max_words,
                {.min = 1, .max = 1 << 14});
    options.add("--keep-case", "distinguish A and a in spelling; otherwise case is only a separate feature",
                s.features.keep_case);
}

void add_train_options(kit::Options& options, Settings& s) {
    options.rest("FILE", "lines of label<TAB>text; without a tab the first word is the label", s.files, {},
                 kit::Options::Rest::files);
    kit::add_run_options(options, s.run);
    options.add("--from", "FOLDER", "begin with a BERT from Hugging Face: its layers and its tokens", s.from)
        .may_change()
        .reads(kit::whole_name);
    add_learning_options(options, s);
    add_model_options(options, s);
    add_text_options(options, s);
    options.add_common(s.seed);
    options.defaults([&s](const kit::Options& given) {
        if (given.was_given("--from"))  // as BERT is usually fine-tuned
            s.epochs = 3, s.batch = 16, s.lr = 5e-5, s.label_smoothing = 0;
    });
}

void check_from(const kit::Options& options, const Settings& s) {
    for (const char* name : {"--layers", "--heads", "--d-model", "--dropout", "--context", "--keep-case"})
        kit::check_usage(s.from.empty() || !options.was_given(name), name,
                         " is decided by the folder given to --from");
}

models::Config configure(const Settings& s, int64_t vocabulary, int64_t classes) {
    kit::check_heads(s.d_model, s.heads);
    const auto dropout = static_cast<autograd::Real>(s.dropout);
    return {.kind = models::Kind::classifier,
            .vocabulary = vocabulary,
            .max_length = models::text::kIdsPerWord * s.features.max_words,
            .n_layers = s.layers,
            .final_norm = true,
            .block = {.d_model = s.d_model,
                      .n_heads = s.heads,
                      .d_ff = 2 * s.d_model,
                      .norm = models::NormPlacement::pre,
                      .dropout = {.embeddings = dropout, .sublayers = dropout},
                      .precision = kit::precision_of(s.run.precision)},
            .classes = classes,
            .pooling = models::Pooling::mean};
}

}  // namespace plaingrad::classify
