// WordPiece: a word is written with the longest piece that it begins with, then the longest that the rest
// begins with, and so on. Wu et al. 2016, "Google's Neural Machine Translation System", §4.1; as BERT has it.
#pragma once

#include <memory>

#include "models/text/tokenizer/vocabulary.h"

namespace plaingrad::models::text::tokenizer {

struct WordPieceOptions {
    std::string unk_token = "[UNK]";               // for a whole word, if a part of it has no piece
    std::string continuing_subword_prefix = "##";  // what pieces begin with inside of a word
    int64_t max_input_chars_per_word = 100;        // longer words are unknown
};

class WordPiece {
public:
    // Throws FileError naming `where` if unk_token has no id.
    WordPiece(std::shared_ptr<const Vocabulary> pieces, WordPieceOptions options, const std::string& where);

    // Appends the ids of a word.
    void append(std::string_view word, std::vector<int32_t>& ids) const;
    int32_t unk() const { return unk_; }

private:
    std::shared_ptr<const Vocabulary> pieces_;
    WordPieceOptions options_;
    int32_t unk_;
};

// Whole words: each has an id, or is unknown.
class WordLevel {
public:
    // Throws FileError naming `where` if unk_token has no id.
    WordLevel(std::shared_ptr<const Vocabulary> words, const std::string& unk_token,
              const std::string& where);

    void append(std::string_view word, std::vector<int32_t>& ids) const;
    int32_t unk() const { return unk_; }

private:
    std::shared_ptr<const Vocabulary> words_;
    int32_t unk_;
};

}  // namespace plaingrad::models::text::tokenizer
