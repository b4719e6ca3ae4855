#include "tests/fuzz/json_tree.h"

#include <algorithm>

#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::fuzz {
namespace {

using Value = nn::checkpoint::Json;

Json read(const Value& json, int levels) {
    json.require(levels > 0, "too deep");
    Json tree;
    if (json.kind() == Value::Kind::string) {
        tree.set_string(json.text());
    } else if (json.kind() == Value::Kind::object) {
        tree.kind = Json::Kind::object;
        for (const Value& member : json.members()) {
            tree.keys.emplace_back(member.name());
            tree.items.push_back(read(member, levels - 1));
        }
    } else if (json.kind() == Value::Kind::array) {
        tree.kind = Json::Kind::array;
        for (const Value& item : json.items())
            tree.items.push_back(read(item, levels - 1));
    } else {
        tree.text = json.shown();
    }
    return tree;
}

}  // namespace

std::string Json::string() const { return Value(text, "").text(); }

void Json::set_string(const std::string& to) {
    int64_t replaced = 0;
    *this = {.text = nn::checkpoint::quote(models::text::replace_invalid_utf8(to, replaced))};
}

Json* Json::find(const std::string& key) {
    const auto place = std::find(keys.begin(), keys.end(), key);
    return place == keys.end() ? nullptr : &items[static_cast<std::size_t>(place - keys.begin())];
}

std::optional<Json> parse_json(const std::string& text) {
    try {
        return read(Value(text, ""), 100);
    } catch (const autograd::Error&) {
        return {};
    }
}

std::string to_text(const Json& tree) {
    if (tree.kind == Json::Kind::single)
        return tree.text;
    const bool is_object = tree.kind == Json::Kind::object;
    std::string out;
    for (std::size_t i = 0; i < tree.items.size(); ++i)
        out.append(i > 0 ? "," : "")
            .append(is_object ? nn::checkpoint::quote(tree.keys[i]) + ":" : "")
            .append(to_text(tree.items[i]));
    return is_object ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace plaingrad::fuzz
