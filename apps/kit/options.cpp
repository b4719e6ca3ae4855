#include "apps/kit/options.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "apps/kit/program.h"
#include "autograd/base/list.h"
#include "autograd/base/parallel.h"
#include "autograd/base/real.h"
#include "autograd/base/text_stream.h"
#include "autograd/plain.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::kit {

using autograd::join;
using models::listed;
using nn::checkpoint::check_file;

namespace {

// bounded: whether the message names the largest number.
template <class T>
T within(const Range<T>& range, std::optional<T> value, const std::string& what, const std::string& text,
         bool bounded) {
    if (value && *value >= range.min && *value <= range.max)
        return *value;
    throw UsageError(
        join(what, std::is_integral_v<T> ? " needs a whole number " : " needs a number ",
             bounded ? join("from ", range.min, " to ", range.max) : join("of at least ", range.min),
             ": got '", text, "'"));
}

std::string text_of(std::monostate) { return ""; }
std::string text_of(const bool* value) { return *value ? "true" : ""; }
std::string text_of(const int64_t* value) { return std::to_string(*value); }
std::string text_of(const double* value) { return nn::checkpoint::to_text(*value); }
std::string text_of(const std::string* value) { return *value; }
std::string text_of(const Option::Words* files) { return listed(*files, ","); }

// As on a command line.
std::string as_words(const Option& row, const char* equals) {
    return row.argument.empty() ? row.name : row.name + equals + row.get();
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

// ----------------------------------------------------------------------------------------------------- rows

void Option::set(Text given) const {
    const std::string text = read == nullptr ? given : read(given);
    if (auto* const on = std::get_if<bool*>(&variable))
        **on = true;
    if (auto* const integer = std::get_if<int64_t*>(&variable))
        **integer = parse_integer(name, text, integers);
    if (auto* const real = std::get_if<double*>(&variable))
        **real = parse_real(name, text, reals);
    if (auto* const word = std::get_if<std::string*>(&variable)) {
        check_usage(choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end(), name,
                    " must be one of ", argument, ": got '", text, "'");
        **word = text;
    }
    if (split != nullptr)
        *words() = split(text);
    else if (words() != nullptr)
        words()->push_back(text);
}

std::string Option::get() const {
    return std::visit([](auto of) { return text_of(of); }, variable);
}

void Option::reset() const {
    const auto set_back = [this](auto of) {
        if constexpr (std::is_pointer_v<decltype(of)>)
            *of = std::get<std::remove_pointer_t<decltype(of)>>(usual);
    };
    std::visit(set_back, variable);
}

Option::Words* Option::words() const {
    auto* const list = std::get_if<Words*>(&variable);
    return list == nullptr ? nullptr : *list;
}

// A switch that is off, or a word that is missing, is not kept.
bool Option::is_kept() const {
    return (on_resume == OnResume::kept || on_resume == OnResume::may_change) &&
           (may_be_empty || !get().empty());
}

Option& Options::add(Text name, Text argument, Text help, int64_t& value, IntegerRange range) {
    return rows_.emplace_back(Option{name, argument, help, &value, value, range});
}
Option& Options::add(Text name, Text argument, Text help, double& value, RealRange range) {
    return rows_.emplace_back(Option{name, argument, help, &value, value, {}, range});
}
Option& Options::add(Text name, Text argument, Text help, std::string& value) {
    return rows_.emplace_back(Option{name, argument, help, &value, value});
}
Option& Options::add(Text name, Text help, bool& value) {
    return rows_.emplace_back(Option{name, "", help, &value, value});
}
Option& Options::add(Text name, Text help, std::string& value, const Words& choices) {
    return rows_.emplace_back(Option{name, listed(choices, "|"), help, &value, value, {}, {}, choices});
}
Option& Options::add_each(Text name, Text argument, Text help, Words& texts) {
    return rows_.emplace_back(Option{name, argument, help, &texts, texts}).this_call();
}
Option& Options::add_files(Text name, Text argument, Text help, Words& files, Words (*split)(Text)) {
    return rows_.emplace_back(Option{name, argument, help, &files, files, {}, {}, {}, split});
}

Option& Options::preset(Text name, Text help, std::string& value, const Words& choices, Apply apply) {
    apply_preset_ = std::move(apply);
    return *(preset_ = &add(name, help, value, choices));
}

void Options::rest(Text argument, Text help, Words& words, Count count, Rest kind) {
    rest_ = {"", argument, help, &words, Words()};
    rest_count_ = count;
    rest_kind_ = kind;
}

void Options::add_common(int64_t& seed, const std::string& help) {
    add("--seed", "N", help, seed);
    add_threads();
}

void Options::add_threads() {
    rows_.push_back(
        {"--threads", "N", "number of threads; the results do not depend on it (all processors)"});
    rows_.back().this_call().reads([](Text text) {
        autograd::set_thread_count(static_cast<int>(parse_integer("--threads", text, {1, 1024})));
        return text;
    });
    rows_.push_back(
        {"--plain", "", "compute each fused op as the textbook composes it: slower, equal up to rounding"});
    rows_.back().this_call().reads([](Text text) {
        static const autograd::Plain until_the_end;
        return text;
    });
}

Option& Options::add_precision(std::string& precision) {
    const std::string own = precision.empty() ? " (the model's own)" : "";
    return add("--precision",
               "factors of matrix products: float32, or rounded to bf16 (8 significant bits)" + own,
               precision, {std::begin(autograd::kPrecisionNames), std::end(autograd::kPrecisionNames)});
}

autograd::Precision precision_of(const std::string& name) {
    return name == "bf16" ? autograd::Precision::bf16 : autograd::Precision::float32;
}

// ------------------------------------------------------------------------------------------ the command line

Option* Options::find(Text name) {
    const auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const Option& r) { return r.name == name; });
    return row == rows_.end() ? nullptr : &*row;
}

bool Options::was_given(Text name) const {
    return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.first->name == name; });
}

// Sets everything to its default, then to the preset's values, then to what is given. words: the rest.
void Options::set_all(std::vector<Given> given, const Words& words) {
    Words none, &rest = rest_.words() != nullptr ? *rest_.words() : none;
    given_ = std::move(given);
    rest = words;  // a preset may depend on them
    for (const Option& row : rows_)
        row.reset();
    for (const auto& [row, value] : given_)
        if (row == preset_)
            row->set(value);
    if (apply_preset_)
        apply_preset_(*this);
    for (Option& row : rows_)
        row.base = row.get();
    for (const auto& [row, value] : given_)
        if (row != preset_)
            row->set(value);
    rest = words;  // and reset them
}

// The option at argv[i] and its value. If the value is the next word, moves i to it.
Options::Given Options::read(int argc, char** argv, int& i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    const bool has_value = name.size() < word.size();
    Option* const row = find(name);
    if (row == nullptr) {
        const Words names = autograd::mapped(rows_, &Option::name);
        throw UsageError(join("unknown option '", name, "'", suggestion(name, names), " ", as_called(),
                              " --help lists them"));
    }
    check_usage(!row->argument.empty() || !has_value, name, " takes no value");
    if (row->argument.empty())
        return {row, ""};
    const bool missing = !has_value && i + 1 == argc;
    const std::string value = missing ? "" : has_value ? word.substr(name.size() + 1) : argv[++i];
    check_usage(!missing && (!value.empty() || row->may_be_empty), name, " needs a value: ", row->argument);
    return {row, value};
}

void Options::parse(int argc, char** argv) {
    const std::string help = as_called() + " --help shows ";
    const Words commands = autograd::mapped(call_.commands, &Command::name);
    const bool has_rest = rest_.words() != nullptr;
    Words words;
    bool options_end = false;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool number = word.size() > 1 && word.find_first_not_of("0123456789", 1) == word.npos;
        if (options_end || word.size() < 2 || word[0] != '-' || number) {
            check_usage(has_rest || (!commands.empty() && i == 1), "unexpected argument '", word, "'; ", help,
                        "what is possible");
            check_usage(has_rest, "unknown command '", word, "'", suggestion(word, commands), " there are ",
                        listed(commands), "; ", help, "more");
            check_usage(rest_kind_ != Rest::files || !word.empty(), "the name of a file is empty");
            words.push_back(word);
        } else if (word == "--version") {
            std::cout << call_.program.substr(0, call_.program.find(' ')) << " (plaingrad) "
                      << autograd::version() << '\n';
            flush_output();
            throw Ended{};
        } else if (word == "--help" || word == "-h") {
            print_help();
            flush_output();
            throw Ended{};
        } else if (word == "--") {
            options_end = true;
        } else {
            asked_.push_back(read(argc, argv, i));
        }
    }
    check_usage(is_shared_ || team->size() == 1, "mpirun has started ", team->size(),
                " processes, but only training is shared out; start this command without mpirun");
    set_all(asked_, words);
    check_usage(words.size() >= rest_count_.least || was_given("--resume"),
                "an argument is missing: ", rest_.argument, "; ", help, "more");
    check_usage(words.size() <= rest_count_.most, "there are too many arguments: ", rest_.argument,
                "; given: ", listed(words), words.empty() ? ";" : suggestion(words[0], commands), " ", help,
                "more");
}

// -------------------------------------------------------------------------------------------------- resuming

// The rest, and the rows of files.
std::vector<Option*> Options::lists() {
    std::vector<Option*> all = {&rest_};
    for (Option& row : rows_)
        if (row.split != nullptr)
            all.push_back(&row);
    return all;
}

std::string Options::kept() {
    std::string lines;
    const auto add = [&](const std::string& line) {
        autograd::check(line.find('\n') == line.npos && nn::checkpoint::find_invalid_utf8(line) == line.npos,
                        line, ": this must be one line of UTF-8, to be kept in a checkpoint");
        lines.append(line).append("\n");
    };
    for (const Option& row : rows_)
        if (row.is_kept() && row.split == nullptr)
            add(as_words(row, "="));
    for (const Option* list : lists()) {
        const Rest kind = list == &rest_ ? rest_kind_ : Rest::files;
        add("--");
        for (const std::string& word : kind == Rest::this_call ? Words() : *list->words())
            add(kind == Rest::names ? word : std::filesystem::absolute(word).string());
    }
    return lines;
}

std::string Options::changeable() const {
    Words names;
    for (const Option& row : rows_)
        if (row.on_resume == OnResume::may_change || row.on_resume == OnResume::this_call)
            names.push_back(row.name);
    return listed(names);
}

void Options::resume(Text kept, Text path) {
    for (const auto& [row, value] : asked_)
        if (row->on_resume == OnResume::kept || row->on_resume == OnResume::new_run)
            throw UsageError(join("--resume continues the run with its settings: ", row->name,
                                  " cannot be given again", row->reason.empty() ? "" : ", because ",
                                  row->reason, "; these can: ", changeable()));
    const std::vector<Option*> all_lists = lists();
    std::vector<Words> parts(1);  // settings, and the words of each list
    autograd::TextInput lines(kept);
    for (std::string line; std::getline(lines, line);)
        if (line == "--")
            parts.emplace_back();
        else
            parts.back().push_back(line);
    check_file(parts.size() == 1 + all_lists.size() && (rest_kind_ != Rest::files || !parts[1].empty()), path,
               ": the settings of its run cannot be read");
    std::vector<Given> all;
    for (const std::string& line : parts[0]) {
        const std::size_t equals = std::min(line.find('='), line.size());
        Option* const row = find(line.substr(0, equals));
        check_file(row != nullptr, path, ": unknown option '", line.substr(0, equals), "'");
        all.emplace_back(row, line.substr(std::min(equals + 1, line.size())));
    }
    all.insert(all.end(), asked_.begin(), asked_.end());
    Words words = rest_.words() != nullptr ? *rest_.words() : Words();
    check_file(words.empty() || rest_kind_ != Rest::names || words == parts[1], path, ": this run learns ",
               models::listed(parts[1]), ", and goes on with it");
    if (words.empty() || rest_kind_ == Rest::files)
        words.insert(words.end(), parts[1].begin() + std::min(std::ssize(words), std::ssize(parts[1])),
                     parts[1].end());
    try {
        set_all(all, words);
    } catch (const UsageError& error) {
        throw nn::checkpoint::FileError(join(path, ": ", error.what()));
    }
    for (std::size_t i = 1; i < all_lists.size(); ++i)
        if (!was_given(all_lists[i]->name))
            *all_lists[i]->words() = parts[1 + i];
}

std::string Options::changed() const {
    Words words;
    for (const Option& row : rows_)
        if (row.is_kept() && (row.get() != row.base || &row == preset_))
            words.push_back(as_words(row, " "));
    return listed(words, " ");
}

// -------------------------------------------------------------------------------------------------- commands

void run_command(const std::string& program, int argc, char** argv, const std::vector<Command>& commands,
                 nn::Team& team) {
    const std::vector<Command> named(commands.begin() + 1, commands.end());
    for (const Command& command : named)
        if (argc > 1 && command.name == argv[1]) {
            Options options({program + " " + command.name, command.summary, argc - 1, argv + 1, {}, &team});
            return command.run(options);
        }
    Options options({program, commands[0].summary, argc, argv, named, &team});
    commands[0].run(options);
}

// ------------------------------------------------------------------------------------------------- the help

extern const std::string_view help_texts;  // help_texts.txt, compiled in by the Makefile

namespace {

std::size_t output_width() { return static_cast<std::size_t>(std::max(terminal_width(STDOUT_FILENO), 40)); }

void print_paragraph(const std::string& text, std::size_t indent = 0) {
    for (const std::string& line : wrapped(text, output_width() - indent))
        std::cout << std::string(indent, ' ') << line << '\n';
}

// `left` in a column of this width, and `right` beside it; or below, if `left` is wider.
void print_row(const std::string& left, const std::string& right, std::size_t width) {
    std::string line = "  " + left;
    if (left.size() > width || right.empty())
        std::cout << std::exchange(line, "") << '\n';
    for (const std::string& part : wrapped(right, output_width() - width - 4)) {
        line.resize(width + 4, ' ');
        std::cout << std::exchange(line, "") << part << '\n';
    }
}

std::string left_of(const Option& row) {
    return row.argument.empty() ? row.name : row.name + " " + row.argument;
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& words) {
    const std::string* nearest = nullptr;
    std::size_t least = 3;
    for (const std::string& candidate : words)
        if (word.size() < 40)
            if (const std::size_t d = models::text::edit_distance(word, candidate);
                d > 0 && d < least && candidate.size() > 2 * d)
                least = d, nearest = &candidate;
    return nearest == nullptr ? ";" : "; did you mean " + *nearest + "?";
}

void Options::print_presets() {
    std::cout << '\n';
    const Words usual = autograd::mapped(rows_, [](const Option& row) { return row.get(); });
    for (const std::string& choice : preset_->choices) {
        set_all({{preset_, choice}}, {});
        Words settings;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (&rows_[i] != preset_ && rows_[i].get() != usual[i])
                settings.push_back(rows_[i].name + " " + rows_[i].get());
        print_row(preset_->name + " " + choice,
                  settings.empty() ? "the values above" : models::listed(settings, " "), 20);
    }
}

// `text`, in which "./apps/classify" becomes the name by which the program was called. Without a text, that
// name and the command, as in "plaingrad-classify train".
std::string Options::as_called(std::string text) const {
    const std::string program = call_.program.substr(0, call_.program.find(' '));
    const std::string here = (program.find('/') == program.npos ? "./apps/" : "./") + program;
    if (text.empty())
        text = here + call_.program.substr(program.size());
    for (std::size_t at = text.find(here); at != text.npos && !called().empty();
         at = text.find(here, at + called().size()))
        text.replace(at, here.size(), called());
    return text;
}

void Options::print_help() {
    set_all({}, {});
    const std::size_t widest_word = std::max({rest_.argument.size(), widest(call_.commands, &Command::name),
                                              widest(rows_, left_of), std::size_t{9}});  // --version
    const std::size_t width = std::min<std::size_t>(widest_word, 24);
    print_paragraph(call_.program + ": " + call_.summary);
    const std::string words = rest_count_.least > 0 ? " " + rest_.argument : " [" + rest_.argument + "]";
    std::cout << "\nusage: " << as_called() << " [options]" << (rest_.words() == nullptr ? "" : words)
              << '\n';
    if (!call_.commands.empty())
        std::cout << "       " << as_called() << " COMMAND --help\n\n";
    for (const Command& command : call_.commands)
        print_row(command.name, command.summary, width);
    std::cout << '\n';
    if (rest_.words() != nullptr)
        print_row(rest_.argument, rest_.help, width);
    for (const Option& row : rows_) {
        const std::string value = row.argument.empty() ? "" : row.get();
        print_row(left_of(row), value.empty() ? row.help : row.help + " (" + value + ")", width);
    }
    print_row("--help", "print this help", width);
    print_row("--version", "print the version of plaingrad", width);
    if (preset_ != nullptr)
        print_presets();
    if (find("--resume") != nullptr)
        print_paragraph("\n--resume continues a run with its settings. These options may be given again: " +
                        changeable() + (rest_kind_ == Rest::files ? ", and files that have moved." : "."));
    print_texts();
}

// What help_texts.txt has below the line "# PROGRAM COMMAND".
void Options::print_texts() const {
    autograd::TextInput texts{std::string(help_texts)};
    std::string line, before, paragraph;
    while (std::getline(texts, line) && line != "# " + call_.program)
        continue;
    for (; std::getline(texts, line) && !line.starts_with("# "); before = line)
        if (line.starts_with("$ "))
            std::cout << (before.empty() ? "\nexamples:\n  " : "  ") << as_called(line.substr(2)) << '\n';
        else if (line.starts_with("    "))
            print_paragraph(line.substr(4), 6);
        else if (line == "{note}")
            print_paragraph("\n" + note_);
        else if (!line.empty())
            paragraph += (paragraph.empty() ? "\n" : " ") + line;
        else
            print_paragraph(std::exchange(paragraph, ""));
    print_paragraph(paragraph);
}

}  // namespace plaingrad::kit
