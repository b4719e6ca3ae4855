// From a text to its label: a Classifier with its text reader and the names of its classes.
//
//     const auto label = models::Labeller::load("run");  // of `classify train ... --save run`
//     std::cout << label("what a lovely evening")[0].name;
//
// It computes in the precision of the saved model. To choose another, the object must not be const:
//
//     label.model.config.stack.block.precision = models::Precision::float32;
#pragma once

#include "models/classifier.h"
#include "models/text/reader.h"

namespace plaingrad::models {

struct Label {
    std::string name;
    double probability = 0;
};

struct Labeller {
    // What `classify train` has saved: a run's folder (see model_file), or one of the files in it. Throws
    // FileError naming the file for any other.
    static Labeller load(const std::string& path);
    // For a saved model: what its file has besides the configuration.
    nn::checkpoint::Metadata metadata() const;

    // All labels, the most probable first. Throws Error, as `probabilities` does, for a text without words.
    std::vector<Label> operator()(const std::string& text) const;
    // Of many texts, for each the probabilities in the order of `labels`.
    std::vector<std::vector<double>> probabilities(const std::vector<std::string>& texts) const;

    Classifier model;
    text::Reader reader;
    std::vector<std::string> labels;  // in alphabetical order
};

}  // namespace plaingrad::models
