#include "apps/kit/options.h"

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/base/mapped.h"
#include "autograd/base/parallel.h"
#include "autograd/plain.h"

namespace plaingrad::kit {

using autograd::join;

void Options::rest(const std::string& argument, const std::string& help, Words& words, Count count,
                   Rest kind) {
    Settings::rest(words, kind);
    rest_ = &words;
    rest_argument_ = argument;
    rest_help_ = help;
    rest_count_ = count;
    names_files_ = kind == Rest::files || kind == Rest::model_and_files;
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

models::Setting& Options::add_precision(std::string& precision) {
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

// The option at argv[i] and its value. If the value is the next word, moves i to it.
Options::Given Options::read(int argc, char** argv, int& i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    const bool has_value = name.size() < word.size();
    models::Setting* const row = find(name);
    if (row == nullptr) {
        const Words names = autograd::mapped(rows_, &models::Setting::name);
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
            check_usage(rest_ != nullptr || (!names.empty() && i == 1), "unexpected argument '", word,
                        "'; --help shows what is possible");
            check_usage(rest_ != nullptr, "unknown command '", word, "'", suggestion(word, names),
                        " there are ", models::listed(names), "; --help shows more");
            check_usage(!names_files_ || !word.empty(), "the name of a file is empty");
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
    Words none, &rest = rest_ != nullptr ? *rest_ : none;
    rest = words;  // a preset may depend on them
    set_all(asked_);
    rest = words;  // and reset them
    const std::string more = "; " + as_called() + " --help shows more";
    check_usage(words.size() >= rest_count_.least, "an argument is missing: ", rest_argument_, more);
    const Words names = autograd::mapped(call_.commands, &Command::name);
    check_usage(words.size() <= rest_count_.most, "there are too many arguments: ", rest_argument_,
                "; given: ", models::listed(words), words.empty() ? ";" : suggestion(words[0], names),
                more.substr(1));
}

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
