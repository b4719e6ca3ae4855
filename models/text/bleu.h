// BLEU (Papineni et al. 2002): how many n-grams of a translation, of 1 to 4 words, its reference has too.
// Computes the same as sacreBLEU 2.6.0 (Post 2018, "A Call for Clarity in Reporting BLEU Scores").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plaingrad::models::text {

struct BleuOptions {
    // false: raw text, which is split as by WMT's mteval-v13a ("13a"), so that scores do not depend on the
    // user's own tokens. An order of n-grams without any matches counts as half a match, the next such order
    // as a quarter, and so on ("exp").
    // true: as in Moses' multi-bleu.perl and fairseq, for text that is in tokens already. Words are separated
    // by white space, and the score is 0 if an order has no matches.
    bool tokenized = false;
    bool lower_case = false;  // compare in lower case
};

struct BleuScore {
    double score = 0;                    // 0 .. 100
    std::array<double, 4> precisions{};  // percent, by order
    std::array<int64_t, 4> matches{},
        totals{};                      // n-grams of the translation: those in its reference, and all
    double bp = 0;                     // the brevity penalty
    int64_t hyp_len = 0, ref_len = 0;  // in words
};

// The score of a whole corpus: counts are summed over all lines before anything is divided. Throws Error
// unless each translation has its reference.
BleuScore bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
               const BleuOptions& options = {});

// Computes the rest from the matches, totals and lengths.
BleuScore bleu_from_counts(BleuScore counts, const BleuOptions& options = {});

// As sacreBLEU writes it, with its signature, which says how the score was computed:
//     BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 20.8 54.4/26.6/14.9/8.7 (BP ...
// Or, of tokens, as fairseq does:
//     BLEU4 = 39.48, 70.3/46.6/33.1/23.7 (BP=0.986, ratio=0.986, syslen=11936, reflen=12103)
std::string to_string(const BleuScore& score, const BleuOptions& options = {});

// Splits a text into words by "13a".
std::vector<std::string> tokenize_13a(std::string_view text);

}  // namespace plaingrad::models::text
