// Tokenizers that are learned from texts. Ids 0 to 3 are <pad> <sos> <eos> <unk> (specials.h). No piece of a
// text gets one of the first three; `lines` and `first` put <sos> before a text. WordPiece and byte pairs,
// which are for models of others, have other special tokens.
#pragma once

#include "models/text/specials.h"
#include "models/text/tokenizer.h"

namespace plaingrad::models::text {

// Each character of UTF-8 is a token; ids in ascending order from 4 on. lines: a text is one line, between
// <sos> and <eos>; its ids have the <sos>.
Tokenizer learn_characters(const std::vector<std::string_view>& texts, bool lines = false);
// Each byte: id 4 + byte. Any text can be read, and nothing is unknown.
Tokenizer bytes(bool lines = false);

// Whole words, separated by spaces, in the order of their first occurrence.
Tokenizer learn_words(const std::vector<std::string_view>& texts);

struct PieceOptions {
    bool bytes = false;      // pieces are sequences of bytes, as GPT-2's, rather than of characters
    bool tokenized = false;  // the text is in tokens already, separated by spaces
    bool lower_case = false;
    int64_t merges = 8000;  // 0: characters, or single bytes
    int64_t min_count = 1;  // rarer pieces of words are split further if possible, or else unknown
    bool dropout = false;   // the vocabulary gets every piece that may occur when merges are skipped
    std::string codes = {},
                codes_file = {};  // merges as learn-bpe writes them, of characters; "": they are learned
};
// Pieces of words by byte-pair encoding: of all languages together, so that names and numbers can be copied.
// Throws Error for codes that cannot be read.
Tokenizer learn_pieces(const std::vector<std::string_view>& texts, const PieceOptions& options);

struct FeatureLearning {
    int64_t min_count = 2, pairs = 3;  // how often words and pairs must occur to get an id; pairs 0: none
    int64_t max_words = 128;           // only so many words of a text are read
    bool keep_case = false;
    bool first = false;  // each text begins with <sos>
};
// What a classifier reads (models/text/tokenizer/model.h). Every text has at most kIdsPerWord ids a word.
constexpr int64_t kIdsPerWord = 4;
Tokenizer learn_features(const std::vector<std::string>& texts, const FeatureLearning& options);

// For models of others. BERT's WordPiece, of at most `size` pieces: [PAD] [UNK] [CLS] [SEP] [MASK], the most
// frequent characters that fit, and what pairs become that are joined, the most frequent first. (Schuster &
// Nakajima 2012, "Japanese and Korean Voice Search", §2, join the pairs that make the text most probable.) A
// character counts twice if it both begins and continues words. left_out: receives how many did not fit.
Tokenizer learn_word_piece(std::string_view text, int64_t size, int64_t* left_out = nullptr);
// GPT-2's: 256 bytes, the pairs that are merged, and last "<|endoftext|>".
Tokenizer learn_byte_pairs(std::string_view text, int64_t merges);

// tokenizer_config.json, by which transformers knows the special tokens: {"eos_token", "<|endoftext|>"} and
// so on. max_length: of a text, in tokens. Throws FileError.
void save_tokenizer_config(const std::string& folder, const std::string& tokenizer_class, int64_t max_length,
                           const std::vector<std::pair<std::string, std::string>>& tokens);

// For ids that a learned tokenizer makes of `text`: throws Error naming `where`, the line and the position
// in it, for the first character that is unknown, if `ids` has one.
void check_known(const Tokenizer& tokenizer, std::string_view text, const std::vector<int32_t>& ids,
                 const std::string& where, int64_t line = 1);

}  // namespace plaingrad::models::text
