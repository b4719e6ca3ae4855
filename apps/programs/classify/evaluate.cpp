#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "apps/kit/model.h"
#include "apps/kit/program.h"
#include "apps/kit/prompt.h"
#include "apps/kit/text.h"
#include "apps/programs/classify/classify.h"
#include "autograd/base/list.h"
#include "models/text/lines.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::classify {

using autograd::check;
using autograd::join;
using models::Labeller;
using models::text::has_text;

Confusion evaluate(const Labeller& l, const std::vector<Example>& examples, nn::Team& team) {
    // For each text: which label was predicted, and -log p of its own. Each process reads some of the texts.
    const auto found = nn::shared_ranges(team, std::ssize(examples), [&](int64_t begin, int64_t end) {
        const std::vector<Example> some(examples.begin() + begin, examples.begin() + end);
        const auto all = l.probabilities(autograd::mapped(some, &Example::text));
        std::vector<double> pairs;
        for (std::size_t i = 0; i < some.size(); ++i) {
            const std::vector<double>& p = all[i];
            pairs.push_back(static_cast<double>(std::max_element(p.begin(), p.end()) - p.begin()));
            pairs.push_back(-std::log(std::max(p[index_of(some[i], l.labels)], 1e-30)));
        }
        return pairs;
    });
    Confusion c = {.labels = l.labels, .counts = {l.labels.size(), std::vector<int64_t>(l.labels.size())}};
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const std::size_t label = index_of(examples[i], l.labels);
        const auto predicted = static_cast<std::size_t>(found[2 * i]);
        ++c.counts[label][predicted];
        c.right += label == predicted ? 1 : 0;
        c.loss += found[2 * i + 1];
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

void report_cuts(const Labeller& l, const std::vector<Example>& examples) {
    const auto cut = std::count_if(examples.begin(), examples.end(), [&](const Example& e) {
        return has_text(e.text) && l.encode(e.text).cut;
    });
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

void predict(const Labeller& l, const std::vector<Example>& texts) {
    report_cuts(l, texts);
    std::vector<std::string> some;
    for (const Example& e : texts)
        if (has_text(e.text))
            some.push_back(e.text);
    const std::vector<std::vector<double>> all = l.probabilities(some);
    auto next = all.begin();
    for (const Example& e : texts)
        std::cout << (has_text(e.text) ? prediction(l.ranked(*next++)) : "") << '\n';
    kit::flush_output();
}

void predict_lines(const Labeller& l, std::istream& in, const std::string& name) {
    constexpr std::size_t kAtOnce = 256;
    std::vector<Example> waiting;
    const auto answer = [&] { predict(l, std::exchange(waiting, {})); };
    try {
        kit::for_each_line(in, name, [&](const std::string& line, const std::string& where) {
            waiting.push_back({"", line, where});
            if (waiting.size() == kAtOnce || in.rdbuf()->in_avail() <= 0)
                answer();
        });
        answer();
    } catch (const autograd::Error&) {
        answer();  // to the lines before the one that is wrong
        throw;
    }
}

void talk(const Labeller& l) {
    kit::Prompt prompt = {.answer = [&](const std::string& text, const std::string& where) {
        predict(l, {{"", text, where}});
    }};
    const kit::Labels names = kit::token_names(l.tokenizer, l.model.config.vocabulary);
    prompt.commands = {kit::attention_command(l.model, names, [&](const std::string& text) {
        const auto [ids, types, is_cut] = l.encode(text);
        check(std::count(types.begin(), types.end(), 1) == 0, "the attention of a pair is not shown");
        return autograd::Tokens(1, std::ssize(ids), ids);
    })};
    kit::converse(prompt);
}

}  // namespace plaingrad::classify
