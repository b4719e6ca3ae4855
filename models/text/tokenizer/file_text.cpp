#include "models/text/tokenizer/file_text.h"

namespace plaingrad::models::text::tokenizer {

// A piece and a merge a line, as people look for them.
std::string FileText::json() const {
    return JsonText::object({{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens", added_tokens},
                             {"normalizer", normalizer},
                             {"pre_tokenizer", pre_tokenizer},
                             {"post_processor", post_processor},
                             {"decoder", decoder},
                             {"model", model}},
                            true)
               .text +
           "\n";
}

JsonText text_of(const AddedToken& token) {
    return JsonText::object({{"id", token.id},
                             {"content", token.content},
                             {"single_word", token.single_word},
                             {"lstrip", token.lstrip},
                             {"rstrip", token.rstrip},
                             {"normalized", token.normalized},
                             {"special", token.special}});
}

JsonText model_text(const std::string& type, const std::vector<std::string>& pieces, Members options) {
    Members vocabulary;
    for (const std::string& piece : pieces)
        vocabulary.emplace_back(piece, vocabulary.size());
    options.insert(options.begin(), {"type", type});
    options.emplace_back("vocab", JsonText::object(vocabulary, true));
    return JsonText::object(options);
}

JsonText bpe_text(const std::string& type, const std::vector<std::string>& pieces,
                  const std::vector<MergeRule>& rules, Members options) {
    std::vector<JsonText> merges;
    for (const auto& [left, right] : rules)
        merges.emplace_back(left + " " + right);
    options.emplace_back("merges", JsonText::array(merges, true));
    return model_text(type, pieces, std::move(options));
}

FileText bert_text(const std::vector<std::string>& pieces, const BertText& o) {
    return {
        .model = model_text(
            "WordPiece", pieces,
            {{"unk_token", o.unk}, {"continuing_subword_prefix", "##"}, {"max_input_chars_per_word", 100}}),
        .normalizer = JsonText::object({{"type", "BertNormalizer"},
                                        {"clean_text", true},
                                        {"handle_chinese_chars", o.chinese},
                                        {"strip_accents", o.strip_accents},
                                        {"lowercase", o.lower_case}}),
        .pre_tokenizer = JsonText::object({{"type", "BertPreTokenizer"}}),
        .post_processor = JsonText::object({{"type", "BertProcessing"},
                                            {"sep", JsonText::array({o.sep, o.sep_id})},
                                            {"cls", JsonText::array({o.cls, o.cls_id})}}),
        .decoder = JsonText::object({{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}})};
}

}  // namespace plaingrad::models::text::tokenizer
