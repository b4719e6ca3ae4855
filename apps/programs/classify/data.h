// The texts that classify learns from and is measured on: lines with a label, read from files, and held out
// by chance.
#pragma once

#include <string>
#include <vector>

#include "autograd/random.h"

namespace plaingrad::classify {

struct Example {
    std::string label, text;
    std::string where;  // "file:line"
};

// Lines of label<TAB>text; without a tab the first word is the label. Throws Error naming the file and the
// line.
std::vector<Example> read_examples(const std::string& path);
// Says on standard error how many bytes were no text.
void report_replaced(const std::string& where, int64_t bytes);

std::vector<std::string> texts_of(const std::vector<Example>& examples);

// The labels in the order of the alphabet. Throws Error for what cannot be learned: all lines with one label,
// or a label that has one line alone.
std::vector<std::string> collect_labels(const std::vector<Example>& examples, const std::string& path);

// Where the example's label stands among them. Throws Error if it does not.
std::size_t index_of(const Example& example, const std::vector<std::string>& labels);

struct Corpus {
    std::vector<Example> training, held_out;
};
// Holds out `count` lines, chosen by chance, but never the last text of a label. A text that is held out is
// not learned from either where it stands a second time.
Corpus hold_out(const std::vector<Example>& examples, int64_t count, const autograd::Rng& rng);

}  // namespace plaingrad::classify
