#include "models/text/tokenizer/tokenizer_config.h"

namespace plaingrad::models::text::tokenizer {

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
    const bool whole =
        !all.config_["added_tokens_decoder"].is_null();  // then transformers reads no other file
    all.map_ = read(whole ? "" : nn::checkpoint::in_folder(folder, "special_tokens_map.json"));
    return all;
}

// Of the first file that has it; or else a null.
const Part& TokenizerConfig::member(std::string_view name) const {
    return config_[name].is_null() ? map_[name] : config_[name];
}

// A token is its content, or an object that has it.
static AddedToken special(const Part& token) {
    if (!token.is(Part::Kind::object))
        return {.content = token.text(), .special = true};
    AddedToken special = AddedTokens::from(token);
    special.normalized = token["normalized"].flag_or(false);
    special.special = true;
    return special;
}

std::optional<std::string> TokenizerConfig::token(std::string_view name) const {
    const Part& token = member(name);
    return token.is_null() ? std::nullopt : std::optional(special(token).content);
}

Part TokenizerConfig::added_tokens(const std::string& folder) {
    Part added = read(nn::checkpoint::in_folder(folder, "added_tokens.json"));
    added.require(added.is(Part::Kind::object), "must be an object");
    return added;
}

std::vector<AddedToken> TokenizerConfig::special_tokens() const {
    std::vector<AddedToken> tokens;
    for (const char* name : kTokens)
        if (const Part& token = member(name); !token.is_null())
            tokens.push_back(special(token));
    for (const Part* file : {&config_, &map_})
        if (const Part& more = (*file)["additional_special_tokens"]; !more.is_null())
            for (const Part& token : more.items())
                tokens.push_back(special(token));
    return tokens;
}

}  // namespace plaingrad::models::text::tokenizer
