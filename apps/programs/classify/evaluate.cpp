#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "apps/programs/classify/classify.h"
#include "autograd/base/list.h"
#include "models/text/lines.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::classify {

using autograd::join;

Confusion evaluate(const Labeller& l, const std::vector<Example>& examples, nn::Team& team) {
    const std::size_t labels = l.labels.size();
    // For each text: the probabilities of all labels. Each process reads some of the texts.
    const auto found = nn::shared_ranges(team, std::ssize(examples), [&](int64_t begin, int64_t end) {
        const std::vector<Example> some(examples.begin() + begin, examples.begin() + end);
        std::vector<double> all;
        for (const std::vector<double>& p : l.probabilities(texts_of(some)))
            all.insert(all.end(), p.begin(), p.end());
        return all;
    });
    Confusion c = {.labels = l.labels, .counts = {labels, std::vector<int64_t>(labels)}};
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const double* const p = found.data() + i * labels;
        const std::size_t label = index_of(examples[i], l.labels);
        const auto predicted = static_cast<std::size_t>(std::max_element(p, p + labels) - p);
        ++c.counts[label][predicted];
        c.right += label == predicted ? 1 : 0;
        c.loss -= std::log(std::max(p[label], 1e-30));
    }
    c.total = std::ssize(examples);
    c.loss /= static_cast<double>(c.total);
    return c;
}

namespace {

// "87.5 %", or "-" where there is nothing to divide by.
std::string percent(int64_t part, int64_t whole) {
    return whole == 0 ? "-"
                      : kit::number(100 * static_cast<double>(part) / static_cast<double>(whole)) + " %";
}

// A label, as a line can show it, cut or padded to `width` columns.
std::string fitted(const std::string& name, std::size_t width) {
    std::string label = kit::as_line(name);
    const std::size_t columns = nn::checkpoint::columns_of(label);
    while (columns > width && nn::checkpoint::columns_of(label) >= width)
        label.pop_back();
    return columns > width ? label + "…" : kit::left(label, width);
}

}  // namespace

// Columns are headed by numbers, so that many labels fit on a line.
void print(const Confusion& c) {
    const std::size_t labels = c.labels.size(), digits = std::to_string(labels).size(),
                      name = std::clamp<std::size_t>(kit::widest(autograd::mapped(c.labels, kit::as_line)), 5,
                                                     24),
                      width = std::max(std::to_string(c.total).size(), digits + 1);
    std::cout << "accuracy " << percent(c.right, c.total) << ": " << c.right << " of " << c.total
              << " texts\n\nConfusion matrix: a row for each true label, a column for what was predicted.\n\n"
              << std::string(digits + 2 + name, ' ');
    for (std::size_t i = 1; i <= labels; ++i)
        std::cout << "  " << kit::right(std::to_string(i), width);
    std::cout << "   recall  precision\n";
    for (std::size_t i = 0; i < labels; ++i) {
        int64_t texts = 0, predicted = 0;
        std::cout << kit::right(std::to_string(i + 1), digits) << "  " << fitted(c.labels[i], name);
        for (std::size_t j = 0; j < labels; ++j) {
            const int64_t count = c.counts[i][j];
            std::cout << "  " << kit::right(count > 0 ? std::to_string(count) : ".", width);
            texts += count;
            predicted += c.counts[j][i];
        }
        std::cout << "  " << kit::right(percent(c.counts[i][i], texts), 7) << "  "
                  << kit::right(percent(c.counts[i][i], predicted), 9) << '\n';
    }
}

std::vector<std::string> texts_of(const std::vector<Example>& examples) {
    return autograd::mapped(examples, &Example::text);
}

void report_cuts(const Labeller& l, const std::vector<std::string>& texts) {
    const auto is_cut = [&](const std::string& text) { return has_text(text) && l.encode(text).cut; };
    const auto cut = std::count_if(texts.begin(), texts.end(), is_cut);
    if (cut > 0)
        std::cerr << join(kit::name(), ": texts of more than ",
                          l.tokenizer.max_words() > 0 ? join(l.tokenizer.max_words(), " words")
                                                      : kit::counted(l.model.config.max_length, "token"),
                          ", read only that far: ", cut, "\n");
}

// "weather<TAB>weather=0.9731<TAB>time=0.0102...", the most probable label first.
static std::string prediction(const std::vector<models::Label>& ranked) {
    std::string line = kit::as_line(ranked[0].name);
    for (const models::Label& label : ranked)
        line += '\t' + kit::as_line(label.name) + '=' + kit::number(label.probability, 4);
    return line;
}

void predict(const Labeller& l, const std::vector<std::string>& texts) {
    report_cuts(l, texts);
    std::vector<std::string> some;
    std::copy_if(texts.begin(), texts.end(), std::back_inserter(some), has_text);
    const std::vector<std::vector<double>> all = l.probabilities(some);
    auto next = all.begin();
    for (const std::string& text : texts)
        std::cout << (has_text(text) ? prediction(l.ranked(*next++)) : "") << '\n';
    kit::flush_output();
}

void talk(const Labeller& l) {
    kit::Prompt prompt = {.answer = [&](const std::string& text, const std::string&) { predict(l, {text}); }};
    const kit::Labels names = kit::token_names(l.tokenizer);
    prompt.commands = {kit::attention_command(l.model, names, [&](const std::string& text) {
        const auto [ids, types, is_cut] = l.encode(text);
        check(std::count(types.begin(), types.end(), 1) == 0, "the attention of a pair is not shown");
        return ids;
    })};
    kit::converse(prompt);
}

}  // namespace plaingrad::classify
