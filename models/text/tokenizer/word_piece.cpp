#include "models/text/tokenizer/word_piece.h"

#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {

WordLevel::WordLevel(std::shared_ptr<const Vocabulary> words, const std::string& unk_token,
                     const std::string& where)
    : words_(std::move(words)), unk_(words_->id_of_unk(unk_token, where)) {}

void WordLevel::append(std::string_view word, std::vector<int32_t>& ids) const {
    const int32_t id = words_->id(word);
    ids.push_back(id == Vocabulary::kNone ? unk_ : id);
}

WordPiece::WordPiece(std::shared_ptr<const Vocabulary> pieces, WordPieceOptions options,
                     const std::string& where)
    : pieces_(std::move(pieces)),
      options_(std::move(options)),
      unk_(pieces_->id_of_unk(options_.unk_token, where)) {}

void WordPiece::append(std::string_view word, std::vector<int32_t>& ids) const {
    const std::size_t before = ids.size();
    bool known = static_cast<int64_t>(nn::columns_of(word)) <= options_.max_input_chars_per_word;
    std::string part(word);  // what is left, with the prefix
    for (std::size_t prefix = 0; known && part.size() > prefix;) {
        std::size_t end = part.size();
        int32_t id = pieces_->id(part);
        while (id == Vocabulary::kNone && --end > prefix)
            id = pieces_->id(std::string_view(part).substr(0, end));
        known = id != Vocabulary::kNone;
        if (known)
            ids.push_back(id);
        prefix = options_.continuing_subword_prefix.size();
        part.replace(0, end, options_.continuing_subword_prefix);
    }
    if (!known) {
        ids.resize(before);
        ids.push_back(unk_);
    }
}

}  // namespace plaingrad::models::text::tokenizer
