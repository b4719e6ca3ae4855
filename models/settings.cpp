#include "models/settings.h"

#include <algorithm>
#include <filesystem>

#include "autograd/base/text_stream.h"
#include "nn/checkpoint/metadata.h"
#include "nn/utf8.h"

namespace plaingrad::models {

using autograd::join;
using nn::checkpoint::check_file;

namespace {

// bounded: whether the message names the largest number.
template <class T>
T within(const Range<T>& range, std::optional<T> value, const std::string& what, const std::string& text,
         bool bounded) {
    if (value && *value >= range.min && *value <= range.max)
        return *value;
    throw SettingError(
        join(what, std::is_integral_v<T> ? " needs a whole number " : " needs a number ",
             bounded ? join("from ", range.min, " to ", range.max) : join("of at least ", range.min),
             ": got '", text, "'"));
}

// A text that sets the same value.
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return nn::checkpoint::to_text(value); }
std::string text_of(bool value) { return value ? "true" : ""; }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const Settings::Words& files) { return listed(files, ","); }

// As on a command line.
std::string as_words(const Setting& row, const char* equals) {
    return row.argument.empty() ? row.name : row.name + equals + row.get();
}

// A switch that is off, or a word that is missing, is not kept.
bool is_kept(const Setting& row) {
    return (row.on_resume == OnResume::kept || row.on_resume == OnResume::may_change) &&
           (row.may_be_empty || !row.get().empty());
}

}  // namespace

int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range) {
    const std::optional<int64_t> value = nn::checkpoint::parse_integer(text);
    const bool too_large = !value && !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return within(range, value, what, text, range.max != IntegerRange().max || too_large);
}

double parse_real(const std::string& what, const std::string& text, RealRange range) {
    return within(range, nn::checkpoint::parse_real(text), what, text, range.max != RealRange().max);
}

std::string listed(const std::vector<std::string>& words, const char* between) {
    std::string list;
    for (const std::string& word : words)
        list.append(&word == &words[0] ? "" : between).append(word);
    return list;
}

// ----------------------------------------------------------------------------------------------------- rows

template <class T>
Setting& Settings::row(Text name, Text argument, Text help, T& value, const std::function<T(Text)>& parse) {
    return rows_.emplace_back(
        Setting{name, argument, help, [&value, parse](Text text) { value = parse(text); },
                [&value] { return text_of(value); }, [&value, old = value] { value = old; }});
}

Setting& Settings::add(Text name, Text argument, Text help, int64_t& value, IntegerRange range) {
    return row<int64_t>(name, argument, help, value,
                        [=](Text text) { return parse_integer(name, text, range); });
}
Setting& Settings::add(Text name, Text argument, Text help, double& value, RealRange range) {
    return row<double>(name, argument, help, value, [=](Text text) { return parse_real(name, text, range); });
}
Setting& Settings::add(Text name, Text argument, Text help, std::string& value) {
    return row<std::string>(name, argument, help, value, [](Text text) { return text; });
}
Setting& Settings::add(Text name, Text help, bool& value) {
    return row<bool>(name, "", help, value, [](Text) { return true; });
}
Setting& Settings::add(Text name, Text help, std::string& value, const Words& choices) {
    const std::string list = listed(choices, "|");
    return row<std::string>(name, list, help, value, [=](Text text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
            throw SettingError(join(name, " must be one of ", list, ": got '", text, "'"));
        return text;
    });
}

Setting& Settings::add_each(Text name, Text argument, Text help, Words& texts) {
    return rows_.emplace_back(Setting{name, argument, help, [&texts](Text text) { texts.push_back(text); },
                                      [] { return ""; }, [&texts] { texts.clear(); }});
}

Setting& Settings::add_files(Text name, Text argument, Text help, Words& files,
                             const std::function<Words(Text)>& split) {
    lists_.push_back({name, &files, Rest::files});
    return row<Words>(name, argument, help, files, split);
}

Setting& Settings::preset(Text name, Text help, std::string& value, const Words& choices,
                          const std::function<void(const Settings&)>& apply) {
    preset_ = &add(name, help, value, choices);
    preset_choices_ = choices;
    apply_preset_ = apply;
    return *preset_;
}

Setting* Settings::find(Text name) {
    const auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const Setting& r) { return r.name == name; });
    return row == rows_.end() ? nullptr : &*row;
}

bool Settings::was_given(Text name) const {
    return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.first->name == name; });
}

// Sets everything to its default, then to the preset's values, then to what is given.
void Settings::set_all(std::vector<Given> given) {
    given_ = std::move(given);
    for (const Setting& row : rows_)
        row.reset();
    for (const auto& [row, value] : given_)
        if (row == preset_)
            row->set(value);
    if (apply_preset_)
        apply_preset_(*this);
    for (Setting& row : rows_)
        row.base = row.get();
    for (const auto& [row, value] : given_)
        if (row != preset_)
            row->set(value);
}

// -------------------------------------------------------------------------------------------------- resuming

std::string Settings::kept() const {
    std::string lines;
    const auto add = [&](const std::string& line) {
        autograd::check(line.find('\n') == line.npos && nn::find_invalid_utf8(line) == line.npos, line,
                        ": this must be one line of UTF-8, to be kept in a checkpoint");
        lines.append(line).append("\n");
    };
    for (const Setting& row : rows_)
        if (is_kept(row) &&
            std::none_of(lists_.begin(), lists_.end(), [&](auto& l) { return l.name == row.name; }))
            add(as_words(row, "="));
    for (const List& list : lists_) {
        add("--");
        for (const std::string& word : list.kind == Rest::this_call ? Words() : *list.words)
            add(list.kind == Rest::names ? word : std::filesystem::absolute(word).string());
    }
    return lines;
}

std::string Settings::changeable() const {
    Words names;
    for (const Setting& row : rows_)
        if (row.on_resume == OnResume::may_change || row.on_resume == OnResume::this_call)
            names.push_back(row.name);
    return listed(names);
}

void Settings::resume(Text kept, Text path) {
    for (const auto& [row, value] : asked_)
        if (row->on_resume == OnResume::kept || row->on_resume == OnResume::new_run)
            throw SettingError(join("--resume continues the run with its settings: ", row->name,
                                    " can't be given again", row->reason.empty() ? "" : ", because ",
                                    row->reason, "; these can: ", changeable()));
    std::vector<Words> parts(1);  // settings, and the words of each list
    autograd::TextReader lines(kept);
    for (std::string line; std::getline(lines, line);)
        if (line == "--")
            parts.emplace_back();
        else
            parts.back().push_back(line);
    check_file(parts.size() == 1 + lists_.size(), path, ": the settings of its run cannot be read");
    std::vector<Given> all;
    for (const std::string& line : parts[0]) {
        const std::size_t equals = std::min(line.find('='), line.size());
        Setting* const row = find(line.substr(0, equals));
        check_file(row != nullptr, path, ": unknown option '", line.substr(0, equals), "'");
        all.emplace_back(row, line.substr(std::min(equals + 1, line.size())));
    }
    all.insert(all.end(), asked_.begin(), asked_.end());
    Words* const rest = lists_[0].words;
    const Words rest_given = rest != nullptr ? *rest : Words();  // a preset may reset everything
    try {
        set_all(all);
    } catch (const SettingError& error) {
        throw nn::checkpoint::FileError(join(path, ": ", error.what()));
    }
    if (rest != nullptr)
        *rest = rest_given.empty() && lists_[0].kind != Rest::this_call ? parts[1] : rest_given;
    if (lists_[0].kind == Rest::model_and_files && rest_given.size() < 2) {
        check_file(!parts[1].empty(), path, ": the settings of its run cannot be read");
        rest->insert(rest->end(), parts[1].begin() + std::ssize(*rest), parts[1].end());
    }
    for (std::size_t i = 1; i < lists_.size(); ++i)
        if (std::none_of(asked_.begin(), asked_.end(),
                         [&](auto& given) { return given.first->name == lists_[i].name; }))
            *lists_[i].words = parts[1 + i];
}

std::string Settings::changed() const {
    Words words;
    for (const Setting& row : rows_)
        if (is_kept(row) && (row.get() != row.base || &row == preset_))
            words.push_back(as_words(row, " "));
    return listed(words, " ");
}

}  // namespace plaingrad::models
