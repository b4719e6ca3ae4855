#include "models/text/data_check.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <ostream>
#include <unordered_set>

#include "autograd/base/check.h"
#include "models/text/vocabulary.h"

namespace plaingrad::models::text {
namespace {

using autograd::join;

// ----------------------------------------------------------------------------------------------- looking

// f(character, code point) for each. A byte that is not UTF-8 counts as U+FFFD.
template <class F>
void for_each_character(std::string_view text, F f) {
    while (!text.empty()) {
        const nn::CodePoint first = nn::first_code_point(text);
        f(text.substr(0, first.length), static_cast<uint32_t>(first.code));
        text.remove_prefix(first.length);
    }
}

// What a corpus has. Of sentences their hashes: that two of a million different ones are taken for the same
// has a probability of 3e-8.
class Contents {
public:
    bool add(const SentencePair& pair) {  // whether the pair is new
        sources_.insert(hash_(pair.source));
        for_each_character(pair.source, [&](std::string_view, uint32_t code) { source_[code] = true; });
        for_each_character(pair.target, [&](std::string_view, uint32_t code) { target_[code] = true; });
        return pairs_.insert(hash_(pair.source + '\t' + pair.target)).second;
    }
    // Notes what of this pair is there, and which characters are not.
    void look_up(const SentencePair& pair, CorpusCheck& found) const {
        if (pairs_.contains(hash_(pair.source + '\t' + pair.target)))
            found.pairs_learned.add(pair.line);
        if (sources_.contains(hash_(pair.source)))
            found.sources_learned.add(pair.line);
        look_up(pair.source, pair.line, source_, found.unseen_source);
        look_up(pair.target, pair.line, target_, found.unseen_target);
    }

private:
    static void look_up(std::string_view text, int64_t line, const std::vector<bool>& seen,
                        UnseenCharacters& unseen) {
        for_each_character(text, [&](std::string_view character, uint32_t code) {
            if (!seen[code])
                ++unseen.try_emplace(code, UnseenCharacter{std::string(character), 0, line})
                      .first->second.times;
        });
    }

    std::hash<std::string> hash_;
    std::unordered_set<std::size_t> pairs_, sources_;
    std::vector<bool> source_ = std::vector<bool>(0x110000), target_ = source_;  // by code point
};

CorpusCheck check_corpus(const ParallelText& text, const CheckOptions& options, Contents& contents,
                         const Contents* training) {
    CorpusCheck found = {.files = text.files(),
                         .no_text = text.no_text,
                         .no_source = text.no_source,
                         .no_target = text.no_target,
                         .replaced = text.replaced};
    const auto has_replaced = [](const std::string& side) {
        return side.find("\xef\xbf\xbd") != std::string::npos;  // U+FFFD
    };
    for (const SentencePair& pair : text.pairs) {
        const PairLength length = options.length ? options.length(pair)
                                                 : PairLength{std::ssize(split_words(pair.source)),
                                                              std::ssize(split_words(pair.target))};
        const auto [shorter, longer] = std::minmax(length.source, length.target);
        found.lengths.push_back(length);
        if (options.longest > 0 && longer > options.longest)
            found.too_long.add(pair.line);
        if (longer > DataCheck::kUneven * shorter)
            found.uneven.add(pair.line);
        if (text.replaced > 0 && (has_replaced(pair.source) || has_replaced(pair.target)))
            found.not_utf8.add(pair.line);
        if (!contents.add(pair))
            found.duplicates.add(pair.line);
        if (training != nullptr)
            training->look_up(pair, found);
    }
    return found;
}

// ---------------------------------------------------------------------------------------------- in words

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

// "U+00E9 é (3 times, first in line 7), ...". Of what a terminal may act on only the code.
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

std::vector<Finding> findings(const CorpusCheck& c, const CheckOptions& options, bool validation) {
    std::vector<Finding> all = {{"bytes that are not UTF-8, read as U+FFFD", c.replaced, where(c.not_utf8)}};
    const auto add = [&](const std::string& what, const LineList& lines) {
        all.push_back({what, lines.count, where(lines)});
    };
    add("passed over, no text on both sides", c.no_text);
    add("passed over, no source", c.no_source);
    add("passed over, no target", c.no_target);
    if (options.longest > 0)
        add(join("longer than ", options.longest, " ", options.unit), c.too_long);
    add(join("one side more than ", DataCheck::kUneven, " times as long as the other"), c.uneven);
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

// In short on one line, with what was found; or a line for each thing that was looked for.
void describe(std::ostream& out, const CorpusCheck& c, const CheckOptions& options, bool validation,
              bool in_short) {
    out << c.files << ": " << c.lengths.size() << (c.lengths.size() == 1 ? " pair" : " pairs");
    for (const Finding& f : findings(c, options, validation)) {
        if (in_short && f.count > 0)
            out << "; " << f.what << ": " << f.count << " (" << f.where << ")";
        if (!in_short)
            out << '\n' << std::setw(8) << f.count << "  " << f.what << (f.count > 0 ? ": " + f.where : "");
    }
    out << '\n';
}

// How many sentences of either side have how many words. Ten steps go as far as 99 of 100 sentences, so that
// one endless line does not squeeze all others into one; what is longer comes last.
void draw_lengths(std::ostream& out, const std::vector<PairLength>& lengths, const std::string& unit) {
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
    out << std::setw(14) << unit << "   source" << std::setw(kWidest + 10) << "target" << '\n';
    for (int64_t i = 0; i < std::ssize(rows); ++i) {
        out << std::setw(6) << i * width + 1 << " - " << std::setw(5)
            << (i < kSteps ? (i + 1) * width : all.back());
        draw(rows[static_cast<std::size_t>(i)].source);
        draw(rows[static_cast<std::size_t>(i)].target);
        out << '\n';
    }
}

}  // namespace

DataCheck check_data(const ParallelText& training, const ParallelText* validation,
                     const CheckOptions& options) {
    Contents learned, held_out;
    DataCheck found = {options, check_corpus(training, options, learned, nullptr)};
    if (validation != nullptr)
        found.validation = check_corpus(*validation, options, held_out, &learned);
    return found;
}

void DataCheck::print(std::ostream& out, bool in_short) const {
    describe(out, training, options, false, in_short);
    if (validation)
        describe(out, *validation, options, true, in_short);
    if (!in_short)
        draw_lengths(out, training.lengths, options.unit);
}

}  // namespace plaingrad::models::text
