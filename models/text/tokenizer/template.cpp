#include "models/text/tokenizer/template.h"

#include <algorithm>

namespace plaingrad::models::text::tokenizer {
namespace {

using nn::checkpoint::shown;
using Items = std::vector<Template::Item>;

Items items_from(const Part& list, const Part& special_tokens) {
    Items items;
    for (const Part& item : list.items()) {
        if (const Part& text = item["Sequence"]; !text.is_null()) {
            const std::string& name = text["id"].text();
            text["id"].require(name == "A" || name == "B", "must be A or B: got ", shown(name));
            items.push_back({true, name == "B", static_cast<int32_t>(text["type_id"].integer())});
            continue;
        }
        const Part& token = item["SpecialToken"];
        const Part& known = special_tokens[token["id"].text()];
        token["id"].require(!known.is_null(), shown(token["id"].text()), " is not among the special_tokens");
        for (const Part& id : known["ids"].items())
            items.push_back({false, static_cast<int32_t>(id.integer()),
                             static_cast<int32_t>(token["type_id"].integer())});
        known["id"].text();
        known["tokens"].items();
    }
    return items;
}

// ["[SEP]", 102]
int32_t id_from(const Part& part) {
    part.require(part.items().size() == 2, "must be a token and its id");
    return static_cast<int32_t>(part.items()[1].integer());
}

}  // namespace

Template Template::bert(int32_t cls, int32_t sep) {
    Template all;
    all.single = {{false, cls}, {true, 0}, {false, sep}};
    all.pair = {{false, cls}, {true, 0}, {false, sep}, {true, 1, 1}, {false, sep, 1}};
    return all;
}

Template Template::from(const Part& part) {
    Template all;
    if (part.is_null())
        return all;
    const std::string& type = part["type"].text();
    for (const char* option : {"add_prefix_space", "trim_offsets", "use_regex"})
        part[option].flag_or(true);  // these change no id
    if (type == "Sequence") {
        bool found = false;
        for (const Part& item : part["processors"].items()) {
            Template one = from(item);
            const bool some = item["type"].text() != "ByteLevel";
            item.require(!(found && some), "is the second template, which is not supported");
            if (some)
                all = std::move(one);
            found = found || some;
        }
    } else if (type == "TemplateProcessing") {
        const Part& tokens = part["special_tokens"];
        all = {items_from(part["single"], tokens), items_from(part["pair"], tokens)};
        for (const Part& token : tokens.items())
            tokens[token.name()].check_all_used();
    } else if (type == "BertProcessing") {
        all = bert(id_from(part["cls"]), id_from(part["sep"]));
    } else if (type == "RobertaProcessing") {
        const int32_t cls = id_from(part["cls"]), sep = id_from(part["sep"]);
        all = bert(cls, sep);
        all.pair = {{false, cls}, {true, 0}, {false, sep}, {false, sep}, {true, 1}, {false, sep}};
    } else {
        part["type"].require(type == "ByteLevel", shown(type),
                             " is not supported; BertProcessing, ByteLevel, RobertaProcessing, Sequence, "
                             "TemplateProcessing are");
    }
    return all;
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
