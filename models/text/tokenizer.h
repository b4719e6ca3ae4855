// From a text to ids, and back. One class, whether a tokenizer was learned here
// (models/text/learn_tokenizer.h) or comes from Hugging Face; and one file, tokenizer.json. The library
// `tokenizers` opens it with the same ids, unless it has a type of ours (pipeline.cpp lists them).
//
//     const auto tokenizer = text::Tokenizer::open("gpt2");   // a folder
//     tokenizer.encode("hello world")        // {31373, 995}
//     tokenizer.decode({31373, 995})         // "hello world"
//
// A text is normalized, split into words, and each word becomes ids by the model: byte-level BPE (GPT-2,
// Llama 3, Qwen2, SmolLM), BPE of characters that falls back to bytes (Llama 2, Mistral), WordPiece (BERT),
// whole words; or one of ours, which only this library reads: BPE as subword-nmt's, and the features of a
// classifier (models/text/tokenizer/model.h). Anything else is refused by name. No chat
// templates: a text is encoded as it is.
//
// A text need not be UTF-8. Where the model reads bytes, or falls back to them, each byte has its id; BERT
// leaves out what is not UTF-8.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/random.h"
#include "models/text/lines.h"

namespace plaingrad::models::text {

namespace tokenizer {
struct Pipeline;
}  // namespace tokenizer

struct EncodeOptions {
    bool add_special_tokens = true;  // such as [CLS] and [SEP], or the start of a text
    // At most so many ids, special tokens included; 0: all. What is longer loses its end; of two texts the
    // longer one, and when both are equally long, both (as "longest_first" in transformers). Throws Error if
    // the special tokens alone are more.
    int64_t max_length = 0;
    // For training, a probability: how likely a merge of BPE is skipped (Provilkov et al. 2020), or a word
    // of a classifier is left out. The same rng gives the same ids.
    double dropout = 0;
    autograd::Rng rng = autograd::Rng(0);
};
struct DecodeOptions {
    bool skip_special_tokens = false;
    // "do n't ." becomes "don't." BPE ignores it, as in transformers. Without a value, tokenizer_config.json
    // decides.
    std::optional<bool> clean_up_tokenization_spaces = std::nullopt;
    InvalidUtf8 invalid = InvalidUtf8::replace;  // as Python does; or keep the bytes that the ids stand for
    std::vector<std::string> unknown = {};  // what to write for the unknown id, by its place; else its name
};

// Ids, and for each the text to which it belongs (BERT's token types, 0 and 1).
struct Encoding {
    std::vector<int32_t> ids = {}, type_ids = {};
    bool cut = false;  // whether a text lost its end
};

class Tokenizer {
public:
    // From a folder's tokenizer.json; or from vocab.json with merges.txt, or vocab.txt, each with
    // added_tokens.json if there is one. Throws FileError naming the file and the field for what cannot be
    // read and for what is not supported.
    static Tokenizer open(const std::string& folder);
    // From the text of a tokenizer.json. Throws FileError naming `where`.
    explicit Tokenizer(std::string json, const std::string& where = "tokenizer.json");
    // Writes tokenizer.json. Throws FileError.
    void save(const std::string& folder) const;
    const std::string& json() const { return *json_; }

    std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
    // One text, or two, with what the model wants around and between them.
    Encoding encode_texts(const std::vector<std::string_view>& texts,
                          const EncodeOptions& options = {}) const;
    // What the ids of a text stand for, without special tokens: pieces as the vocabulary has them, and what
    // is unknown as it is in the text.
    std::vector<std::string> pieces(std::string_view text) const;
    // A text's words, before the model.
    std::vector<std::string> words(std::string_view text) const;

    // Throws Error for an id out of range.
    std::string decode(const std::vector<int32_t>& ids, const DecodeOptions& options = {}) const;

    // The number of ids: each id is less.
    int64_t size() const;
    const std::string& piece(
        int32_t id) const;  // what the decoder gets. Throws Error for an id out of range.
    // The id of a piece or added token, as `piece` has it: "<|endoftext|>"; nothing if there is none.
    std::optional<int32_t> id(std::string_view token) const;
    // The token that tokenizer_config.json names, such as "eos_token"; nothing if it names none. It is not
    // always what its id is decoded to: a token that is normalized may be in lower case there.
    std::optional<std::string> named(std::string_view name) const;
    // The id of what is unknown; nothing if the model has none.
    std::optional<int32_t> unknown() const;

    bool is_byte_level() const;  // its pieces are sequences of bytes
    bool is_lower_case() const;  // as `translate train --lower-case`
    bool is_tokenized() const;   // words are separated by spaces, in raw text they are not
    // Of a classifier's features: how many words of a text are read; else 0.
    int64_t max_words() const;

    // Writes a text while its ids come, one after the other. All that is returned, put together, is what
    // `decode` returns without cleaning up; but of bytes that are no UTF-8 each run becomes U+FFFD.
    class Stream {
    public:
        explicit Stream(const Tokenizer& tokenizer, bool skip_special_tokens = true)
            : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}
        // What this id adds to the text. The bytes of an unfinished character wait for the next ids.
        std::string add(int32_t id);
        std::string finish();  // what still waits

    private:
        std::string waiting() const;

        const Tokenizer& tokenizer_;
        bool skip_special_tokens_;
        // The ids that wait, behind some that are written: whether a space is between depends on these.
        std::vector<int32_t> ids_;
        std::size_t written_ = 0;
    };

private:
    std::vector<std::string> tokens(const std::vector<int32_t>& ids, const DecodeOptions& options) const;

    std::shared_ptr<const std::string> json_;
    std::shared_ptr<const tokenizer::Pipeline> pipeline_;
    std::map<std::string, std::string, std::less<>> named_;  // of tokenizer_config.json
    bool clean_up_ = false;
};

// Strings that end a text while it is being written: it ends before the first of them. Its pieces come one
// after the other, and may cut a string anywhere: so the end of what has come is held back as long as it may
// be the beginning of such a string. Of several strings the one that is complete first counts; of those that
// end at the same byte, the longest.
class Stops {
public:
    // Throws Error for an empty string.
    explicit Stops(std::vector<std::string> strings);

    // What is now known to belong to the text. Once a string was found, nothing does.
    std::string add(std::string_view piece);
    bool found() const { return found_; }
    std::string finish();  // what was held back, if the text ends here

private:
    std::vector<std::string> strings_;
    std::string held_;
    bool found_ = false;
};

}  // namespace plaingrad::models::text
