// What the commands of classify are made of: labelled texts, the settings and the training of a classifier,
// and what it says about texts.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "autograd/base/check.h"
#include "autograd/base/random.h"
#include "models/labeller.h"
#include "models/runs/run_folder.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::classify {

using autograd::check;
using models::Labeller;
using models::text::has_text;

// ---- labelled texts, read from files, some held out at random

struct Example {
    std::string label, text;
    std::string where;  // "file:line"
};

// Lines of label<TAB>text; without a tab the first word is the label. Throws Error naming the file and the
// line.
std::vector<Example> read_examples(const std::string& path);

// The labels in alphabetical order. Throws Error for what cannot be learned: all lines have the same label,
// or a label has only one line.
std::vector<std::string> collect_labels(const std::vector<Example>& examples, const std::string& path);

// The index of the example's label in `labels`. Throws Error if it is not among them.
std::size_t index_of(const Example& example, const std::vector<std::string>& labels);

struct Corpus {
    std::vector<Example> training, held_out;
};
// Holds out `count` random lines, but never the last text of a label. Other copies of a held-out text are
// removed from the training part.
Corpus hold_out(const std::vector<Example>& examples, int64_t count, const autograd::Rng& rng);

// What classify learns from when it is given no file: requests.txt, requests to an assistant. Those that are
// held out, behind its empty line, are worded differently.
Corpus built_in_corpus();

// ---- training

// Of `classify train`: a row for each, from which options, help and checkpoints follow.
struct Settings {
    models::RunSettings run = {.save_every = 100};
    std::vector<std::string> files;
    std::string validation, from;
    int64_t epochs = 0, batch = 64, layers = 1, heads = 4, d_model = 128, patience = 0, seed = 1;
    double lr = 1e-3, dropout = 0.3, label_smoothing = 0.1;
    models::text::FeatureLearning features;
};

// Whether --validation is a number of lines to hold out, and not a file.
inline bool is_number(const std::string& text) { return text.find_first_not_of("-0123456789") == text.npos; }
// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, Settings& s);

// An untrained one, with a vocabulary made from the training texts. Prints its size, and that of the data, on
// standard error.
Labeller new_labeller(const Corpus& corpus, const std::vector<std::string>& labels, const Settings& s);

// Returns whether the run has come to its end.
bool train(const Labeller& l, const Corpus& corpus, const Settings& s, const models::RunFolder& folder);

// ---- evaluating, and predicting line by line

// The confusion matrix: how often each label was predicted for each true one.
struct Confusion {
    std::vector<std::string> labels;
    std::vector<std::vector<int64_t>> counts;  // [true label][predicted label]
    int64_t right = 0, total = 0;
    double loss = 0;  // the mean of -log p of the true label

    double accuracy() const { return static_cast<double>(right) / static_cast<double>(total); }
};

Confusion evaluate(const Labeller& l, const std::vector<Example>& examples, nn::Team& team = nn::alone());
void print(const Confusion& c);  // to standard output

std::vector<std::string> texts_of(const std::vector<Example>& examples);

// Says on standard error how many texts are longer than the model reads, if any.
void report_cuts(const Labeller& l, const std::vector<std::string>& texts);

// Prints a line for each text: "weather<TAB>weather=0.9731<TAB>time=0.0102...", the most probable label
// first.
void predict(const Labeller& l, const std::vector<std::string>& texts);

// Labels what is typed (kit::converse).
void talk(const Labeller& l);

}  // namespace plaingrad::classify
