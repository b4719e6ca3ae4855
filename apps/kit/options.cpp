#include "apps/kit/options.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "autograd/base/list.h"
#include "autograd/base/parallel.h"
#include "autograd/base/real.h"
#include "autograd/base/text_stream.h"
#include "autograd/plain.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::kit {

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
std::string text_of(const Option::Words* texts) { return listed(*texts, ","); }

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
    if (auto* const texts = std::get_if<Words*>(&variable))
        (*texts)->push_back(text);
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

// A switch that is off, or a word that is missing, is not kept.
bool Option::is_kept() const { return in_checkpoint && (may_be_empty || !get().empty()); }

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

Option& Options::preset(Text name, Text help, std::string& value, const Words& choices, Apply apply) {
    apply_preset_ = std::move(apply);
    return *(preset_ = &add(name, help, value, choices));
}

Option& Options::rest(Text argument, Text help, Words& words, IntegerRange count) {
    rest_words_ = &words;
    rest_count_ = count;
    return rest_ = Option{"", argument, help}.this_call();
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
    return std::any_of(given_.options.begin(), given_.options.end(),
                       [&](const Given& g) { return g.first->name == name; });
}

// Sets everything to its default, then to the preset's values, then to what is given.
void Options::set_all(Line given) {
    given_ = std::move(given);
    for (const Option& row : rows_)
        row.reset();
    for (const auto& [row, value] : given_.options)
        if (row == preset_)
            row->set(value);
    if (apply_preset_)
        apply_preset_(*this);
    for (Option& row : rows_)
        row.base = row.get();
    for (const auto& [row, value] : given_.options)
        if (row != preset_)
            row->set(value);
    if (rest_words_ != nullptr)
        *rest_words_ = given_.words;
}

// The option at line[i] and its value. If the value is the next word, moves i to it.
Options::Given Options::option_at(const Words& line, std::size_t& i) {
    const std::string word = line[i], name = word.substr(0, word.find('='));
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
    const bool missing = !has_value && i + 1 == line.size();
    const std::string value = missing ? "" : has_value ? word.substr(name.size() + 1) : line[++i];
    check_usage(!missing && (!value.empty() || row->may_be_empty), name, " needs a value: ", row->argument);
    return {row, value};
}

// A command line, without the program's name: typed, or what `kept` has written.
Options::Line Options::read(const Words& line, bool typed) {
    const std::string help = as_called() + " --help shows ";
    const Words commands = autograd::mapped(call_.commands, &Command::name);
    const bool has_rest = rest_words_ != nullptr;
    Line result;
    bool options_end = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::string& word = line[i];
        const bool number = word.size() > 1 && word.find_first_not_of("0123456789", 1) == word.npos;
        if (options_end || word.size() < 2 || word[0] != '-' || number) {
            check_usage(has_rest || (!commands.empty() && i == 0), "unexpected argument '", word, "'; ", help,
                        "what is possible");
            check_usage(has_rest, "unknown command '", word, "'", suggestion(word, commands), " there are ",
                        listed(commands), "; ", help, "more");
            check_usage(!has_files() || !word.empty(), "the name of a file is empty");
            result.words.push_back(word);
        } else if (typed && word == "--version") {
            std::cout << call_.program.substr(0, call_.program.find(' ')) << " (plaingrad) "
                      << autograd::version() << '\n';
            flush_output();
            throw Ended{};
        } else if (typed && (word == "--help" || word == "-h")) {
            print_help();
            flush_output();
            throw Ended{};
        } else if (word == "--") {
            options_end = true;
        } else {
            result.options.push_back(option_at(line, i));
        }
    }
    return result;
}

void Options::parse(int argc, char** argv) {
    asked_ = read({argv + 1, argv + argc}, true);
    check_usage(is_shared_ || team->size() == 1, "mpirun has started ", team->size(),
                " processes, but only training is shared out; start this command without mpirun");
    set_all(asked_);
    if (!has_files() || !was_given("--resume"))
        check_words();
}

void Options::check_words() const {
    const std::string help = as_called() + " --help shows more";
    check_usage(std::ssize(words()) >= rest_count_.min, "an argument is missing: ", rest_.argument, "; ",
                help);
    check_usage(
        std::ssize(words()) <= rest_count_.max, "there are too many arguments: ", rest_.argument,
        "; given: ", listed(words()),
        words().empty() ? ";" : suggestion(words()[0], autograd::mapped(call_.commands, &Command::name)), " ",
        help);
}

// -------------------------------------------------------------------------------------------------- resuming

std::string Options::kept() const {
    std::string lines;
    const auto add = [&](const std::string& line) {
        check(line.find('\n') == line.npos && nn::checkpoint::find_invalid_utf8(line) == line.npos, line,
              ": this must be one line of UTF-8, to be kept in a checkpoint");
        lines.append(line).append("\n");
    };
    for (const Option& row : rows_)
        if (row.is_kept())
            add(as_words(row, "="));
    add("--");
    for (const std::string& word : rest_.in_checkpoint ? given_.words : Words())
        add(has_files() ? std::filesystem::absolute(word).string() : word);
    return lines;
}

std::string Options::changeable() const {
    Words names;
    for (const Option& row : rows_)
        if (row.given_again)
            names.push_back(row.name);
    return listed(names);
}

void Options::resume(Text kept, Text path) {
    for (const auto& [row, value] : asked_.options)
        check_usage(row->given_again, "--resume continues the run with its settings: ", row->name,
                    " cannot be given again", row->reason.empty() ? "" : ", because ", row->reason,
                    "; these can: ", changeable());
    check_usage(rest_.given_again || asked_.words.empty(), "--resume continues the run with its own ",
                rest_.argument, ": got ", listed(asked_.words));
    Words settings;
    autograd::TextInput lines(kept);
    for (std::string line; std::getline(lines, line);)
        settings.push_back(line);
    try {
        Line all = read(settings, false);
        all.options.insert(all.options.end(), asked_.options.begin(), asked_.options.end());
        all.words.erase(all.words.begin(),
                        all.words.begin() + std::min(std::ssize(asked_.words), std::ssize(all.words)));
        all.words.insert(all.words.begin(), asked_.words.begin(), asked_.words.end());
        set_all(all);
        check_words();
    } catch (const UsageError& error) {
        throw nn::checkpoint::FileError(join(path, ": ", error.what()));
    }
}

std::string Options::changed() const {
    Words words;
    for (const Option& row : rows_)
        if (row.is_kept() && (row.get() != row.base || &row == preset_))
            words.push_back(as_words(row, " "));
    return listed(words, " ");
}

// -------------------------------------------------------------------------------------------------- commands

void run_command(const std::string& program, int argc, char** argv, const Commands& commands,
                 nn::Team& team) {
    const Commands named(commands.begin() + 1, commands.end());
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

void print_paragraph(const std::string& text) {
    const int width = std::max(terminal_width(STDOUT_FILENO), 40);
    for (const std::string& line : wrapped(text, static_cast<std::size_t>(width)))
        std::cout << line << '\n';
}

// A name in a column of this width, and its help beside it; or below, if the name is wider.
void print_row(std::string name, const std::string& help, std::size_t width) {
    if (name.size() > width)
        std::cout << "  " << std::exchange(name, "") << '\n';
    print_paragraph("  " + left(name, width) + "  " + help);
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
        set_all({.options = {{preset_, choice}}});
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
    return called().empty() ? text : models::text::replace_all(text, here, called());
}

void Options::print_help() {
    set_all({});
    const std::size_t widest_word = std::max({rest_.argument.size(), widest(call_.commands, &Command::name),
                                              widest(rows_, left_of), std::size_t{9}});  // --version
    const std::size_t width = std::min<std::size_t>(widest_word, 24);
    print_paragraph(call_.program + ": " + call_.summary);
    const std::string words = rest_count_.min > 0 ? " " + rest_.argument : " [" + rest_.argument + "]";
    std::cout << "\nusage: " << as_called() << " [options]" << (rest_words_ == nullptr ? "" : words) << '\n';
    if (!call_.commands.empty())
        std::cout << "       " << as_called() << " COMMAND --help\n\n";
    for (const Command& command : call_.commands)
        print_row(command.name, command.summary, width);
    std::cout << '\n';
    if (rest_words_ != nullptr)
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
                        changeable() + (has_files() ? ", and files that have moved." : "."));
    print_texts();
}

// What help_texts.txt has below the line "# PROGRAM COMMAND".
void Options::print_texts() const {
    const std::string texts(help_texts), title = "\n# " + call_.program + '\n';
    if (const std::size_t found = texts.find(title); found != texts.npos) {
        const std::size_t begin = found + title.size();
        const std::string text = texts.substr(begin, texts.find("\n\n# ", begin) - begin),
                          note = listed(wrapped(note_, 80), "\n");
        std::cout << as_called(models::text::replace_all(text, "{note}", note)) << '\n';
    }
}

}  // namespace plaingrad::kit
