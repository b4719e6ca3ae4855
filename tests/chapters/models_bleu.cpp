// BLEU of one sentence, by hand, and by models/text/bleu.h.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>

#include "autograd/base/check.h"
#include "models/text/bleu.h"
#include "models/text/vocabulary.h"
#include "tests/chapters/models.h"

namespace plaingrad::chapters {

namespace {

const std::string kTranslation = "the the cat sat on the mat", kReference = "the cat sat on the mat at noon";

using Counts = std::map<std::string, int>;
Counts n_grams(const std::string& sentence, std::size_t n) {
    const std::vector<std::string> words = models::text::split_words(sentence);
    Counts counts;
    for (std::size_t i = 0; i + n <= words.size(); ++i) {
        std::string gram = words[i];
        for (std::size_t k = 1; k < n; ++k)
            gram += " " + words[i + k];
        ++counts[gram];
    }
    return counts;
}

void bleu_by_hand(std::ostream& out) {
    out << "translation  " << kTranslation << "\nreference    " << kReference << "\n\n"
        << std::fixed << std::setprecision(3);
    double log_mean = 0;
    for (std::size_t n = 1; n <= 4; ++n) {
        const Counts ours = n_grams(kTranslation, n), theirs = n_grams(kReference, n);
        int matches = 0, total = 0;
        std::string missed;
        for (const auto& [gram, count] : ours) {
            const int known = theirs.contains(gram) ? theirs.at(gram) : 0;
            matches += std::min(count, known);
            total += count;
            if (count > known)
                missed += (missed.empty() ? "" : ", ") + ("\"" + gram + "\" " + std::to_string(count) +
                                                          " times, reference " + std::to_string(known));
        }
        const double precision = static_cast<double>(matches) / total;
        log_mean += std::log(precision) / 4;
        out << n << (n == 1 ? " word " : " words") << "   " << matches << " of " << total << " = "
            << precision << "   too many: " << missed << '\n';
    }
    const double length = 7, reference = 8, penalty = std::exp(1 - reference / length);
    const double score = 100 * penalty * std::exp(log_mean);
    out << "\ngeometric mean of the four          " << std::exp(log_mean)
        << "\nbrevity penalty exp(1 - 8 / 7)      " << penalty << "\nBLEU = 100 · product of both        "
        << std::setprecision(1) << score << '\n';
    const models::text::BleuScore library = models::text::bleu({kTranslation}, {{kReference}});
    autograd::check(std::abs(library.score - score) < 1e-9, "[models.bleu] by hand ", score,
                    ", by the library ", library.score);
    out << "\nmodels::text::bleu                  " << models::text::to_string(library) << '\n';
}

}  // namespace

Computed bleu_part() { return {.sections = {{"models.bleu", Effort::quick, bleu_by_hand}}}; }

}  // namespace plaingrad::chapters
