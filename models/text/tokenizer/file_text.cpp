#include "models/text/tokenizer/file_text.h"

#include "autograd/base/check.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

using autograd::join;
using nn::checkpoint::quote;

std::string FileText::json() const {
    return join(R"({"version": "1.0", "truncation": null, "padding": null,)",
                "\n\"added_tokens\": ", added_tokens, ",\n\"normalizer\": ", normalizer,
                ",\n\"pre_tokenizer\": ", pre_tokenizer, ",\n\"post_processor\": ", post_processor,
                ",\n\"decoder\": ", decoder, ",\n\"model\": ", model, "}\n");
}

static std::string vocabulary_text(const std::vector<std::string>& pieces) {
    std::string text;
    for (std::size_t id = 0; id < pieces.size(); ++id)
        text.append(id == 0 ? "{" : ",\n").append(quote(pieces[id])).append(": ").append(std::to_string(id));
    return text + "}";
}

std::string bpe_text(const std::string& type, const std::vector<std::string>& pieces,
                     const std::vector<MergeRule>& rules, const std::string& options) {
    std::string merges;
    for (const auto& [left, right] : rules)
        merges.append(merges.empty() ? "" : ",\n").append(quote(left + " " + right));
    return join(R"({"type": )", quote(type), options, ",\n\"vocab\": ", vocabulary_text(pieces),
                ",\n\"merges\": [", merges, "]}");
}

std::string model_text(const std::string& type, const std::vector<std::string>& pieces,
                       const std::string& unk_token, const std::string& options) {
    return join(R"({"type": )", quote(type), R"(, "unk_token": )", quote(unk_token), options,
                ",\n\"vocab\": ", vocabulary_text(pieces), "}");
}

FileText bert_text(const std::vector<std::string>& pieces, const BertText& o) {
    const auto flag = [](bool is) { return is ? "true" : "false"; };
    const auto with_id = [](const std::string& token, int64_t id) {
        return join("[", quote(token), ", ", id, "]");
    };
    return {.model = model_text("WordPiece", pieces, o.unk,
                                R"(, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100)"),
            .normalizer = join(R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": )",
                               flag(o.chinese), R"(, "strip_accents": )", flag(o.strip_accents),
                               R"(, "lowercase": )", flag(o.lower_case), "}"),
            .pre_tokenizer = R"({"type": "BertPreTokenizer"})",
            .post_processor = join(R"({"type": "BertProcessing", "sep": )", with_id(o.sep, o.sep_id),
                                   R"(, "cls": )", with_id(o.cls, o.cls_id), "}"),
            .decoder = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})"};
}

}  // namespace plaingrad::models::text::tokenizer
