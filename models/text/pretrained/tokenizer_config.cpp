#include "models/text/pretrained/tokenizer_config.h"

namespace plaingrad::models::text::pretrained {

using nn::checkpoint::JsonReader;

static Part read(const std::string& path) {
    if (!nn::checkpoint::exists(path)) {
        JsonReader none("{}", path);
        return Part::read(none, "");
    }
    JsonReader json = JsonReader::open(path);
    Part part = Part::read(json, "");
    json.end();
    return part;
}

TokenizerConfig TokenizerConfig::open(const std::string& folder) {
    TokenizerConfig all;
    all.config_ = read(nn::checkpoint::in_folder(folder, "tokenizer_config.json"));
    all.map_ = read(nn::checkpoint::in_folder(folder, "special_tokens_map.json"));
    return all;
}

// A token is its content, or an object that has it.
static const std::string& content_of(const Part& token) {
    return token.is(Part::Kind::object) ? token["content"].text() : token.text();
}

std::optional<std::string> TokenizerConfig::token(std::string_view name) const {
    for (const Part* file : {&config_, &map_})
        if (const Part& token = (*file)[name]; !token.is_null())
            return content_of(token);
    return std::nullopt;
}

Part TokenizerConfig::added_tokens(const std::string& folder) {
    Part added = read(nn::checkpoint::in_folder(folder, "added_tokens.json"));
    added.require(added.is(Part::Kind::object), "must be an object");
    return added;
}

std::vector<std::string> TokenizerConfig::additional_tokens() const {
    std::vector<std::string> contents;
    for (const Part* file : {&config_, &map_})
        if (const Part& tokens = (*file)["additional_special_tokens"]; !tokens.is_null())
            for (const Part& token : tokens.items())
                contents.push_back(content_of(token));
    return contents;
}

}  // namespace plaingrad::models::text::pretrained
