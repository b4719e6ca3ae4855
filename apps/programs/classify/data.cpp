#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "apps/kit/prompt.h"
#include "apps/programs/classify/classify.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::classify {

extern const std::string_view requests;  // requests.txt, compiled in by the Makefile

namespace {

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// The label is the text before the first tab, or the first word of a line without a tab.
Example parse_line(const std::string& line, const std::string& where) {
    const std::size_t start = line.find_first_not_of(' ');
    const std::size_t tab = line.find('\t', start);
    const std::size_t end = std::min(tab != std::string::npos ? tab : line.find(' ', start), line.size());
    Example e = {trimmed(line.substr(start, end - start)), line.substr(std::min(end + 1, line.size())),
                 where};
    check(!e.label.empty(), where, ": there is no label before the tab; a line must be label<TAB>text");
    check(has_text(e.text), where, ": no text follows the label '", e.label,
          "'; a line must be label<TAB>text, or the label, a space, and the text",
          e.label.find(',') < e.label.size() ? ", not CSV" : "");
    return e;
}

std::vector<Example> examples_of(std::string_view text, const std::string& path) {
    int64_t replaced = 0;
    const auto lines = models::text::lines_of(text, path, &replaced);
    std::vector<Example> examples;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (has_text(lines[i]))
            examples.push_back(parse_line(lines[i], autograd::join(path, ":", i + 1)));
    kit::report_replaced(path, replaced);
    return examples;
}

}  // namespace

std::vector<Example> read_examples(const std::string& path) {
    const std::vector<Example> examples = examples_of(models::text::read_file(path), path);
    check(!examples.empty(), path, ": there is no line with a label and a text in this file");
    return examples;
}

std::vector<std::string> collect_labels(const std::vector<Example>& examples, const std::string& path) {
    std::map<std::string, std::vector<const Example*>> by_label;
    for (const Example& e : examples)
        by_label[e.label].push_back(&e);
    check(by_label.size() > 1, path, ": all lines have the label '", by_label.begin()->first,
          "'; there is nothing to tell apart");
    std::vector<std::string> labels;
    for (const auto& [label, found] : by_label) {
        check(found.size() > 1, found[0]->where, ": the label '", label,
              "' has only this line; at least two are needed: add some, or remove this one",
              label.find(',') < label.size() ? "; CSV must become label<TAB>text" : "");
        labels.push_back(label);
    }
    return labels;
}

std::size_t index_of(const Example& e, const std::vector<std::string>& labels) {
    const auto found = std::find(labels.begin(), labels.end(), e.label);
    check(found != labels.end(), e.where, ": the label '", e.label,
          "' is not among those that were learned: ", nn::checkpoint::listed(labels));
    return static_cast<std::size_t>(found - labels.begin());
}

Corpus hold_out(const std::vector<Example>& examples, int64_t count, const autograd::Rng& rng) {
    std::map<std::string, std::set<std::string>> left;
    for (const Example& e : examples)
        left[e.label].insert(e.text);
    std::set<std::string> texts;
    Corpus corpus;
    std::vector<const Example*> others;
    for (const int64_t i : rng.permutation(std::ssize(examples))) {
        const Example& e = examples[static_cast<std::size_t>(i)];
        std::set<std::string>& mine = left[e.label];
        if (std::ssize(corpus.held_out) < count && (mine.size() > 1 || !mine.contains(e.text))) {
            corpus.held_out.push_back(e);
            texts.insert(e.text);
            mine.erase(e.text);
        } else {
            others.push_back(&e);
        }
    }
    for (const Example* e : others)
        if (!texts.contains(e->text))
            corpus.training.push_back(*e);
    return corpus;
}

Corpus built_in_corpus() {
    const std::size_t gap = requests.find("\n\n");
    return {examples_of(requests.substr(0, gap), "built in"),
            examples_of(requests.substr(gap + 2), "built in")};
}

}  // namespace plaingrad::classify
