// Everything that a folder from Hugging Face says about its tokenizer.
#pragma once

#include "models/text/pretrained/added_tokens.h"
#include "models/text/pretrained/decoder.h"
#include "models/text/pretrained/normalizer.h"
#include "models/text/pretrained/pre_tokenizer.h"
#include "models/text/pretrained/template.h"

namespace plaingrad::models::text::pretrained {

// A text goes through these from top to bottom, its ids come back through the decoder. BERT's, for example:
//
//     Unaffable!         the text
//     unaffable!         after the normalizer
//     unaffable  !       words, after the pre-tokenizer
//     un ##aff ##able !  pieces, after the `model`, which is here what splits words (BPE, WordPiece)
//     [CLS] ... [SEP]    with what stands around a text
struct Pipeline {
    AddedTokens added;
    Normalizer normalizer;
    PreTokenizer pre_tokenizer;
    std::function<void(std::string_view word, std::vector<int32_t>& ids)> model;  // appends the ids of a word
    Template around;
    Decoder decoder;

    bool is_bpe = false;

    std::vector<std::string> tokens;  // the piece or added token of each id, as the decoder wants it
    std::vector<bool> special;  // whether an id is left out when a text is decoded without special tokens
};

// Both throw FileError naming the file and the field.
Pipeline from_tokenizer_json(const std::string& path);
// Of a folder without one: GPT-2's or Qwen2's vocab.json and merges.txt, or BERT's vocab.txt, with what
// tokenizer_config.json says, if there is one.
Pipeline from_vocabulary_files(const std::string& folder);

}  // namespace plaingrad::models::text::pretrained
