// JSON as a tree, to be changed and written again. Only for tests: its parser recurses, down to 100 levels.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plaingrad::fuzz {

struct Json {
    enum class Kind { single, array, object };

    Kind kind = Kind::single;
    std::string text = {};               // of a single value: 12, null, "a" with its quotes
    std::vector<std::string> keys = {};  // of an object
    std::vector<Json> items = {};        // of an array, or an object's values

    bool is_string() const { return kind == Kind::single && text.starts_with('"'); }
    std::string string() const;              // what the quotes contain, without escapes
    void set_string(const std::string& to);  // as UTF-8, so that the text stays JSON
    Json* find(const std::string& key);      // an object's member; nullptr if there is none
};

// Nothing if the text is no JSON, or deeper than a hundred levels.
std::optional<Json> parse_json(const std::string& text);
std::string to_text(const Json& tree);

}  // namespace plaingrad::fuzz
