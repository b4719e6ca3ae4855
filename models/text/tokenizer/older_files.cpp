#include "models/text/tokenizer/older_files.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "models/text/tokenizer/bpe.h"
#include "models/text/tokenizer/file_text.h"
#include "models/text/tokenizer/pre_tokens.h"
#include "models/text/tokenizer/tokenizer_config.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models::text::tokenizer {
namespace {

using nn::checkpoint::check_file;
using nn::checkpoint::in_folder;
using nn::checkpoint::parse_integer;
using Strings = std::vector<std::string>;

// The tokenizer_class in tokenizer_config.json without the "Fast" at its end; `otherwise` if there is none.
std::string class_of(const TokenizerConfig& config, const std::string& otherwise,
                     std::initializer_list<std::string_view> known) {
    const Json part = config["tokenizer_class"];
    std::string name = part.text_or(otherwise);
    if (name.ends_with("Fast"))
        name.resize(name.size() - 4);
    part.require(std::find(known.begin(), known.end(), name) != known.end(), nn::checkpoint::shown(name),
                 " is not supported without a tokenizer.json");
    return name;
}

// The tokens of a folder, as "added_tokens" of a tokenizer.json has them. One that is no piece gets an id
// behind all that have one.
class Tokens {
public:
    explicit Tokens(const Strings& pieces) {
        for (const std::string& piece : pieces)
            ids_.emplace(piece, std::ssize(ids_));
    }

    int64_t add(AddedToken token) {  // returns its id
        const int64_t id = ids_.try_emplace(token.content, std::ssize(ids_)).first->second;
        token.id = static_cast<int32_t>(id);
        listed_.insert(token.content);
        texts_.push_back(text_of(token));
        return id;
    }
    int64_t id(const std::string& content) const { return ids_.at(content); }
    bool has(const std::string& content) const { return listed_.contains(content); }
    JsonText text() const { return JsonText::array(texts_, true); }

private:
    std::unordered_map<std::string, int64_t> ids_;
    std::set<std::string> listed_;
    std::vector<JsonText> texts_;
};

const AddedToken* found(const std::vector<AddedToken>& tokens, const std::string& content) {
    const auto at = std::find_if(tokens.begin(), tokens.end(),
                                 [&](const AddedToken& token) { return token.content == content; });
    return at == tokens.end() ? nullptr : &*at;
}

// "added_tokens_decoder" has tokens by their ids; added_tokens.json, in older folders, has ids by the tokens.
// A token of the latter is special if it is one of `named`, and has no other properties.
void add_numbered_tokens(Tokens& all, const std::string& folder, const Json& decoder,
                         const std::vector<AddedToken>& named) {
    const bool older = decoder.is_null();
    const Json file = older ? TokenizerConfig::added_tokens(folder) : decoder;
    std::vector<std::pair<int64_t, Json>> tokens;
    for (const Json& part : file.members())
        tokens.emplace_back(older ? part.integer() : parse_integer(part.name()).value_or(-1), part);
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [number, part] : tokens) {
        const std::string name(part.name());
        const bool special = found(named, name) != nullptr;
        const AddedToken from_older = {.content = name, .normalized = !special, .special = special};
        const int64_t id = all.add(older ? from_older : AddedTokens::from(part));
        part.require(number == id, "has a token whose id is ", id);
    }
}

// Those that have no id yet come behind all that have one.
Tokens tokens_of(const Strings& pieces, const std::string& folder, const TokenizerConfig& config,
                 std::initializer_list<std::string> defaults) {
    const std::vector<AddedToken> listed = config.special_tokens();
    std::vector<AddedToken> named;
    for (const std::string& content : defaults) {
        const AddedToken* const token = found(listed, content);
        named.push_back(token == nullptr ? AddedToken{.content = content, .special = true} : *token);
    }
    named.insert(named.end(), listed.begin(), listed.end());
    Tokens all(pieces);
    add_numbered_tokens(all, folder, config["added_tokens_decoder"], named);
    for (const AddedToken& token : named)
        if (!all.has(token.content))
            all.add(token);
    return all;
}

std::vector<MergeRule> read_merges(const std::string& path) {
    std::vector<MergeRule> rules;
    const Strings lines = lines_of(nn::checkpoint::read_file(path), path);
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (!lines[i].starts_with("#version")) {
            const auto rule = Bpe::rule(lines[i]);
            check_file(rule.has_value(), path, ":", i + 1,
                       ": a line must be two pieces with a space between");
            rules.emplace_back(*rule);
        }
    return rules;
}

Tokenizer from_merges(const std::string& folder, const TokenizerConfig& config) {
    const bool qwen =
        class_of(config, "GPT2Tokenizer", {"GPT2Tokenizer", "Qwen2Tokenizer"}) == "Qwen2Tokenizer";
    const std::string path = in_folder(folder, "vocab.json"), merges = in_folder(folder, "merges.txt");
    Vocabulary vocabulary;
    for (const Json& piece : Json::open(path).members())
        vocabulary.add(piece.name(), piece.count(), path);
    const Strings pieces = vocabulary.in_order(path + ": the vocabulary");
    const bool space = config["add_prefix_space"].boolean_or(false);
    const auto bytes = [&](bool use_regex) {
        return JsonText::object({{"type", "ByteLevel"},
                                 {"trim_offsets", false},
                                 {"add_prefix_space", space},
                                 {"use_regex", use_regex}});
    };
    FileText file = {.model = bpe_text("BPE", pieces, read_merges(merges)),
                     .pre_tokenizer = bytes(true),
                     .decoder = bytes(true),
                     .added_tokens = tokens_of(pieces, folder, config, {"<|endoftext|>"}).text()};
    if (qwen) {  // each of whose words gets the space
        const JsonText split =
            JsonText::object({{"type", "Split"},
                              {"pattern", JsonText::object({{"Regex", expression(PreTokens::qwen2)}})},
                              {"behavior", "Isolated"},
                              {"invert", false}});
        file.normalizer = JsonText::object({{"type", "NFC"}});
        file.pre_tokenizer = JsonText::object(
            {{"type", "Sequence"}, {"pretokenizers", JsonText::array({split, bytes(false)})}});
    }
    return Tokenizer(file.json(), merges);
}

Tokenizer from_vocab_txt(const std::string& folder, const TokenizerConfig& config) {
    class_of(config, "BertTokenizer", {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"});
    const std::string path = in_folder(folder, "vocab.txt");
    const Strings pieces = lines_of(nn::checkpoint::read_file(path), path);
    std::set<std::string_view> seen;
    for (const std::string& piece : pieces)
        check_file(seen.insert(piece).second, path, ": ", nn::checkpoint::shown(piece),
                   " is in the vocabulary twice");
    const auto token = [&](const char* name, const char* otherwise) {
        return config.token(name).value_or(otherwise);
    };
    BertText bert = {.unk = token("unk_token", "[UNK]"),
                     .cls = token("cls_token", "[CLS]"),
                     .sep = token("sep_token", "[SEP]"),
                     .lower_case = config["do_lower_case"].boolean_or(true),
                     .chinese = config["tokenize_chinese_chars"].boolean_or(true)};
    bert.strip_accents = config["strip_accents"].boolean_or(bert.lower_case);
    const Tokens tokens =
        tokens_of(pieces, folder, config,
                  {bert.unk, bert.sep, token("pad_token", "[PAD]"), bert.cls, token("mask_token", "[MASK]")});
    bert.cls_id = tokens.id(bert.cls);
    bert.sep_id = tokens.id(bert.sep);
    FileText file = bert_text(pieces, bert);
    file.added_tokens = tokens.text();
    return Tokenizer(file.json(), path);
}

}  // namespace

Tokenizer from_older_files(const std::string& folder) {
    const TokenizerConfig config = TokenizerConfig::open(folder);
    const auto has = [&](const char* name) { return nn::checkpoint::exists(in_folder(folder, name)); };
    if (has("vocab.json") && has("merges.txt"))
        return from_merges(folder, config);
    check_file(
        has("vocab.txt"), folder, " has no tokenizer.json, no vocab.json with merges.txt, and no vocab.txt",
        has("tokenizer.model") ? "; a tokenizer.model is not read: in Python, "
                                 "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes "
                                 "tokenizer.json"
                               : "");
    return from_vocab_txt(folder, config);
}

}  // namespace plaingrad::models::text::tokenizer
