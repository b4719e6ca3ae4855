// The tokenizer of a model from Hugging Face, read from the files that come along with it: ids are those of
// the library `tokenizers`, on every text.
//
//     const PretrainedTokenizer tokenizer = PretrainedTokenizer::open("gpt2");   // a folder
//     tokenizer.encode("hello world")        // {31373, 995}
//     tokenizer.decode({31373, 995})         // "hello world"
//
// What is read: byte-level BPE (GPT-2, Llama 3, Qwen2, SmolLM), BPE of characters that falls back to bytes
// (Llama 2, Mistral), and WordPiece (BERT); from tokenizer.json, or from vocab.json with merges.txt or
// vocab.txt, each with added_tokens.json if there is one. Anything else is refused by name. No chat
// templates: a text is encoded as it is.
//
// A text need not be UTF-8. Where the model reads bytes, or falls back to them, each byte has its id; BERT
// leaves out what is not UTF-8.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/lines.h"
#include "models/text/pretrained/pipeline.h"

namespace plaingrad::models::text {

struct EncodeOptions {
    bool add_special_tokens = true;  // such as [CLS] and [SEP], or the start of a text
    // At most so many ids, special tokens included; 0: all. What is longer loses its end; of two texts the
    // longer one, and when both are equally long, both (as "longest_first" in transformers). Throws Error if
    // the special tokens alone are more.
    int64_t max_length = 0;
};
struct DecodeOptions {
    bool skip_special_tokens = false;
    // "do n't ." becomes "don't." Not in BPE, as in transformers. Nothing: as tokenizer_config.json has it.
    std::optional<bool> clean_up_tokenization_spaces = std::nullopt;
    InvalidUtf8 invalid = InvalidUtf8::replace;  // as Python does; or keep the bytes that the ids stand for
};

class PretrainedTokenizer {
public:
    // Throws FileError naming the file and the field for what cannot be read and for what is not supported.
    static PretrainedTokenizer open(const std::string& folder);

    std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

    using Encoding = pretrained::Encoding;
    // One text, or two, with what the model wants around and between them.
    Encoding encode_texts(const std::vector<std::string_view>& texts,
                          const EncodeOptions& options = {}) const;
    Encoding encode_pair(std::string_view first, std::string_view second,
                         const EncodeOptions& options = {}) const;

    // Throws Error for an id out of range.
    std::string decode(const std::vector<int32_t>& ids, const DecodeOptions& options = {}) const;

    // The number of ids: each id is less.
    int64_t size() const;
    // The id of a piece or added token, as the files have it: "<|endoftext|>"; nothing if there is none.
    std::optional<int32_t> id(std::string_view token) const;
    // The token that tokenizer_config.json names, such as "eos_token"; nothing if it names none.
    std::optional<int32_t> special(std::string_view name) const;

    // Writes a text while its ids come, one after the other. All that is returned, put together, is what
    // `decode` returns without cleaning up; but of bytes that are no UTF-8 each run becomes U+FFFD.
    class Stream {
    public:
        explicit Stream(const PretrainedTokenizer& tokenizer, bool skip_special_tokens = true)
            : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}
        // What this id adds to the text. The bytes of an unfinished character wait for the next ids.
        std::string add(int32_t id);
        std::string finish();  // what still waits

    private:
        std::string waiting() const;

        const PretrainedTokenizer& tokenizer_;
        bool skip_special_tokens_;
        // The ids that wait, behind some that are written: whether a space is between depends on these.
        std::vector<int32_t> ids_;
        std::size_t written_ = 0;
    };

private:
    std::vector<int32_t> ids_of(std::string_view text) const;
    std::vector<std::string> tokens(const std::vector<int32_t>& ids, bool skip_special_tokens) const;

    std::shared_ptr<const pretrained::Pipeline> pipeline_;
    std::map<std::string, int32_t, std::less<>> named_;  // of tokenizer_config.json
    bool clean_up_ = false;
};

}  // namespace plaingrad::models::text
