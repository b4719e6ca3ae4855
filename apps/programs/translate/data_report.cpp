#include "apps/programs/translate/data_report.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "apps/kit/text.h"
#include "autograd/base/check.h"

namespace plaingrad::translate {
namespace {

using autograd::join;
using namespace models::text;

struct Finding {
    std::string what;
    int64_t count = 0;
    std::string where;
};

// "line 7", "lines 3, 7, ..."
std::string where(const LineList& lines) {
    std::string text = lines.count == 1 ? "line" : "lines";
    for (std::size_t i = 0; i < lines.first.size(); ++i)
        text += join(i == 0 ? " " : ", ", lines.first[i]);
    return text + (lines.count > std::ssize(lines.first) ? ", ..." : "");
}

// "U+00E9 é (3 times, first in line 7), ...". Control characters, on which a terminal may act, are shown only
// by their codes.
std::string where(const UnseenCharacters& unseen) {
    constexpr int kShown = 10;
    std::string text;
    int shown = 0;
    for (const auto& [code, c] : unseen) {
        if (shown++ == kShown)
            return text + ", ...";
        char name[16];
        std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(code));
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        text += join(shown == 1 ? "" : ", ", name, control ? "" : " ", control ? "" : c.character, " (",
                     c.times, c.times == 1 ? " time, in line " : " times, first in line ", c.line, ")");
    }
    return text;
}

std::vector<Finding> findings(const CorpusCheck& c, bool validation) {
    std::vector<Finding> all = {{"bytes that are not UTF-8, read as U+FFFD", c.replaced, where(c.not_utf8)}};
    const auto add = [&](const std::string& what, const LineList& lines) {
        all.push_back({what, lines.count, where(lines)});
    };
    add("skipped, no text on either side", c.no_text);
    add("skipped, no source", c.no_source);
    add("skipped, no target", c.no_target);
    add(join("one side more than ", kUneven, " times as long as the other"), c.uneven);
    add("duplicates of an earlier pair", c.duplicates);
    if (validation) {
        add("pairs that are in the training data", c.pairs_learned);
        add("sources that are in the training data", c.sources_learned);
        const UnseenCharacters &src = c.unseen_source, &tgt = c.unseen_target;
        all.push_back({"source characters never seen in training", std::ssize(src), where(src)});
        all.push_back({"target characters never seen in training", std::ssize(tgt), where(tgt)});
    }
    return all;
}

// One corpus: see print_report.
void describe(std::ostream& out, const CorpusCheck& c, bool validation, bool in_short) {
    out << kit::as_line(c.files) << ": " << c.lengths.size() << (c.lengths.size() == 1 ? " pair" : " pairs");
    for (const Finding& f : findings(c, validation)) {
        if (in_short && f.count > 0)
            out << "; " << f.what << ": " << f.count << " (" << f.where << ")";
        if (!in_short)
            out << '\n' << std::setw(8) << f.count << "  " << f.what << (f.count > 0 ? ": " + f.where : "");
    }
    out << '\n';
}

// A histogram of sentence lengths in words, for both sides. Its first ten rows cover 99 % of the sentences,
// so that one endless line does not squeeze all others into one row; the last row has the rest.
void draw_lengths(std::ostream& out, const std::vector<PairLength>& lengths) {
    constexpr int64_t kSteps = 10, kWidest = 24;
    std::vector<int64_t> all = {0};  // if there are no sentences
    for (const PairLength& pair : lengths)
        all.insert(all.end(), {pair.source, pair.target});
    std::sort(all.begin(), all.end());
    const int64_t width = std::max<int64_t>(1, (all[all.size() * 99 / 100] + kSteps - 1) / kSteps);
    const auto row_of = [&](int64_t length) {
        return static_cast<std::size_t>(std::min((std::max<int64_t>(length, 1) - 1) / width, kSteps));
    };
    std::vector<PairLength> rows(row_of(all.back()) + 1);
    for (const PairLength& pair : lengths) {
        ++rows[row_of(pair.source)].source;
        ++rows[row_of(pair.target)].target;
    }
    int64_t most = 1;
    for (const PairLength& row : rows)
        most = std::max({most, row.source, row.target});
    const auto draw = [&](int64_t count) {
        out << std::setw(9) << count << ' ';
        for (int64_t i = 0; i < kWidest; ++i)
            out << (i < (count * kWidest + most / 2) / most ? "█" : i == 0 && count > 0 ? "▏" : " ");
    };
    out << std::setw(14) << "words"
        << "   source" << std::setw(kWidest + 10) << "target" << '\n';
    for (int64_t i = 0; i < std::ssize(rows); ++i) {
        out << std::setw(6) << i * width + 1 << " - " << std::setw(5)
            << (i < kSteps ? (i + 1) * width : all.back());
        draw(rows[static_cast<std::size_t>(i)].source);
        draw(rows[static_cast<std::size_t>(i)].target);
        out << '\n';
    }
}

}  // namespace

void print_report(std::ostream& out, const models::text::DataCheck& check, bool in_short) {
    std::ostringstream text;  // printed at once, so that its lines stay whole beside other processes'
    describe(text, check.training, false, in_short);
    if (check.validation)
        describe(text, *check.validation, true, in_short);
    if (!in_short)
        draw_lengths(text, check.training.lengths);
    out << text.str();
}

}  // namespace plaingrad::translate
