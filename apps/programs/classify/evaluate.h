// Evaluates a classifier on labelled texts, and predicts labels line by line.
#pragma once

#include <iosfwd>

#include "apps/programs/classify/data.h"
#include "models/labeller.h"
#include "nn/parallel/team.h"

namespace plaingrad::classify {

// The confusion matrix: how often each label was predicted for each true one.
struct Confusion {
    std::vector<std::string> labels;
    std::vector<std::vector<int64_t>> counts;  // [true label][predicted label]
    int64_t right = 0, total = 0;

    explicit Confusion(std::vector<std::string> labels_)
        : labels(std::move(labels_)), counts(labels.size(), std::vector<int64_t>(labels.size())) {}
    void add(std::size_t label, std::size_t predicted) {
        ++counts[label][predicted];
        right += label == predicted ? 1 : 0;
        ++total;
    }
    double accuracy() const { return static_cast<double>(right) / static_cast<double>(total); }
};

Confusion evaluate(const models::Labeller& l, const std::vector<Example>& examples,
                   nn::Team& team = nn::alone());
void print(const Confusion& c);  // to standard output

// Says on standard error how many texts are longer than the model reads, if any.
void report_cuts(const models::Labeller& l, const std::vector<Example>& examples);

// Prints a line for each text: "weather<TAB>weather=0.9731<TAB>time=0.0102...", the most probable label
// first.
void predict(const models::Labeller& l, const std::vector<Example>& texts);
// The same of all lines. What has come is answered before more is waited for.
void predict_lines(const models::Labeller& l, std::istream& in, const std::string& name);

// Labels what is typed (kit::converse).
void talk(const models::Labeller& l);

}  // namespace plaingrad::classify
