// From a text to its label: a Classifier with what turns texts into ids, and the names of its classes.
//
//     const auto label = models::Labeller::load("run");   // of `classify train ... --save run`
//     const auto label = models::Labeller::load("sst2");  // a folder from Hugging Face: BERT
//     std::cout << label("what a lovely evening")[0].name;
//
// It computes in the precision of the saved model. To choose another, the object must not be const:
//
//     label.model.config.block.precision = models::Precision::float32;
#pragma once

#include "models/families/one_stack.h"
#include "models/hugging_face/config.h"
#include "models/text/tokenizer.h"

namespace plaingrad::models {

struct Label {
    std::string name;
    double probability = 0;
};

struct Labeller {
    // A saved classifier (models/saved.h): what `classify train` has saved, or a folder from Hugging Face
    // with a BertForSequenceClassification. Throws FileError naming the file for any other.
    static Labeller load(const std::string& path, const OpenOptions& options = {});
    // For training: the layers of a folder from Hugging Face with any BERT, and a classifier for these
    // labels: the folder's own if it knows them all, otherwise a new one. options.rng: of its initial values,
    // and of dropout.
    static Labeller based_on(const std::string& path, const std::vector<std::string>& labels,
                             const OpenOptions& options = {});
    // For a model that was trained here: what its config.json says.
    hugging_face::ConfigJson config() const;

    // All labels, the most probable first. Throws Error, as `probabilities` does, for a text without words.
    std::vector<Label> operator()(const std::string& text) const { return ranked(probabilities({text})[0]); }
    // Of many texts, for each the probabilities in the order of `labels`. A text gets the same ones, bit
    // for bit, whatever the other texts are.
    std::vector<std::vector<double>> probabilities(const std::vector<std::string>& texts) const;
    // All labels with these probabilities, the most probable first.
    std::vector<Label> ranked(const std::vector<double>& p) const;

    using Encoding = text::Encoding;
    // Whether a text with a tab is a pair, whose second text has types of its own: of a BERT it is.
    bool reads_pairs() const { return model.config.token_types > 1; }
    // What the model reads of a text; `cut` if that is not all. options: for training.
    Encoding encode(const std::string& text, text::EncodeOptions options = {}) const;
    // Of such texts: the ids (B, T), and the types (B, T) if the model has any; and its answer, (B, classes).
    std::vector<Tokens> inputs(const std::vector<Encoding>& texts) const;
    Tensor logits(const std::vector<Tokens>& inputs, const Mode& mode) const;

    Classifier model;
    text::Tokenizer tokenizer;
    std::vector<std::string> labels;      // of `classify train`: in alphabetical order
    std::vector<std::string> notes = {};  // a line each: what was ignored in the folder, and why
};

}  // namespace plaingrad::models
