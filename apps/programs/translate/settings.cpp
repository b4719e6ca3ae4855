#include "apps/programs/translate/translate.h"
#include "autograd/base/list.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::translate {
namespace {

// tiny: Wu et al. 2021 (ACL), "Good for Misconceived Reasons: An Empirical Revisiting on the Need for Visual
// Context in Multimodal Machine Translation", Transformer-Tiny, with the settings of their code. quick: the
// same model with fewer merges, a lower learning rate, and an end after ten minutes; the best of three. base:
// "Attention Is All You Need", Table 3.
Settings recipe(const std::string& preset) {
    Settings s;
    s.preset = preset;
    if (preset == "quick") {
        s.text.merges = 4000, s.steps = 4000, s.warmup = 1000, s.lr = 4e-3, s.dropout = 0.15;
        s.patience = 0, s.clip = 1, s.average = 5;
    }
    if (preset == "base") {
        s.layers = 6, s.heads = 8, s.d_model = 512, s.d_ff = 2048;
        s.lr = 7e-4, s.dropout = 0.1, s.warmup = 4000, s.clip = 1, s.steps = 100'000;
    }
    return s;
}

constexpr int64_t kMostSteps = 1'000'000'000;

}  // namespace

std::vector<std::string> two_files(const std::string& text) {
    std::vector<std::string> files = {text};
    if (nn::checkpoint::exists(text))
        return files;
    for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',', comma + 1)) {
        const std::vector<std::string> two = {text.substr(0, comma), text.substr(comma + 1)};
        if (files.size() == 1 || (nn::checkpoint::exists(two[0]) && nn::checkpoint::exists(two[1])))
            files = two;
    }
    kit::check_usage(!files.front().empty() && !files.back().empty(),
                     "--validation takes SOURCE,TARGET or a TSV: got '", text, "'");
    return files;
}

void add_train_options(kit::Options& options, Settings& s) {
    kit::add_run_options(options, s.run);
    options
        .rest("SOURCE TARGET | TSV", "two files with a sentence on each line, or one with source<TAB>target",
              s.files, {1, 2})
        .may_change();
    options
        .add("--validation", "SOURCE,TARGET", "sentences for validation after each epoch; or a TSV",
             s.validation)
        .may_change()
        .reads([](const std::string& text) {
            return models::listed(autograd::mapped(two_files(text), kit::whole_name), ",");
        });
    options.add("--bytes", "pieces of words are bytes, which need not be UTF-8", s.text.bytes);
    options.preset("--preset", "defaults for the other options", s.preset, {"tiny", "quick", "base"},
                   [&s](const kit::Options&) { s = recipe(s.preset); });
    options.add("--merges", "N", "merges of byte-pair encoding, shared by both languages; 0: characters",
                s.text.merges, {.max = 1'000'000});
    options
        .add("--codes", "FILE", "read the merges from a file written by learn-bpe, instead of learning them",
             s.codes)
        .new_run();
    options.add("--min-count", "N", "subwords seen fewer than N times are split further, or become unknown",
                s.text.min_count, {.min = 1});
    options.add("--bpe-dropout", "X", "probability of skipping a merge, drawn again in each epoch",
                s.bpe_dropout, {.max = 0.99});
    options.add("--tokenized", "the text is already split into tokens, with spaces between them",
                s.text.tokenized);
    options.add("--lower-case", "convert everything to lower case", s.text.lower_case);
    options.add("--context", "N",
                "most tokens in a sentence, including its end; pairs with a longer one are left out",
                s.context, {.min = 2, .max = 1 << 14});
    options.add("--layers", "N", "layers of each stack", s.layers, {.min = 1, .max = 100});
    options.add("--heads", "N", "attention heads", s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 8192});
    options.add("--d-ff", "N", "width of the feed-forward layers", s.d_ff, {.min = 1, .max = 1 << 16});
    options.add("--dropout", "X", "probability of dropping an element", s.dropout, {.max = 0.99});
    options.add("--batch-tokens", "N", "most tokens in a batch, padding included", s.batch_tokens,
                {.min = 2, .max = 1 << 24});
    options.add("--accumulate", "N", "batches per step", s.accumulate, {.min = 1, .max = 1 << 16});
    options.add("--steps", "N", "training steps", s.steps, {.min = 1, .max = kMostSteps}).may_change();
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    options.add("--warmup", "N",
                "steps until --lr is reached; then it falls with the inverse square root of the step",
                s.warmup, {.min = 1, .max = kMostSteps});
    options.add("--label-smoothing", "X", "share of the target that is spread over all words",
                s.label_smoothing, {.max = 0.99});
    options.add("--patience", "N", "stop after N epochs without improvement; 0: never", s.patience)
        .may_change();
    options.add_common(s.seed);
}

}  // namespace plaingrad::translate
