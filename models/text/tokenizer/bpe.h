// Byte-pair encoding: the symbols of a word are merged, pair by pair, as long as a rule applies. A rule says
// which two symbols are merged; its rank is its place in the list. Sennrich, Haddow & Birch 2016, "Neural
// Machine Translation of Rare Words with Subword Units", §3.2. At first the symbols are bytes (GPT-2, Llama
// 3, Qwen2), or characters (Llama 2: without a piece, their bytes), or characters with `</w>` on a word's
// last one (subword-nmt).
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "models/text/tokenizer/pair_table.h"
#include "models/text/tokenizer/vocabulary.h"

namespace plaingrad::models::text::tokenizer {

struct BpeOptions {
    bool byte_level = false;     // words are bytes, written as in models/text/tokenizer/byte_alphabet.h
    bool byte_fallback = false;  // a character without a piece becomes pieces <0x00> to <0xFF>
    bool fuse_unk = false;       // unknown characters in a row become one piece
    bool ignore_merges = false;  // a word that is a piece becomes that piece, whatever the merges say
    std::string unk_token;       // for unknown characters; if empty, they are left out
    std::string end_of_word;     // what is appended to a word's last character, as "</w>"
    // Ids 0 to 3 are reserved: no text has them, whatever their names are. Rules may make pieces that the
    // vocabulary lacks. Such a piece is split again into the two that its rule has joined, and these again,
    // as subword-nmt does with --vocabulary.
    bool splits_again = false;
};

class Bpe {
public:
    using Rule = std::pair<std::string_view, std::string_view>;
    using Rules = std::vector<Rule>;
    // A rule that is written as "a b"; nothing if there are not two pieces.
    static std::optional<Rule> rule(std::string_view text);

    // Rules in the order of their ranks. If a pair comes twice, its last rank counts, as in `tokenizers`; or
    // the first where pieces split again, as in subword-nmt. Throws FileError
    // naming `where` for an unk_token without an id; and, unless it splits again, for a rule whose pieces, or
    // what they make, have none.
    Bpe(std::shared_ptr<Vocabulary> pieces, BpeOptions options, const Rules& rules, const std::string& where);

    // Appends the ids of a word.
    void append(std::string_view word, std::vector<int32_t>& ids, Dropout& dropout) const;

    const BpeOptions& options() const { return options_; }
    int32_t unk() const { return unk_; }

private:
    std::vector<int32_t> symbols(std::string_view word) const;
    void add_rule(const Rule& rule, int32_t rank, const std::string& where);
    void append_known(int32_t symbol, std::vector<int32_t>& ids) const;
    void append_unknown(std::string_view character, bool& waits, std::vector<int32_t>& ids) const;

    std::shared_ptr<Vocabulary> pieces_;
    // Symbols from size_ on are no pieces of the vocabulary. made_of_ has the two that each was made of; a
    // character was made of none.
    int32_t size_;
    std::vector<std::pair<int32_t, int32_t>> made_of_;
    BpeOptions options_;
    PairTable pairs_;
    int32_t unk_ = Vocabulary::kNone;
    int32_t bytes_[256];  // the id of each byte, as a symbol or where characters have none
};

// Whether no rule crosses from another character to a `mark`, such as U+2581 for a space: then a text may be
// cut before each mark, into words that are encoded one by one.
bool keeps_apart(const Bpe::Rules& rules, std::string_view mark);

}  // namespace plaingrad::models::text::tokenizer
