#include "models/text/tokenizer/pipeline.h"

#include <algorithm>

#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {
namespace {

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
    return (begin == 0 || !is_word_character(last_character(text.substr(0, begin)).code)) &&
           (end == text.size() ||
            !is_word_character(nn::checkpoint::first_code_point(text.substr(end)).code));
}

std::size_t strip_left(std::string_view text, std::size_t begin) {
    while (begin > 0 && is_space(last_character(text.substr(0, begin)).code))
        begin -= last_character(text.substr(0, begin)).bytes.size();
    return begin;
}

std::size_t strip_right(std::string_view text, std::size_t end) {
    while (end < text.size() && is_space(nn::checkpoint::first_code_point(text.substr(end)).code))
        end += nn::checkpoint::first_code_point(text.substr(end)).length;
    return end;
}

}  // namespace

AddedToken AddedToken::from(const Json& part) {
    AddedToken token;
    token.content = part["content"].nonempty_text();
    token.single_word = part["single_word"].boolean_or(false);
    token.lstrip = part["lstrip"].boolean_or(false);
    token.rstrip = part["rstrip"].boolean_or(false);
    token.special = part["special"].boolean_or(false);
    token.normalized = part["normalized"].boolean_or(!token.special);
    return token;
}

void AddedTokens::add(AddedToken token, const Normalizer& normalizer) {
    token.pattern = token.normalized ? normalizer(token.content) : token.content;
    tokens_.push_back(std::move(token));
    const std::string& pattern = tokens_.back().pattern;
    if (!pattern.empty())
        by_first_byte_[static_cast<unsigned char>(pattern[0])].emplace(pattern.size(), tokens_.size() - 1);
}

const AddedToken* found(const std::vector<AddedToken>& tokens, std::string_view content) {
    const auto token =
        std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& t) { return t.content == content; });
    return token == tokens.end() ? nullptr : &*token;
}

const AddedToken* AddedTokens::at_start(std::string_view text, bool normalized) const {
    for (const auto& [size, i] : by_first_byte_[static_cast<unsigned char>(text[0])])
        if (tokens_[i].normalized == normalized && text.starts_with(tokens_[i].pattern))
            return &tokens_[i];
    return nullptr;
}

std::vector<AddedTokens::TextOrToken> AddedTokens::cut(std::string_view text, bool normalized) const {
    std::vector<TextOrToken> all;
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* found = at_start(text.substr(at), normalized);
        if (found == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at, end = at += found->pattern.size();
        if (found->single_word && !is_single_word(text, begin, end))
            continue;
        begin = found->lstrip ? std::max(strip_left(text, begin), done) : begin;
        end = found->rstrip ? strip_right(text, end) : end;
        if (done < begin)
            all.push_back({text.substr(done, begin - done)});
        all.push_back({{}, found->id});
        done = end;
    }
    if (done < text.size())
        all.push_back({text.substr(done)});
    return all;
}

// ---- around a text

namespace {

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
    if (type == "BertProcessing" || type == "RobertaProcessing") {
        const int32_t cls = id_from(part["cls"]), sep = id_from(part["sep"]);
        Template all = {{{false, cls}, {true, 0}, {false, sep}},
                        {{false, cls}, {true, 0}, {false, sep}, {true, 1, 1}, {false, sep, 1}}};
        if (type == "RobertaProcessing")
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
static bool cut(std::vector<Ids>& texts, std::size_t room) {
    const bool two = texts.size() == 2, second_is_longer = two && texts[1].size() >= texts[0].size();
    Ids& longer = texts[second_is_longer ? 1 : 0];
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

Encoding Template::operator()(std::vector<Ids> texts, bool special, int64_t max_length) const {
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
            const Ids& ids = texts[static_cast<std::size_t>(item.id)];
            all.ids.insert(all.ids.end(), ids.begin(), ids.end());
        } else if (!item.is_text && special) {
            all.ids.push_back(item.id);
        }
        all.type_ids.resize(all.ids.size(), item.type_id);
    }
    return all;
}

}  // namespace plaingrad::models::text::tokenizer
