// BLEU of one sentence, and byte-pair encoding of ten words: by counting, and by models/text.
#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "models/text/bleu.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/lines.h"
#include "models/text/tokenizer/learn_merges.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using autograd::join;
namespace portable = autograd::portable;
using namespace models::text;
using tokenizer::Strings;

namespace {

// How often each run of n words occurs.
std::map<Strings, int> n_grams(const Strings& words, int64_t n) {
    std::map<Strings, int> counts;
    for (auto begin = words.begin(); words.end() - begin >= n; ++begin)
        ++counts[{begin, begin + n}];
    return counts;
}

void bleu_by_hand(std::ostream& out) {
    const std::string translation = "the the cat sat on the mat",
                      reference = "the cat sat on the mat at noon";
    const Strings ours = split_words(translation), theirs = split_words(reference);
    out << "translation  " << translation << "\nreference    " << reference << "\n\n";
    double log_mean = 0;
    for (int64_t n = 1; n <= 4; ++n) {
        int matches = 0, total = 0;
        std::map<Strings, int> known = n_grams(theirs, n);
        for (const auto& [gram, count] : n_grams(ours, n)) {
            matches += std::min(count, known[gram]);
            total += count;
        }
        const double precision = static_cast<double>(matches) / total;
        log_mean += portable::log(precision) / 4;
        out << n << (n == 1 ? " word " : " words") << "   " << matches << " of " << total << " = "
            << fixed(precision, 3) << '\n';
    }
    const double mean = portable::exp(log_mean), penalty = portable::exp(1 - 8.0 / 7),
                 score = 100 * penalty * mean;
    const BleuScore library = bleu({translation}, {reference});
    claim(std::abs(library.score - score) < 1e-9, "BLEU by hand is the library's");
    out << "\ngeometric mean of the four          " << fixed(mean, 3)
        << "\nbrevity penalty exp(1 - 8 / 7)      " << fixed(penalty, 3)
        << "\nBLEU = 100 · product of both        " << fixed(score, 1) << "\n\n"
        << to_string(library) << '\n';
}

const std::pair<const char*, int> kCorpus[] = {{"low", 5},    {"lower", 2},  {"lowest", 2}, {"new", 6},
                                               {"newer", 3},  {"newest", 4}, {"wide", 2},   {"wider", 3},
                                               {"widest", 3}, {"slow", 1}};

std::vector<tokenizer::MergeRule> learned_merges() {
    tokenizer::WordCounts counts;
    for (const auto& [word, count] : kCorpus)
        counts.add(word, count);
    return tokenizer::learn_word_merges(counts, 8).rules;
}

// The pieces of a word after these merges.
Strings pieces(const std::string& word, const std::vector<tokenizer::MergeRule>& merges) {
    const std::string letters = "low lower lowest new newer newest wide wider widest slow";
    return learn_pieces(
               {letters},
               {.tokenized = true, .dropout = true, .codes = tokenizer::codes_of(merges), .codes_file = "-"})
        .pieces(word);
}

std::string shown(const Strings& pieces) {
    std::string text;
    for (const std::string& piece : pieces)
        text += (text.empty() ? "`" : " ") + piece;
    return text + "`";
}

void merges(std::ostream& out) {
    Rows rows = {{"merge", "most frequent pair", "how often", "one of its words is now"}};
    std::vector<tokenizer::MergeRule> done;
    for (const tokenizer::MergeRule& rule : learned_merges()) {
        const std::vector<tokenizer::MergeRule> before = done;
        done.push_back(rule);
        int count = 0;
        std::string changed;
        for (const auto& [word, times] : kCorpus) {
            const Strings p = pieces(word, before);
            for (std::size_t i = 0; i + 1 < p.size(); ++i)
                if (p[i] == rule.first && p[i + 1] == rule.second) {
                    count += times;
                    changed = changed.empty() ? shown(pieces(word, done)) : changed;
                }
        }
        rows.push_back({std::to_string(done.size()), "`" + rule.first + "` `" + rule.second + "`",
                        std::to_string(count), changed});
    }
    table(out, rows, "ntnt");
}

void new_words(std::ostream& out) {
    Rows rows = {{"never seen", "pieces"}};
    for (const char* word : {"slower", "slowest", "newish", "snow"})
        rows.push_back({word, shown(pieces(word, learned_merges()))});
    table(out, rows, "tt");
}

const Adds kHere({{"models.bleu", Effort::quick, bleu_by_hand},
                  {"models.merges", Effort::quick, merges},
                  {"models.new_words", Effort::quick, new_words}});

}  // namespace

}  // namespace plaingrad::chapters
