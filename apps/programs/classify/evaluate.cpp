#include "apps/programs/classify/evaluate.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "apps/kit/program.h"
#include "models/text/lines.h"

namespace plaingrad::classify {

using models::Labeller;

Confusion evaluate(const Labeller& l, const std::vector<Example>& examples) {
    Confusion c(l.labels);
    const std::vector<std::vector<double>> p = l.probabilities(texts_of(examples));
    for (std::size_t i = 0; i < examples.size(); ++i)
        c.add(index_of(examples[i], l.labels),
              static_cast<std::size_t>(std::max_element(p[i].begin(), p[i].end()) - p[i].begin()));
    return c;
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
    for (const models::Label& label : all) {
        char number[16];
        std::snprintf(number, sizeof number, "%.4f", label.probability);
        line += '\t' + label.name + '=' + number;
    }
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

}  // namespace plaingrad::classify
