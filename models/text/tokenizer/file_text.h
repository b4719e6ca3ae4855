// The text of a tokenizer.json, from its parts.
#pragma once

#include <string>
#include <vector>

#include "models/text/tokenizer/learn_merges.h"

namespace plaingrad::models::text::tokenizer {

// Each part is JSON.
struct FileText {
    std::string model = {}, normalizer = "null", pre_tokenizer = "null", post_processor = "null",
                decoder = "null", added_tokens = "[]";
    std::string json() const;
};

// "model", with what each type has besides its vocabulary, where pieces have the ids 0, 1, 2 and so on.
// options: more members, each with a comma before it.
std::string bpe_text(const std::string& type, const std::vector<std::string>& pieces,
                     const std::vector<MergeRule>& rules, const std::string& options = "");
std::string model_text(const std::string& type, const std::vector<std::string>& pieces,
                       const std::string& unk_token, const std::string& options = "");

// BERT's: "[CLS] A [SEP] B [SEP]", and what its normalizer does.
struct BertText {
    std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]";
    int64_t cls_id = 2, sep_id = 3;
    bool lower_case = true, strip_accents = true, chinese = true;
};
FileText bert_text(const std::vector<std::string>& pieces, const BertText& options);

}  // namespace plaingrad::models::text::tokenizer
