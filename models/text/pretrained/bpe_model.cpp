#include "models/text/pretrained/bpe_model.h"

#include <algorithm>

#include "models/text/byte_alphabet.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::pretrained {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

// How a byte is written as a piece of its own: <0x0A>.
static std::string byte_piece(std::size_t byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">";
}

std::optional<BpeModel::Rule> BpeModel::rule(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
        return std::nullopt;
    return Rule(text.substr(0, space), text.substr(space + 1));
}

BpeModel::BpeModel(std::shared_ptr<const Pieces> pieces, BpeOptions options, const Rules& rules,
                   const std::string& where)
    : pieces_(std::move(pieces)), options_(std::move(options)) {
    if (!options_.unk_token.empty()) {
        unk_ = pieces_->id(options_.unk_token);
        check_file(unk_ != Pieces::kNone, where, ": unk_token ", shown(options_.unk_token),
                   " is not in the vocabulary");
    }
    for (std::size_t byte = 0; byte < 256; ++byte)
        bytes_[byte] = pieces_->id(options_.byte_level ? byte_alphabet().character[byte] : byte_piece(byte));
    int32_t rank = 0;
    for (const auto& [left, right] : rules) {
        const std::string merged = std::string(left).append(right);
        for (const std::string_view piece : {left, right, std::string_view(merged)})
            if (pieces_->id(piece) == Pieces::kNone)
                check_file(false, where, ": merges[", rank, "] is ", shown(left), " and ", shown(right),
                           ", but ", shown(piece), " is not in the vocabulary");
        pairs_.set(pieces_->id(left), pieces_->id(right), {rank++, pieces_->id(merged)});
    }
}

void BpeModel::append(std::string_view word, std::vector<int32_t>& ids) const {
    if (options_.ignore_merges) {
        const int32_t whole =
            pieces_->id(options_.byte_level ? byte_alphabet().write(word) : std::string(word));
        if (whole != Pieces::kNone)
            return ids.push_back(whole);
    }
    std::vector<int32_t> all = symbols(word);
    pairs_.apply(all);
    ids.insert(ids.end(), all.begin(), all.end());
}

std::vector<int32_t> BpeModel::symbols(std::string_view word) const {
    std::vector<int32_t> ids;
    ids.reserve(word.size());
    bool unknown_waits = false;  // it is written before the next character that has a piece
    while (!word.empty()) {
        const std::size_t length = options_.byte_level ? 1 : nn::first_code_point(word).length;
        const std::string_view character = word.substr(0, length);
        const int32_t id =
            options_.byte_level ? bytes_[static_cast<unsigned char>(word[0])] : pieces_->id(character);
        word.remove_prefix(length);
        if (id == Pieces::kNone) {
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

void BpeModel::append_unknown(std::string_view character, bool& waits, std::vector<int32_t>& ids) const {
    const auto id_of = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    const bool as_bytes = options_.byte_fallback && !options_.byte_level &&
                          std::all_of(character.begin(), character.end(),
                                      [&](char byte) { return id_of(byte) != Pieces::kNone; });
    if (as_bytes)
        std::transform(character.begin(), character.end(), std::back_inserter(ids), id_of);
    else if (unk_ != Pieces::kNone && std::exchange(waits, true) && !options_.fuse_unk)
        ids.push_back(unk_);
}

bool keeps_apart(const BpeModel::Rules& rules, std::string_view mark) {
    return std::none_of(rules.begin(), rules.end(), [&](const auto& rule) {
        return !rule.first.ends_with(mark) && rule.second.starts_with(mark);
    });
}

}  // namespace plaingrad::models::text::pretrained
