#include "models/text/tokenizer/bpe.h"

#include <algorithm>

#include "models/text/specials.h"
#include "models/text/tokenizer/byte_alphabet.h"
#include "nn/checkpoint/json.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

// How a byte is written as a piece of its own: <0x0A>.
static std::string byte_piece(std::size_t byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">";
}

std::optional<Bpe::Rule> Bpe::rule(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
        return std::nullopt;
    return Rule(text.substr(0, space), text.substr(space + 1));
}

Bpe::Bpe(std::shared_ptr<Vocabulary> pieces, BpeOptions options, const Rules& rules, const std::string& where)
    : pieces_(std::move(pieces)), size_(static_cast<int32_t>(pieces_->size())), options_(std::move(options)) {
    if (!options_.unk_token.empty())
        unk_ = pieces_->id_of_unk(options_.unk_token, where);
    if (options_.splits_again)
        pieces_->hide(kFirstFreeId);
    for (std::size_t byte = 0; byte < 256; ++byte)
        bytes_[byte] = pieces_->id(options_.byte_level ? byte_alphabet().character[byte] : byte_piece(byte));
    for (int32_t rank = 0; rank < std::ssize(rules); ++rank)
        add_rule(rules[static_cast<std::size_t>(rank)], rank, where);
}

void Bpe::add_rule(const Rule& rule, int32_t rank, const std::string& where) {
    const auto& [left, right] = rule;
    const std::string merged = std::string(left).append(right);
    for (const std::string_view piece : {left, right, std::string_view(merged)}) {
        if (pieces_->id(piece) != Vocabulary::kNone)
            continue;
        if (!options_.splits_again)
            check_file(false, where, ": merges[", rank, "] is ", shown(left), " and ", shown(right), ", but ",
                       shown(piece), " is not in the vocabulary");
        pieces_->add(piece, size_ + std::ssize(made_of_), where);
        made_of_.emplace_back(Vocabulary::kNone, Vocabulary::kNone);
    }
    const int32_t l = pieces_->id(left), r = pieces_->id(right), m = pieces_->id(merged);
    if (m >= size_ && made_of_[static_cast<std::size_t>(m - size_)].first == Vocabulary::kNone)
        made_of_[static_cast<std::size_t>(m - size_)] = {l, r};
    if (!options_.splits_again || pairs_.find(l, r).rank == PairTable::kNone)
        pairs_.set(l, r, {rank, m});
}

void Bpe::append(std::string_view word, std::vector<int32_t>& ids, Dropout& dropout) const {
    if (options_.ignore_merges) {
        const int32_t whole =
            pieces_->id(options_.byte_level ? byte_alphabet().write(word) : std::string(word));
        if (whole != Vocabulary::kNone)
            return ids.push_back(whole);
    }
    std::vector<int32_t> all = symbols(word);
    pairs_.apply(all, dropout);
    for (const int32_t symbol : all)
        append_known(symbol, ids);
}

void Bpe::append_known(int32_t symbol, std::vector<int32_t>& ids) const {
    if (symbol < size_)
        return ids.push_back(symbol);
    const auto [left, right] = made_of_[static_cast<std::size_t>(symbol - size_)];
    if (left != Vocabulary::kNone) {
        append_known(left, ids);
        append_known(right, ids);
    } else if (unk_ != Vocabulary::kNone) {
        ids.push_back(unk_);  // a character
    }
}

std::vector<int32_t> Bpe::symbols(std::string_view word) const {
    std::vector<int32_t> ids;
    ids.reserve(word.size());
    bool unknown_waits = false;  // it is written before the next character that has a piece
    while (!word.empty()) {
        const std::size_t length = options_.byte_level ? 1 : nn::first_code_point(word).length;
        const std::string_view character = word.substr(0, length);
        const int32_t id = options_.byte_level ? bytes_[static_cast<unsigned char>(word[0])]
                           : word.size() == length && !options_.end_of_word.empty()
                               ? pieces_->id(std::string(character).append(options_.end_of_word))
                               : pieces_->id(character);
        word.remove_prefix(length);
        if (id == Vocabulary::kNone) {
            append_unknown(character, unknown_waits, ids);
            continue;
        }
        if (std::exchange(unknown_waits, false))
            ids.push_back(unk_);
        ids.push_back(id);
    }
    if (unknown_waits)
        ids.push_back(unk_);
    return ids;
}

void Bpe::append_unknown(std::string_view character, bool& waits, std::vector<int32_t>& ids) const {
    const auto id_of = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    const bool as_bytes = options_.byte_fallback && !options_.byte_level &&
                          std::all_of(character.begin(), character.end(),
                                      [&](char byte) { return id_of(byte) != Vocabulary::kNone; });
    if (as_bytes)
        std::transform(character.begin(), character.end(), std::back_inserter(ids), id_of);
    else if (unk_ != Vocabulary::kNone && std::exchange(waits, true) && !options_.fuse_unk)
        ids.push_back(unk_);
}

bool keeps_apart(const Bpe::Rules& rules, std::string_view mark) {
    return std::none_of(rules.begin(), rules.end(), [&](const auto& rule) {
        return !rule.first.ends_with(mark) && rule.second.starts_with(mark);
    });
}

}  // namespace plaingrad::models::text::tokenizer
