// The labelled texts that classify is trained and evaluated on: read from files, some held out at random.
#pragma once

#include <string>
#include <vector>

#include "autograd/base/random.h"

namespace plaingrad::classify {

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

}  // namespace plaingrad::classify
