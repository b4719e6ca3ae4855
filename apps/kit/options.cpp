#include "apps/kit/options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/plain.h"
#include "nn/checkpoint/metadata.h"
#include "nn/utf8.h"

namespace plaingrad::kit {

using autograd::join;
using nn::checkpoint::check_file;

namespace {

// "a whole number from 1 to 9"; `bounded`: whether there is a largest one worth telling.
template <class Range>
[[noreturn]] void refuse(const std::string& what, const char* kind, const std::string& text,
                         const Range& range, bool bounded) {
    throw UsageError(
        join(what, " needs a ", kind, " ",
             bounded ? join("from ", range.min, " to ", range.max) : join("of at least ", range.min),
             ": got '", text, "'"));
}

// The shortest text that is read as the same number: 0.1, not 0.10000000000000001.
std::string shortest(double value) {
    char text[40];
    for (int digits = 6; digits <= 17; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, value);
        if (nn::checkpoint::parse_real(text) == value)
            break;
    }
    return text;
}

std::string listed(const Options::Lines& words, const char* between) {
    std::string list;
    for (const std::string& word : words)
        list.append(list.empty() ? "" : between).append(word);
    return list;
}

// As it stands on a command line.
std::string as_word(const Option& option, const char* equals) {
    return option.argument.empty() ? option.name : option.name + equals + option.get();
}

// Whether its value can be given: a switch that is off, or a word that is missing, can't.
bool is_set(const Option& option) { return option.empty_allowed || !option.get().empty(); }

bool is_kept(const Option& option) {
    return option.on_resume == OnResume::kept || option.on_resume == OnResume::may_change;
}

}  // namespace

int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range) {
    const std::optional<int64_t> value = nn::checkpoint::parse_integer(text);
    if (!value || *value < range.min || *value > range.max)
        refuse(what, "whole number", text, range,
               range.max != std::numeric_limits<int64_t>::max() ||
                   (!value && !text.empty() && text.find_first_not_of("0123456789") == text.npos));
    return *value;
}

double parse_real(const std::string& what, const std::string& text, RealRange range) {
    const std::optional<double> value = nn::checkpoint::parse_real(text);
    if (!value || !(*value >= range.min && *value <= range.max))
        refuse(what, "number", text, range, range.max != std::numeric_limits<double>::max());
    return *value;
}

// ------------------------------------------------------------------------------------------------- rows

Options::Options(std::string program, std::string summary)
    : program_(std::move(program)), summary_(std::move(summary)) {}

Option& Options::add(const std::string& name, const std::string& argument, const std::string& help,
                     int64_t& value, IntegerRange range) {
    return row({name, argument, help,
                [=, &value](const std::string& text) { value = parse_integer(name, text, range); },
                [&value] { return std::to_string(value); }, [&value, old = value] { value = old; }});
}

Option& Options::add(const std::string& name, const std::string& argument, const std::string& help,
                     double& value, RealRange range) {
    return row({name, argument, help,
                [=, &value](const std::string& text) { value = parse_real(name, text, range); },
                [&value] { return shortest(value); }, [&value, old = value] { value = old; }});
}

Option& Options::add(const std::string& name, const std::string& argument, const std::string& help,
                     std::string& value) {
    return row({name, argument, help, [&value](const std::string& text) { value = text; },
                [&value] { return value; }, [&value, old = value] { value = old; }, OnResume::kept, false});
}

Option& Options::add(const std::string& name, const std::string& help, bool& value) {
    return row({name, "", help, [&value](const std::string&) { value = true; },
                [&value] { return value ? "true" : ""; }, [&value, old = value] { value = old; },
                OnResume::kept, false});
}

Option& Options::add(const std::string& name, const std::string& help, std::string& value,
                     const Lines& choices) {
    const std::string list = listed(choices, "|");
    const auto choose = [=, &value](const std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
            throw UsageError(join(name, " must be one of ", list, ": got '", text, "'"));
        value = text;
    };
    return row({name, list, help, choose, [&value] { return value; }, [&value, old = value] { value = old; },
                OnResume::kept, false});
}

Option& Options::add_files(const std::string& name, const std::string& argument, const std::string& help,
                           Lines& files, const std::function<Lines(const std::string&)>& split) {
    Option& option = row({name, argument, help, [=, &files](const std::string& text) { files = split(text); },
                          [&files] { return listed(files, ","); }, [&files, old = files] { files = old; }});
    option.empty_allowed = false;
    files_.emplace_back(&option, &files);
    return option;
}

Option& Options::preset(const std::string& name, const std::string& help, std::string& value,
                        const Lines& choices, const std::function<void(const Options&)>& apply) {
    preset_ = &add(name, help, value, choices);
    preset_choices_ = choices;
    apply_preset_ = apply;
    return *preset_;
}

void Options::rest(const std::string& argument, const std::string& help, Lines& words, bool required,
                   Rest kind) {
    rest_argument_ = argument;
    rest_help_ = help;
    rest_ = &words;
    rest_required_ = required;
    rest_kind_ = kind;
}

void Options::command(const std::string& name, const std::string& summary) {
    commands_.emplace_back(name, summary);
}

void Options::example(const std::string& command, const std::string& effect) {
    examples_.emplace_back(command, effect);
}

void Options::note(const std::string& text) { notes_.push_back(text); }

void Options::add_common(int64_t& seed, const std::string& of) {
    add("--seed", "N", of, seed);
    add_threads();
}

void Options::add_threads() {
    row({"--threads", "N", "how many threads to use; the results do not depend on it (all processors)",
         [](const std::string& text) {
             autograd::set_thread_count(static_cast<int>(parse_integer("--threads", text, {1, 1024})));
         },
         [] { return ""; }, [] {}})
        .this_call();
    row({"--plain", "", "compute each fused op as the textbook composes it: slower, and equal up to rounding",
         [](const std::string&) { static const autograd::Plain until_the_end; }, [] { return ""; }, [] {}})
        .this_call();
}

// ----------------------------------------------------------------------------------------------- parsing

Option* Options::find(const std::string& name) {
    for (Option& option : options_)
        if (option.name == name)
            return &option;
    return nullptr;
}

void Options::read(const Lines& words, std::vector<Given>& given, Lines& rest) {
    bool options_end = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool number = word.size() > 1 && word.find_first_not_of("0123456789", 1) == std::string::npos;
        if (options_end || word.size() < 2 || word[0] != '-' || number) {
            if (rest_ == nullptr)
                throw UsageError(join("unexpected argument '", word, "'; --help shows what is possible"));
            rest.push_back(word);
        } else if (word == "--help" || word == "-h") {
            print_help();
        } else if (word == "--version") {
            print_version();
        } else if (word == "--") {
            options_end = true;
        } else {
            const std::size_t equals = word.find('=');
            const std::string name = word.substr(0, equals);
            Option* const option = find(name);
            Lines names;
            for (const Option& one : options_)
                names.push_back(one.name);
            if (option == nullptr)
                throw UsageError(
                    join("unknown option '", name, "'", suggestion(name, names), " --help lists them"));
            if (option->argument.empty() && equals != std::string::npos)
                throw UsageError(name + " takes no value");
            if (!option->argument.empty() && equals == std::string::npos && i + 1 == words.size())
                throw UsageError(join(name, " needs a value: ", option->argument));
            std::string value;
            if (!option->argument.empty())
                value = equals != std::string::npos ? word.substr(equals + 1) : words[++i];
            if (value.empty() && !option->empty_allowed && !option->argument.empty())
                throw UsageError(join(name, " needs a value: ", option->argument));
            given.emplace_back(option, value);
        }
    }
}

// Everything to its default, to what the preset says, and then to what is given.
void Options::set_all(std::vector<Given> given) {
    given_ = std::move(given);
    for (const Option& option : options_)
        option.reset();
    for (const auto& [option, value] : given_)
        if (option == preset_)
            option->set(value);
    if (apply_preset_)
        apply_preset_(*this);
    for (Option& option : options_)
        option.base = option.get();
    for (const auto& [option, value] : given_)
        if (option != preset_)
            option->set(value);
}

void Options::parse(int argc, char** argv) {
    Lines words;
    read({argv + 1, argv + argc}, asked_, words);
    set_all(asked_);
    if (rest_ != nullptr)
        *rest_ = words;
    if (rest_required_ && rest_->empty())
        throw UsageError(
            join("an argument is missing: ", rest_argument_, "; ", as_called(), " --help shows more"));
}

bool Options::was_given(const std::string& name) const {
    return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.first->name == name; });
}

// ------------------------------------------------------------------------------------------------ resuming

std::string Options::kept() const {
    std::string lines;
    const auto add = [&](const std::string& line) {
        autograd::check(line.find('\n') == line.npos && nn::find_invalid_utf8(line) == line.npos, line,
                        ": this must be one line of UTF-8, to be kept in a checkpoint");
        lines.append(line).append("\n");
    };
    const auto absolute = [](const std::string& file) {
        return std::filesystem::absolute(file).lexically_normal().string();
    };
    for (const Option& option : options_)
        if (is_kept(option) && is_set(option) &&
            std::none_of(files_.begin(), files_.end(), [&](const auto& f) { return f.first == &option; }))
            add(as_word(option, "="));
    add("--");
    if (rest_ != nullptr && rest_kind_ != Rest::this_call)
        for (const std::string& word : *rest_)
            add(rest_kind_ == Rest::files ? absolute(word) : word);
    for (const auto& [option, files] : files_) {
        add("--");
        for (const std::string& file : *files)
            add(absolute(file));
    }
    return lines;
}

std::string Options::changeable() const {
    Lines names;
    for (const Option& option : options_)
        if (option.on_resume == OnResume::may_change || option.on_resume == OnResume::this_call)
            names.push_back(option.name);
    return listed(names, ", ");
}

void Options::resume(const std::string& kept, const std::string& path) {
    for (const auto& [option, value] : asked_)
        if (option->on_resume == OnResume::kept || option->on_resume == OnResume::new_run)
            throw UsageError(join("--resume goes on with the run as it began: ", option->name,
                                  " can't be given again; these can: ", changeable()));
    std::vector<Lines> parts(1);  // options, the rest's words, files of each option for files
    std::istringstream lines(kept);
    for (std::string line; std::getline(lines, line);)
        if (line == "--")
            parts.emplace_back();
        else
            parts.back().push_back(line);
    check_file(parts.size() == 2 + files_.size(), path, ": the settings of its run cannot be read");
    std::vector<Given> all;
    try {
        Lines none;
        read(parts[0], all, none);
        const Lines rest = rest_ != nullptr ? *rest_ : Lines();
        const std::size_t of_checkpoint = all.size();
        all.insert(all.end(), asked_.begin(), asked_.end());
        set_all(all);
        if (rest_ != nullptr)
            *rest_ = rest.empty() && rest_kind_ != Rest::this_call ? parts[1] : rest;
        for (std::size_t i = 0; i < files_.size(); ++i)
            if (std::none_of(all.begin() + static_cast<std::ptrdiff_t>(of_checkpoint), all.end(),
                             [&](const Given& g) { return g.first == files_[i].first; }))
                *files_[i].second = parts[2 + i];
    } catch (const UsageError& error) {
        throw nn::checkpoint::FileError(join(path, ": ", error.what()));
    }
}

std::string Options::changed() const {
    std::string words;
    for (const Option& option : options_)
        if (is_kept(option) && is_set(option) && (option.get() != option.base || &option == preset_))
            words.append(words.empty() ? "" : " ").append(as_word(option, " "));
    return words;
}

}  // namespace plaingrad::kit
