// Byte-pair encoding that gives back any bytes as they were: GPT-2's. Radford et al. 2019, "Language Models
// are Unsupervised Multitask Learners", §2.2.
//
//     ByteBpe bpe = ByteBpe::from_merges(read_file("vocab.bpe"), "vocab.bpe");  // GPT-2's file
//     bpe.encode("hello world")        // {31373, 995}
//     bpe.decode({31373, 995})         // "hello world"
#pragma once

#include "models/text/merges.h"

namespace plaingrad::models::text {

// Text is cut into pre-tokens, which are encoded one by one. This is the first of a text, by GPT-2's pattern
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A byte that is not UTF-8 is taken for a sign, as a comma is. The text is not empty.
std::string_view first_pre_token(std::string_view text);

// Ids 0 to 255 are bytes, those that Latin-1 shows before the others ("!" is 0, a line break 198, a space
// 220); from 256 on they are what the merges make, in their order. The last one is "<|endoftext|>", which
// encode never gives. Nothing is reserved: in a model whose ids 0 to 3 are, these are to be moved by
// kFirstFreeId.
class ByteBpe {
public:
    ByteBpe();  // no merges yet: all 256 bytes

    // As Bpe::learn; the words are the text's pre-tokens.
    static ByteBpe learn(std::string_view text, int64_t merges, int64_t min_count = 2);

    // What is written in a file of merges: see Merges::text. A byte that Latin-1 shows is written as that
    // character, the others as those from U+0100 on (a space is U+0120). Throws Error naming `where` and the
    // line.
    static ByteBpe from_merges(std::string_view merges, const std::string& where);
    std::string merges() const { return merges_.text(); }

    int64_t size() const { return merges_.symbols.size() - kFirstFreeId + 1; }  // ids are below it
    int32_t end_of_text() const { return static_cast<int32_t>(size()) - 1; }

    std::vector<int32_t> encode(std::string_view text) const;
    // All bytes again. Those of one id need not be UTF-8. Throws Error for an id out of range.
    std::string decode(const std::vector<int32_t>& ids) const;

private:
    std::vector<Symbol> symbols(std::string_view bytes) const;

    Merges merges_;
    int32_t symbols_[256];  // of bytes
    std::string bytes_;     // by id
};

}  // namespace plaingrad::models::text
