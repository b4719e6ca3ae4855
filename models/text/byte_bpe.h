// GPT-2's byte-pair encoding, which encodes and restores any sequence of bytes. Radford et al. 2019,
// "Language Models are Unsupervised Multitask Learners", §2.2.
//
//     ByteBpe bpe = ByteBpe::from_merges(read_file("vocab.bpe"), "vocab.bpe");  // GPT-2's file
//     bpe.encode("hello world")        // {31373, 995}
//     bpe.decode({31373, 995})         // "hello world"
#pragma once

#include "models/text/byte_alphabet.h"
#include "models/text/merges.h"
#include "models/text/pre_tokens.h"

namespace plaingrad::models::text {

// Ids 0 to 255 are bytes, the printable ones of Latin-1 first ("!" is 0, a line break 198, a space 220); ids
// from 256 on are made by the merges, in their order. The last id is "<|endoftext|>", which `encode` never
// returns. No id is reserved: for a model whose ids 0 to 3 are, add kFirstFreeId to each.
class ByteBpe {
public:
    ByteBpe();  // no merges yet: all 256 bytes

    // As Bpe::learn, with the text's pre-tokens as words.
    static ByteBpe learn(std::string_view text, int64_t merges, int64_t min_count = 2);

    // From the text of a file of merges: see Merges::text. Bytes are written as in
    // models/text/byte_alphabet.h. Throws Error naming `where` and the line.
    static ByteBpe from_merges(std::string_view merges, const std::string& where);
    std::string merges() const { return merges_.text(); }

    int64_t size() const { return merges_.symbols.size() - kFirstFreeId + 1; }  // ids are below it
    int32_t end_of_text() const { return static_cast<int32_t>(size()) - 1; }

    // Writes vocab.json, merges.txt and tokenizer_config.json, from which PretrainedTokenizer, and
    // transformers' GPT2Tokenizer, make the same ids. max_length: of a text, in tokens. Throws FileError.
    void save(const std::string& folder, int64_t max_length) const;

    std::vector<int32_t> encode(std::string_view text) const;
    // Restores the bytes. Those of a single id may be invalid UTF-8. Throws Error for an id out of range.
    std::string decode(const std::vector<int32_t>& ids) const;

private:
    std::vector<int32_t> symbols(std::string_view bytes) const;

    Merges merges_;
    int32_t symbols_[256];  // the symbol of each byte
};

}  // namespace plaingrad::models::text
