// The text of a tokenizer.json, from its parts.
#pragma once

#include <string>
#include <vector>

#include "models/text/tokenizer/added_tokens.h"
#include "models/text/tokenizer/learn_merges.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::JsonText;
using Members = std::vector<JsonText::Member>;

struct FileText {
    JsonText model = nullptr, normalizer = nullptr, pre_tokenizer = nullptr, post_processor = nullptr,
             decoder = nullptr, added_tokens = JsonText::array({});
    std::string json() const;
};

// A member of "added_tokens".
JsonText text_of(const AddedToken& token);

// "model", with what each type has besides its vocabulary, where pieces have the ids 0, 1, 2 and so on.
JsonText bpe_text(const std::string& type, const std::vector<std::string>& pieces,
                  const std::vector<MergeRule>& rules, Members options = {});
JsonText model_text(const std::string& type, const std::vector<std::string>& pieces, Members options);

// BERT's: "[CLS] A [SEP] B [SEP]", and what its normalizer does.
struct BertText {
    std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]";
    int64_t cls_id = 2, sep_id = 3;
    bool lower_case = true, strip_accents = true, chinese = true;
};
FileText bert_text(const std::vector<std::string>& pieces, const BertText& options);

}  // namespace plaingrad::models::text::tokenizer
