#include "models/text/tokenizer/template.h"

#include <algorithm>

namespace plaingrad::models::text::tokenizer {
namespace {

using nn::checkpoint::shown;
using Items = std::vector<Template::Item>;

int32_t id_of(const Json& part) { return static_cast<int32_t>(part.count(INT32_MAX)); }

Items items_from(const Json& list, const Json& special_tokens) {
    Items items;
    for (const Json& item : list.items()) {
        if (const Json text = item["Sequence"]; !text.is_null()) {
            const std::string_view name = text["id"].view();
            text["id"].require(name == "A" || name == "B", "must be A or B: got ", shown(name));
            items.push_back({true, name == "B", id_of(text["type_id"])});
            continue;
        }
        const Json token = item["SpecialToken"], known = special_tokens[token["id"].view()];
        token["id"].require(!known.is_null(), token["id"].shown(), " is not among the special_tokens");
        for (const Json& id : known["ids"].items())
            items.push_back({false, id_of(id), id_of(token["type_id"])});
        known["id"].view();
        known["tokens"].items();
    }
    return items;
}

// ["[SEP]", 102]
int32_t id_from(const Json& part) {
    const Json::Items two = part.items();
    part.require(two.size() == 2, "must be a token and its id");
    return id_of(two[1]);
}

}  // namespace

Template Template::bert(int32_t cls, int32_t sep) {
    Template all;
    all.single = {{false, cls}, {true, 0}, {false, sep}};
    all.pair = {{false, cls}, {true, 0}, {false, sep}, {true, 1, 1}, {false, sep, 1}};
    return all;
}

// What type of template it is; none, if it changes no id.
static std::optional<Template> template_from(const Json& part) {
    const std::string_view type = part["type"].view();
    for (const char* option : {"add_prefix_space", "trim_offsets", "use_regex"})
        part[option].boolean_or(true);  // these change no id
    if (type == "TemplateProcessing") {
        const Json tokens = part["special_tokens"];
        const Template all = {items_from(part["single"], tokens), items_from(part["pair"], tokens)};
        tokens.members();
        tokens.check_all_used();
        return all;
    }
    if (type == "BertProcessing")
        return Template::bert(id_from(part["cls"]), id_from(part["sep"]));
    if (type == "RobertaProcessing") {
        const int32_t cls = id_from(part["cls"]), sep = id_from(part["sep"]);
        Template all = Template::bert(cls, sep);
        all.pair = {{false, cls}, {true, 0}, {false, sep}, {false, sep}, {true, 1}, {false, sep}};
        return all;
    }
    part["type"].require(type == "ByteLevel", shown(type),
                         " is not supported; BertProcessing, ByteLevel, RobertaProcessing, Sequence, "
                         "TemplateProcessing are");
    return std::nullopt;
}

Template Template::from(const Json& part) {
    std::optional<Template> all;
    for (const Json& step : steps_of(part, "processors")) {
        const std::optional<Template> one = template_from(step);
        step.require(!all || !one, "is the second template, which is not supported");
        all = one ? one : all;
    }
    return all.value_or(Template{});
}

// Of two texts the longer one loses its end, until both are equally long; then both do.
static bool cut(std::vector<std::vector<int32_t>>& texts, std::size_t room) {
    const bool two = texts.size() == 2, second_is_longer = two && texts[1].size() >= texts[0].size();
    std::vector<int32_t>& longer = texts[second_is_longer ? 1 : 0];
    std::size_t other = two ? texts[second_is_longer ? 0 : 1].size() : 0;
    if (longer.size() + other <= room)
        return false;
    if (two) {
        other = std::min(other, room / 2);
        texts[second_is_longer ? 0 : 1].resize(other);
    }
    longer.resize(room - other);
    return true;
}

Encoding Template::operator()(std::vector<std::vector<int32_t>> texts, bool special,
                              int64_t max_length) const {
    Encoding all;
    const std::vector<Item>& items = texts.size() == 1 ? single : pair;
    const auto around =
        special ? std::count_if(items.begin(), items.end(), [](const Item& i) { return !i.is_text; }) : 0;
    autograd::check(max_length <= 0 || around <= max_length, "[Tokenizer] ", around,
                    " special tokens alone are more than max_length = ", max_length);
    if (max_length > 0)
        all.cut = cut(texts, static_cast<std::size_t>(max_length - around));
    for (const Item& item : items) {
        if (item.is_text && static_cast<std::size_t>(item.id) < texts.size()) {
            const std::vector<int32_t>& ids = texts[static_cast<std::size_t>(item.id)];
            all.ids.insert(all.ids.end(), ids.begin(), ids.end());
        } else if (!item.is_text && special) {
            all.ids.push_back(item.id);
        }
        all.type_ids.resize(all.ids.size(), item.type_id);
    }
    return all;
}

}  // namespace plaingrad::models::text::tokenizer
