#include "apps/programs/classify/evaluate.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "apps/kit/insight.h"
#include "apps/kit/program.h"
#include "apps/kit/text.h"
#include "autograd/base/mapped.h"
#include "models/text/lines.h"
#include "nn/utf8.h"

namespace plaingrad::classify {

using models::Labeller;

Confusion evaluate(const Labeller& l, const std::vector<Example>& examples) {
    Confusion c(l.labels);
    const std::vector<std::vector<double>> p = l.probabilities(autograd::mapped(examples, &Example::text));
    for (std::size_t i = 0; i < examples.size(); ++i)
        c.add(index_of(examples[i], l.labels),
              static_cast<std::size_t>(std::max_element(p[i].begin(), p[i].end()) - p[i].begin()));
    return c;
}

namespace {

// "87.5 %", or "-" where there is nothing to divide by.
std::string percent(int64_t part, int64_t whole) {
    return whole == 0 ? "-"
                      : kit::number(100 * static_cast<double>(part) / static_cast<double>(whole)) + " %";
}

// A label, cut or padded to `width` columns.
std::string fitted(std::string label, std::size_t width) {
    const std::size_t columns = nn::columns_of(label);
    while (columns > width && nn::columns_of(label) >= width)
        label.pop_back();
    return columns > width ? label + "…" : kit::left(label, width);
}

// Columns are headed by numbers, so that many labels fit on a line. row_width: of the labels.
void print_matrix(const Confusion& c, std::size_t row_width) {
    const std::size_t number_width = std::to_string(c.labels.size()).size();
    const std::size_t width = std::max(std::to_string(c.total).size(), number_width + 1);
    std::cout << "\nConfusion matrix: a row for each true label, a column for what was predicted.\n\n"
              << std::string(number_width + 2 + row_width, ' ');
    for (std::size_t i = 0; i < c.labels.size(); ++i)
        std::cout << "  " << kit::right(std::to_string(i + 1), width);
    for (std::size_t i = 0; i < c.labels.size(); ++i) {
        std::cout << '\n'
                  << kit::right(std::to_string(i + 1), number_width) << "  "
                  << fitted(c.labels[i], row_width);
        for (const int64_t count : c.counts[i])
            std::cout << "  " << kit::right(count > 0 ? std::to_string(count) : ".", width);
    }
    std::cout << "\n\n";
}

void print_labels(const Confusion& c, std::size_t row_width) {
    std::cout << fitted("label", row_width) << "  precision   recall   texts\n";
    for (std::size_t i = 0; i < c.labels.size(); ++i) {
        int64_t texts = 0, predicted = 0;
        for (std::size_t j = 0; j < c.labels.size(); ++j) {
            texts += c.counts[i][j];
            predicted += c.counts[j][i];
        }
        std::cout << fitted(c.labels[i], row_width) << "  "
                  << kit::right(percent(c.counts[i][i], predicted), 9) << "  "
                  << kit::right(percent(c.counts[i][i], texts), 7) << "  "
                  << kit::right(std::to_string(texts), 6) << '\n';
    }
}

}  // namespace

void print(const Confusion& c) {
    const std::size_t row_width = std::clamp<std::size_t>(kit::widest(c.labels), 5, 24);
    std::cout << "accuracy " << percent(c.right, c.total) << ": " << c.right << " of " << c.total
              << " texts\n";
    print_matrix(c, row_width);
    print_labels(c, row_width);
}

void report_cuts(const models::text::Reader& reader, const std::vector<Example>& examples) {
    const auto cut = std::count_if(examples.begin(), examples.end(),
                                   [&](const Example& e) { return reader.cuts(e.text); });
    if (cut > 0)
        std::cerr << kit::name() << ": texts of more than " << reader.options().max_words
                  << " words, read only that far: " << cut << '\n';
}

std::string prediction(const Labeller& l, const std::string& text) {
    const std::vector<models::Label> all = l(text);
    std::string line = all[0].name;
    for (const models::Label& label : all)
        line += '\t' + label.name + '=' + kit::number(label.probability, 4);
    return line;
}

void predict_lines(const Labeller& l, std::istream& in, const std::string& name) {
    std::string line;
    for (int64_t number = 1; models::text::next_line(in, line, name, number); ++number) {
        const std::string where = autograd::join(name, ":", number);
        int64_t replaced = 0;
        line = models::text::clean_line(line, where, replaced);
        report_replaced(where, replaced);
        report_cuts(l.reader, {{"", line, where}});
        std::cout << (models::text::has_text(line) ? prediction(l, line) : "") << '\n';
        kit::flush_output();
    }
}

void talk(const Labeller& l) {
    kit::Prompt prompt = {
        .noun = "token",
        .names = kit::token_names(l.reader.size(), [&](int32_t id) { return l.reader.name(id); }),
        .read = {},
        .answer = [&](const std::string& text) {
            report_cuts(l.reader, {{"", text, "this line"}});
            std::cout << (models::text::has_text(text) ? prediction(l, text) : "") << '\n';
        }};
    prompt.read = [&, names = std::set<std::string>(prompt.names.begin(), prompt.names.end())](
                      const std::string& line) {
        kit::Reading reading = {line};
        for (const std::string& word : l.reader.words_of(line)) {
            reading.shown += (reading.shown.empty() ? "" : " ") + l.reader.spelled(word);
            if (!names.contains(l.reader.spelled(word)))
                reading.unknown.push_back(l.reader.spelled(word));
        }
        return reading;
    };
    prompt.commands = {{":next", "[TEXT]  the probabilities of all labels",
                        [&](const std::string& last, const std::string& text) {
                            return kit::listed(autograd::mapped(
                                l(text.empty() ? last : text), [](const models::Label& label) {
                                    return std::pair(label.name, label.probability);
                                }));
                        }},
                       kit::attention_command(l.model, prompt.names, [&](const std::string& text) {
                           const std::vector<int32_t> ids = l.reader(text);
                           return autograd::Tokens(1, std::ssize(ids), ids);
                       })};
    kit::converse(prompt);
}

}  // namespace plaingrad::classify
