#include "models/text/bpe.h"

#include <algorithm>
#include <charconv>

#include "autograd/base/check.h"
#include "models/text/lines.h"

namespace plaingrad::models::text {

using autograd::check;

static constexpr std::string_view kEnd = "</w>", kMore = "@@";

// word: with kEnd appended.
Pieces Bpe::characters(std::string_view word) const {
    const std::size_t end = word.size() - kEnd.size();
    Pieces pieces;
    for (std::size_t at = 0; at < end; at += pieces.back().size())
        pieces.push_back(word.substr(at, nn::first_code_point(word.substr(at)).length));
    if (merges_.version == "0.1")
        pieces.push_back(word.substr(end));
    else
        pieces.back() = word.substr(end - pieces.back().size());
    return pieces;
}

Bpe Bpe::learn(const WordCounts& words, int64_t merges, int64_t min_count) {
    Bpe bpe;
    std::vector<Merges::Word> all;
    for (int64_t i = 0; i < words.size(); ++i) {
        all.push_back({{}, words.count(i)});
        const std::string word = std::string(words.word(i)).append(kEnd);
        for (const std::string_view piece : bpe.characters(word))
            all.back().symbols.push_back({bpe.merges_.symbols.add(piece), piece.size()});
    }
    bpe.merges_.learn(std::move(all), merges, min_count);
    return bpe;
}

Bpe Bpe::from_codes(std::string_view codes, const std::string& where) {
    Bpe bpe;
    bpe.merges_.read(codes, where, false);
    return bpe;
}

void Bpe::allow_only(std::string_view vocabulary, int64_t threshold, const std::string& where) {
    allowed_.emplace();
    const std::vector<std::string> lines = lines_of(vocabulary, where);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Pieces parts = split_at_spaces(lines[i]);
        const std::string_view number = parts.empty() ? "" : parts.back();
        int64_t count = 0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
        check(parts.size() == 2 && error == std::errc() && end == number.data() + number.size(), where, ":",
              i + 1, ": a line must be a piece, a space and its count: got '", lines[i], "'");
        if (count >= threshold)
            allowed_->emplace(parts[0]);
    }
}

// ends: it is the word's last piece. In version 0.1 "</w>" may be a symbol of its own, which is not part of
// the piece; what the piece was made of is known with that mark all the same.
void Bpe::append(std::string_view piece, const char* word_end, bool ends, std::string& out) const {
    const auto left = static_cast<std::size_t>(word_end - piece.data());  // how many bytes of the word
    const std::string written = std::string(piece.substr(0, left)).append(piece.size() < left ? kMore : "");
    const std::string marked = std::string(piece).append(ends && piece.size() == left ? kEnd : "");
    const Merges::Rule* rule = !allowed_ || allowed_->contains(written) ? nullptr : merges_.maker(marked);
    const std::size_t middle = rule == nullptr ? left + 1 : merges_.symbols.word(rule->left).size();
    if (middle <= left) {  // codes of others may have a rule that splits the mark "</w>" itself
        append(piece.substr(0, middle), word_end, false, out);
        append(piece.substr(middle), word_end, ends, out);
    } else if (left > 0) {  // "</w>" alone, in version 0.1, has no text
        out.append(written).append(" ");
    }
}

std::string Bpe::apply(std::string_view line, double dropout, const autograd::Rng& rng) const {
    check(dropout >= 0 && dropout <= 1, "[Bpe] dropout must be a probability, from 0 to 1: got ", dropout);
    MergeDropout skips{dropout, rng};
    const Pieces words = split_at_spaces(line);
    if (words.empty())
        return std::string(line);
    std::string out(line.begin(), words.front().begin());
    for (const std::string_view word : words) {
        const std::string text = std::string(word).append(kEnd);
        std::vector<Symbol> symbols;
        for (const std::string_view piece : characters(text))
            symbols.push_back({merges_.symbols.id(piece), piece.size()});
        merges_.apply(symbols, skips);
        const char* at = text.data();
        for (const Symbol& symbol : symbols) {
            const char* const word_end = text.data() + word.size();
            append({at, symbol.bytes}, word_end, at + symbol.bytes >= word_end, out);
            at += symbol.bytes;
        }
    }
    out.pop_back();
    return out.append(words.back().end(), line.end());
}

std::vector<std::string> Bpe::pieces() const {
    std::vector<std::string> pieces;
    for (int32_t id = kFirstFreeId; id < merges_.symbols.size(); ++id) {
        const std::string& symbol = merges_.symbols.word(id);
        if (!symbol.ends_with(kEnd))
            pieces.push_back(std::string(symbol).append(kMore));
        else if (symbol.size() > kEnd.size())
            pieces.push_back(symbol.substr(0, symbol.size() - kEnd.size()));
    }
    return pieces;
}

std::string Bpe::undo(std::string_view line) {
    const std::string more = std::string(kMore).append(" ");
    std::string words;
    for (std::size_t at = line.find(more); at != line.npos; at = line.find(more)) {
        words.append(line.substr(0, at));
        line.remove_prefix(at + more.size());
    }
    if (line.ends_with(kMore))
        line.remove_suffix(kMore.size());
    return words.append(line);
}

}  // namespace plaingrad::models::text
