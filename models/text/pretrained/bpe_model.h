// Byte-pair encoding with the ids of a file: GPT-2's, Llama's. The symbols that a word consists of before any
// merge are bytes (GPT-2, Llama 3, Qwen2), or characters (Llama 2), of which those that have no piece are
// written as bytes.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "models/text/pair_table.h"
#include "models/text/pretrained/part.h"
#include "models/text/pretrained/pieces.h"

namespace plaingrad::models::text::pretrained {

struct BpeOptions {
    bool byte_level = false;     // words are bytes, written as in models/text/byte_alphabet.h
    bool byte_fallback = false;  // a character without a piece becomes pieces <0x00> to <0xFF>
    bool fuse_unk = false;       // unknown characters in a row become one piece
    bool ignore_merges = false;  // a word that is a piece becomes that piece, whatever the merges say
    std::string unk_token;       // for unknown characters; if empty, they are left out
};

class BpeModel {
public:
    using Rule = std::pair<std::string_view, std::string_view>;
    using Rules = std::vector<Rule>;
    // A rule that is written as "a b"; nothing if there are not two pieces.
    static std::optional<Rule> rule(std::string_view text);

    // Rules in the order of their ranks. If a pair comes twice, its last rank counts. Throws FileError
    // naming `where` for an unk_token without an id, and for a rule whose pieces, or what they make, have
    // none.
    BpeModel(std::shared_ptr<const Pieces> pieces, BpeOptions options, const Rules& rules,
             const std::string& where);

    // Appends the ids of a word.
    void append(std::string_view word, std::vector<int32_t>& ids) const;

private:
    std::vector<int32_t> symbols(std::string_view word) const;
    void append_unknown(std::string_view character, bool& waits, std::vector<int32_t>& ids) const;

    std::shared_ptr<const Pieces> pieces_;
    BpeOptions options_;
    PairTable pairs_;
    int32_t unk_ = Pieces::kNone;
    int32_t bytes_[256];  // the id of each byte, as a symbol or where characters have none
};

// Whether no rule crosses from another character to a `mark`, such as U+2581 for a space: then a text may be
// cut before each mark, into words that are encoded one by one.
bool keeps_apart(const BpeModel::Rules& rules, std::string_view mark);

}  // namespace plaingrad::models::text::pretrained
