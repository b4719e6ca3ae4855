// The confusion matrix: how often each label was predicted for each true one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plaingrad::classify {

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

// To standard output.
void print(const Confusion& c);

}  // namespace plaingrad::classify
