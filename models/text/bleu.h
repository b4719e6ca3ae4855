// BLEU (Papineni et al. 2002): how much of a translation stands in a reference, in n-grams of 1 to 4 words.
// It computes what sacreBLEU 2.6.0 does (Post 2018, "A Call for Clarity in Reporting BLEU Scores").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plaingrad::models::text {

struct BleuOptions {
    // "13a": raw text is split as WMT's mteval-v13a does it, so that scores do not depend on one's own
    // tokens. "none": words are separated by white space.
    std::string tokens = "13a";
    // What an order of n-grams without a match counts as. "exp": half a match, the next such order a quarter,
    // and so on. "floor": a tenth. "add-k": all orders but the first get one more match and one more n-gram.
    // "none": nothing, and the score is 0.
    std::string smoothing = "exp";
    bool lower_case = false;  // compare in lower case
    bool effective_order =
        false;  // for single sentences: orders that the translation is too short for do not count
};

// What Moses' multi-bleu.perl and fairseq compute, of text that is in tokens already.
BleuOptions moses_bleu();

struct BleuScore {
    double score = 0;                            // 0 .. 100
    std::array<double, 4> precisions{};          // percent, by order
    std::array<int64_t, 4> matches{}, totals{};  // n-grams of the translation: those in a reference, and all
    double bp = 0;                               // the brevity penalty
    int64_t hyp_len = 0,
            ref_len = 0;  // in words; of several references the closest one, if two are the shorter
};

// The score of a whole corpus: counts are summed over all lines before anything is divided. Each reference
// has a line for each hypothesis. Throws Error for unknown options, for no references, and if numbers of
// lines differ.
BleuScore bleu(const std::vector<std::string>& hypotheses,
               const std::vector<std::vector<std::string>>& references, const BleuOptions& options = {});

// The score for known matches, totals and lengths: fills in the rest.
BleuScore bleu_from_counts(BleuScore counts, const BleuOptions& options = {});

// How a score was computed, as sacreBLEU says it: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0
std::string signature(const BleuOptions& options, std::size_t n_references = 1);

// As sacreBLEU writes it: 20.8 54.4/26.6/14.9/8.7 (BP = 1.000 ratio = 1.026 hyp_len = 62880 ref_len = 61287)
std::string to_string(const BleuScore& score, int decimals = 1);
// As fairseq does: BLEU4 = 39.48, 70.3/46.6/33.1/23.7 (BP=0.986, ratio=0.986, syslen=11936, reflen=12103)
std::string fairseq_line(const BleuScore& score);

// The words of a text by "13a".
std::vector<std::string> tokenize_13a(std::string_view text);

}  // namespace plaingrad::models::text
