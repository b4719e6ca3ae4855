#include "apps/kit/options.h"

#include <algorithm>
#include <filesystem>

#include "apps/kit/program.h"
#include "autograd/base/list.h"
#include "autograd/base/parallel.h"
#include "autograd/base/text_stream.h"
#include "autograd/plain.h"
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

// A text that sets the same value.
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return nn::checkpoint::to_text(value); }
std::string text_of(bool value) { return value ? "true" : ""; }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const Options::Words& files) { return listed(files, ","); }

// As on a command line.
std::string as_words(const Option& row, const char* equals) {
    return row.argument.empty() ? row.name : row.name + equals + row.get();
}

// A switch that is off, or a word that is missing, is not kept.
bool is_kept(const Option& row) {
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

// ----------------------------------------------------------------------------------------------------- rows

template <class T>
Option& Options::row(Text name, Text argument, Text help, T& value, const std::function<T(Text)>& parse) {
    return rows_.emplace_back(
        Option{name, argument, help, [&value, parse](Text text) { value = parse(text); },
               [&value] { return text_of(value); }, [&value, old = value] { value = old; }});
}

Option& Options::add(Text name, Text argument, Text help, int64_t& value, IntegerRange range) {
    return row<int64_t>(name, argument, help, value,
                        [=](Text text) { return parse_integer(name, text, range); });
}
Option& Options::add(Text name, Text argument, Text help, double& value, RealRange range) {
    return row<double>(name, argument, help, value, [=](Text text) { return parse_real(name, text, range); });
}
Option& Options::add(Text name, Text argument, Text help, std::string& value) {
    return row<std::string>(name, argument, help, value, [](Text text) { return text; });
}
Option& Options::add(Text name, Text help, bool& value) {
    return row<bool>(name, "", help, value, [](Text) { return true; });
}
Option& Options::add(Text name, Text help, std::string& value, const Words& choices) {
    const std::string list = listed(choices, "|");
    return row<std::string>(name, list, help, value, [=](Text text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
            throw UsageError(join(name, " must be one of ", list, ": got '", text, "'"));
        return text;
    });
}

Option& Options::add_each(Text name, Text argument, Text help, Words& texts) {
    return rows_.emplace_back(Option{name, argument, help, [&texts](Text text) { texts.push_back(text); },
                                     [] { return ""; }, [&texts] { texts.clear(); }});
}

Option& Options::add_files(Text name, Text argument, Text help, Words& files,
                           const std::function<Words(Text)>& split) {
    lists_.push_back({name, &files, Rest::files});
    return row<Words>(name, argument, help, files, split);
}

Option& Options::preset(Text name, Text help, std::string& value, const Words& choices,
                        const std::function<void(const Options&)>& apply) {
    preset_ = &add(name, help, value, choices);
    preset_choices_ = choices;
    apply_preset_ = apply;
    return *preset_;
}

void Options::rest(Text argument, Text help, Words& words, Count count, Rest kind) {
    lists_[0] = {"", &words, kind};
    rest_argument_ = argument;
    rest_help_ = help;
    rest_count_ = count;
}

void Options::add_common(int64_t& seed, const std::string& help) {
    add("--seed", "N", help, seed);
    add_threads();
}

void Options::add_threads() {
    const auto add_row = [&](const char* name, const char* argument, const char* help, auto set) {
        rows_.push_back({name, argument, help, set, [] { return ""; }, [] {}});
        rows_.back().this_call();
    };
    add_row("--threads", "N", "number of threads; the results do not depend on it (all processors)",
            [](const std::string& text) {
                autograd::set_thread_count(static_cast<int>(parse_integer("--threads", text, {1, 1024})));
            });
    add_row("--plain", "", "compute each fused op as the textbook composes it: slower, equal up to rounding",
            [](const std::string&) { static const autograd::Plain until_the_end; });
}

Option& Options::add_precision(std::string& precision) {
    const std::string own = precision.empty() ? " (the model's own)" : "";
    return add("--precision",
               "factors of matrix products: float32, or rounded to bf16 (8 significant bits)" + own,
               precision, {std::begin(autograd::kPrecisionNames), std::end(autograd::kPrecisionNames)});
}

autograd::Precision precision_of(const std::string& name) {
    const auto found =
        std::find(std::begin(autograd::kPrecisionNames), std::end(autograd::kPrecisionNames), name);
    autograd::check(found != std::end(autograd::kPrecisionNames), "there is no precision '", name, "'");
    return static_cast<autograd::Precision>(found - std::begin(autograd::kPrecisionNames));
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

// Sets everything to its default, then to the preset's values, then to what is given.
void Options::set_all(std::vector<Given> given) {
    given_ = std::move(given);
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
}

// The option at argv[i] and its value. If the value is the next word, moves i to it.
Options::Given Options::read(int argc, char** argv, int& i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    const bool has_value = name.size() < word.size();
    Option* const row = find(name);
    if (row == nullptr) {
        const Words names = autograd::mapped(rows_, &Option::name);
        throw UsageError(join("unknown option '", name, "'", suggestion(name, names), " --help lists them"));
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
    Words words;
    bool options_end = false;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool number = word.size() > 1 && word.find_first_not_of("0123456789", 1) == word.npos;
        if (options_end || word.size() < 2 || word[0] != '-' || number) {
            const Words names = autograd::mapped(call_.commands, &Command::name);
            check_usage(lists_[0].words != nullptr || (!names.empty() && i == 1), "unexpected argument '",
                        word, "'; --help shows what is possible");
            check_usage(lists_[0].words != nullptr, "unknown command '", word, "'", suggestion(word, names),
                        " there are ", listed(names), "; --help shows more");
            check_usage(!lists_[0].has_files() || !word.empty(), "the name of a file is empty");
            words.push_back(word);
        } else if (word == "--help" || word == "-h" || word == "--version") {
            word == "--version" ? print_version() : print_help();
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
    Words none, &rest = lists_[0].words != nullptr ? *lists_[0].words : none;
    rest = words;  // a preset may depend on them
    set_all(asked_);
    rest = words;  // and reset them
    const std::string more = "; " + as_called() + " --help shows more";
    check_usage(words.size() >= rest_count_.least, "an argument is missing: ", rest_argument_, more);
    const Words names = autograd::mapped(call_.commands, &Command::name);
    check_usage(words.size() <= rest_count_.most, "there are too many arguments: ", rest_argument_,
                "; given: ", listed(words), words.empty() ? ";" : suggestion(words[0], names),
                more.substr(1));
}

// -------------------------------------------------------------------------------------------------- resuming

std::string Options::kept() const {
    std::string lines;
    const auto add = [&](const std::string& line) {
        autograd::check(line.find('\n') == line.npos && nn::checkpoint::find_invalid_utf8(line) == line.npos,
                        line, ": this must be one line of UTF-8, to be kept in a checkpoint");
        lines.append(line).append("\n");
    };
    for (const Option& row : rows_)
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
        Option* const row = find(line.substr(0, equals));
        check_file(row != nullptr, path, ": unknown option '", line.substr(0, equals), "'");
        all.emplace_back(row, line.substr(std::min(equals + 1, line.size())));
    }
    all.insert(all.end(), asked_.begin(), asked_.end());
    Words* const rest = lists_[0].words;
    const Words rest_given = rest != nullptr ? *rest : Words();  // a preset may reset everything
    try {
        set_all(all);
    } catch (const UsageError& error) {
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

std::string Options::changed() const {
    Words words;
    for (const Option& row : rows_)
        if (is_kept(row) && (row.get() != row.base || &row == preset_))
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

// Processes with other commands would wait for each other, or train with other settings. Only the number of
// threads may differ.
static void check_same_command(const std::string& program, int argc, char** argv, nn::Team& team) {
    std::string words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool is_number = word == "--threads";
        i += is_number ? 1 : 0;
        if (!is_number && !word.starts_with("--threads="))
            words += (word.starts_with("--") ? '\n' : ' ') + word;
    }
    try {
        nn::check_same(team, "another program or version", program + " " + nn::build());
        nn::check_same(team, "another command", words);
    } catch (const autograd::Error& error) {
        throw UsageError(error.what());
    }
}

int run_program(const std::string& program, int argc, char** argv, const std::function<Commands()>& commands,
                Join& join) {
    const auto body = [&](nn::Team& team) {
        check_same_command(program, argc, argv, team);
        run_command(program, argc, argv, commands(), team);
        return 0;
    };
    return run_in_team(program, argv[0], std::ref(body),
                       join);  // a copy could fail, outside of what reports it
}

}  // namespace plaingrad::kit
