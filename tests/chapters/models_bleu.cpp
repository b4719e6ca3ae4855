// BLEU of one sentence, by hand, and by models/text/bleu.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "models/text/bleu.h"
#include "models/text/lines.h"
#include "tests/chapters/models.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using autograd::join;
namespace portable = autograd::portable;

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

struct Matches {
    int matches = 0, total = 0;
    std::string missed;  // n-grams that the translation has too often
    double precision() const { return static_cast<double>(matches) / total; }
};

Matches matches_of(std::size_t n) {
    const Counts ours = n_grams(kTranslation, n), theirs = n_grams(kReference, n);
    Matches m;
    for (const auto& [gram, count] : ours) {
        const int known = theirs.contains(gram) ? theirs.at(gram) : 0;
        m.matches += std::min(count, known);
        m.total += count;
        if (count > known)
            m.missed += join(m.missed.empty() ? "" : ", ", "\"", gram, "\" ",
                             count == 1 ? "once" : join(count, " times"), ", reference ", known);
    }
    return m;
}

void bleu_by_hand(std::ostream& out) {
    out << "translation  " << kTranslation << "\nreference    " << kReference << "\n\n";
    double log_mean = 0;
    for (std::size_t n = 1; n <= 4; ++n) {
        const Matches m = matches_of(n);
        log_mean += portable::log(m.precision()) / 4;
        out << n << (n == 1 ? " word " : " words") << "   " << m.matches << " of " << m.total << " = "
            << fixed(m.precision(), 3) << "   too many: " << m.missed << '\n';
    }
    const auto words = [](const std::string& text) { return std::ssize(models::text::split_words(text)); };
    const int64_t length = words(kTranslation), reference = words(kReference);
    const double mean = portable::exp(log_mean),
                 penalty = portable::exp(1 - static_cast<double>(reference) / static_cast<double>(length));
    const double score = 100 * penalty * mean;
    out << "\ngeometric mean of the four          " << fixed(mean, 3) << "\nbrevity penalty exp(1 - "
        << reference << " / " << length << ")      " << fixed(penalty, 3)
        << "\nBLEU = 100 · product of both        " << fixed(score, 1) << '\n';
    const models::text::BleuScore library = models::text::bleu({kTranslation}, {kReference});
    claim(std::abs(library.score - score) < 1e-9, "BLEU by hand is the library's");
    out << '\n' << models::text::to_string(library) << '\n';
}

}  // namespace

Computed bleu_part() { return {.sections = {{"models.bleu", Effort::quick, bleu_by_hand}}}; }

}  // namespace plaingrad::chapters
