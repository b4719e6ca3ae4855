// Everything that a tokenizer.json says: how it is read, and how ours are written.
#pragma once

#include <variant>

#include "models/text/tokenizer/bpe.h"
#include "models/text/tokenizer/decoder.h"
#include "models/text/tokenizer/features.h"
#include "models/text/tokenizer/learn_merges.h"
#include "models/text/tokenizer/special_tokens.h"
#include "models/text/tokenizer/splitter.h"

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
    std::variant<WordLevel, WordPiece, Bpe, Features> model;
    Template around;
    Decoder decoder;

    Strings tokens;             // the piece or added token of each id, as the decoder wants it
    std::vector<bool> special;  // whether an id is left out when a text is decoded without special tokens
    int32_t unk = Vocabulary::kNone;  // the model's id of what is unknown
};

// Throws FileError naming `where`, the file, and the field for what cannot be read and for what is not
// supported.
Pipeline read_pipeline(const std::string& json, const std::string& where);

// ---- a tokenizer.json as text, of members that are texts in JSON

struct FileText {
    std::string model = {}, normalizer = "null", pre_tokenizer = "null", post_processor = "null",
                decoder = "null";
    std::vector<AddedToken> added_tokens = {};
};
std::string json_of(const FileText& file);

// "model": its type and options, as "type":"BPE", and pieces with the ids 0, 1, 2 and so on.
std::string model_text(const std::string& options, const Strings& pieces);
std::string bpe_text(const std::string& options, const Strings& pieces,
                     const std::vector<MergeRule>& rules = {});

// BERT's: "[CLS] A [SEP] B [SEP]", and what its normalizer does.
struct BertText {
    std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]";
    int64_t cls_id = 2, sep_id = 3;
    bool lower_case = true, strip_accents = true, chinese = true;
};
FileText bert_text(const Strings& pieces, const BertText& options = {});

}  // namespace plaingrad::models::text::tokenizer
