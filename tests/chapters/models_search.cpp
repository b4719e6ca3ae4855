// Greedy search, beam search and sampling on a tree that is small enough to draw.
#include <algorithm>
#include <limits>
#include <map>
#include <ostream>

#include "autograd/base/portable_math.h"
#include "models/decoding/decoding.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace models;
namespace portable = autograd::portable;
using Ids = std::vector<int32_t>;

namespace {

enum Word : int32_t { a = kFirstFreeId, the, dog, cat, words };
const char* const kWords[] = {"<pad>", "<sos>", "<eos>", "<unk>", "a", "the", "dog", "cat"};

std::string text(const Ids& ids) {
    std::string joined;
    for (const int32_t id : ids)
        joined += (joined.empty() ? "" : " ") + std::string(kWords[id]);
    return joined;
}

// The probabilities of the next word after what has been read: all that greedy search, beam search and
// sampling ever ask a model for.
std::map<int32_t, double> next_words(const Ids& read) {
    if (read.empty())
        return {{a, 0.5}, {the, 0.4}, {kEos, 0.1}};
    if (read.size() == 1 && read[0] == a)
        return {{dog, 0.4}, {cat, 0.35}, {kEos, 0.25}};
    if (read.size() == 1)
        return {{dog, 0.9}, {cat, 0.05}, {kEos, 0.05}};
    return {{kEos, 1.0}};
}

// A "model" that is this tree. It prints what a search keeps from one step to the next.
class Tree final : public Stepper {
public:
    Tree(int64_t batch, std::ostream* log)
        : Stepper(Tokens(batch, 1, Ids(static_cast<std::size_t>(batch), kSos)), {}, 10),
          log_(log),
          rows_(static_cast<std::size_t>(batch)) {}

    Tensor step(const Tokens& tokens, Logits) override {
        std::vector<Real> logits;
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (steps_ > 0)
                rows_[row].push_back(tokens.at(static_cast<int64_t>(row), 0));
            std::vector<Real> of_row(words, -std::numeric_limits<Real>::infinity());
            for (const auto& [word, p] : next_words(rows_[row]))
                of_row[static_cast<std::size_t>(word)] = static_cast<Real>(portable::log(p));
            logits.insert(logits.end(), of_row.begin(), of_row.end());
        }
        ++steps_;
        if (log_ != nullptr)
            print_step();
        return Tensor::from({tokens.batch(), 1, words}, logits);
    }
    void select(const Ids& chosen) override {
        std::vector<Ids> next;
        for (const int32_t row : chosen)
            next.push_back(rows_[static_cast<std::size_t>(row)]);
        rows_ = std::move(next);
    }
    void rewind(int64_t) override { steps_ = 0; }

private:
    void print_step() {
        *log_ << "  step " << steps_ << " continues:";
        for (const Ids& row : rows_)
            *log_ << "  \"" << text(row) << "\" (" << number(probability(row)) << ")";
        *log_ << '\n';
    }
    static double probability(const Ids& ids) {
        double p = 1;
        for (std::size_t i = 0; i < ids.size(); ++i)
            p *= next_words({ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i)}).at(ids[i]);
        return p;
    }

    std::ostream* log_;
    std::vector<Ids> rows_;
    int steps_ = 0;
};

// Every sentence of the tree, with its probability, the most probable first.
std::vector<std::pair<double, Ids>> all_sentences() {
    std::vector<std::pair<double, Ids>> found;
    for (const auto& [first, p] : next_words({})) {
        if (first == kEos)
            found.push_back({p, {}});
        else
            for (const auto& [second, q] : next_words({first}))
                found.push_back({p * q, second == kEos ? Ids{first} : Ids{first, second}});
    }
    std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    return found;
}

void tree(std::ostream& out) {
    out << "<sos>\n";
    for (const auto& [first, p] : next_words({})) {
        out << (first == the ? "└ " : "├ ") << kit::left(kWords[first], 8) << p << '\n';
        if (first == kEos)
            continue;
        for (const auto& [second, q] : next_words({first}))
            out << (first == the ? "  " : "│ ") << (second == cat ? "└ " : "├ ")
                << kit::left(kWords[second], 8) << kit::left(number(q), 8) << "\"" << text({first, second})
                << "\": " << p << " · " << q << " = " << p * q << '\n';
    }
}

void searches(std::ostream& out) {
    out << "greedy\n";
    Tree one(1, &out);
    const Hypothesis found = greedy(one, 5)[0];
    out << "  finds \"" << text(found.ids) << "\", probability "
        << number(portable::exp(found.log_probability)) << "\n\nbeam 2\n";
    Tree two(1, &out);
    const Hypothesis best = beam_search(two, {.beam = 2, .alpha = 0, .max_tokens = 5})[0][0];
    out << "  finds \"" << text(best.ids) << "\", probability " << number(portable::exp(best.log_probability))
        << '\n';
    claim(best.ids == all_sentences()[0].second && found.ids != best.ids,
          "a beam of 2 finds the best sentence, and greedy search does not");
}

void samples(std::ostream& out) {
    constexpr int64_t kDraws = 10000;
    const auto count = [](const SamplingOptions& sampling) {
        Tree many(kDraws, nullptr);
        std::map<Ids, int> counts;
        for (const Ids& ids : generate(many, Rng(1), {.sampling = sampling, .max_tokens = 5}))
            ++counts[ids];
        return counts;
    };
    std::map<Ids, int> plain = count({}), cold = count({.temperature = 0.5}), two = count({.top_k = 2}),
                       nucleus = count({.top_p = 0.8});
    Rows rows = {{"sentence", "its probability", "temperature 1", "temperature 0.5", "top_k 2", "top_p 0.8"}};
    for (const auto& [p, ids] : all_sentences())
        rows.push_back({ids.empty() ? "(nothing)" : text(ids), number(p), std::to_string(plain[ids]),
                        std::to_string(cold[ids]), std::to_string(two[ids]), std::to_string(nucleus[ids])});
    const std::string all = std::to_string(kDraws);
    rows.push_back({"all", "1", all, all, all, all});
    table(out, rows);
}

const Adds kHere({{"models.tree", Effort::quick, tree},
                  {"models.searches", Effort::quick, searches},
                  {"models.samples", Effort::quick, samples}});

}  // namespace

}  // namespace plaingrad::chapters
