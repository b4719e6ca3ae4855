// Everything that a tokenizer.json says.
#pragma once

#include <algorithm>
#include <variant>

#include "models/text/tokenizer/added_tokens.h"
#include "models/text/tokenizer/bpe.h"
#include "models/text/tokenizer/decoder.h"
#include "models/text/tokenizer/features.h"
#include "models/text/tokenizer/normalizer.h"
#include "models/text/tokenizer/splitter.h"
#include "models/text/tokenizer/template.h"
#include "models/text/tokenizer/word_piece.h"

namespace plaingrad::models::text::tokenizer {

// First added tokens are taken out of a text; then it goes through these from top to bottom. Ids come back
// through the decoder. BERT's, for example:
//
//     Unaffable!         the text
//     unaffable!         after the normalizer
//     unaffable  !       words, after the splitter
//     un ##aff ##able !  pieces, after the model
//     [CLS] ... [SEP]    with what stands around a text
struct Pipeline {
    AddedTokens added;
    Normalizer normalizer;
    Splitter splitter;
    std::variant<std::monostate, Bpe, WordPiece, WordLevel, Features> model;  // monostate: not read yet
    Template around;
    Decoder decoder;

    std::vector<std::string> tokens;  // the piece or added token of each id, as the decoder wants it
    std::vector<bool> special;  // whether an id is left out when a text is decoded without special tokens
};

// Whether one of a normalizer's, splitter's or decoder's steps is of this kind.
template <class Kind, class Part>
bool has(const Part& part) {
    return std::any_of(part.steps.begin(), part.steps.end(),
                       [](const auto& step) { return std::holds_alternative<Kind>(step); });
}

// Throws FileError naming `where`, the file, and the field for what cannot be read and for what is not
// supported.
Pipeline read_pipeline(const std::string& json, const std::string& where);

}  // namespace plaingrad::models::text::tokenizer
