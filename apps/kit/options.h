// Command lines: the rows of models/settings.h as options, words beside them, commands, and --help.
//
//     Options options({"reverse_task", "trains a Transformer to reverse sequences"});
//     options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
//     options.add("--steps", "N", "training steps", s.steps, {.min = 1}).may_change();
//     options.parse(argc, argv);
#pragma once

#include <optional>

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "models/settings.h"

namespace plaingrad::kit {

// The command line is wrong: one line on standard error, exit status 2.
using UsageError = models::SettingError;

// As autograd::check, for what is wrong with a command line.
template <class... Parts>
void check_usage(bool right, const Parts&... parts) {
    if (!right)
        throw UsageError(autograd::join(parts...));
}

using models::parse_integer;
using models::parse_real;

class Options;

// A command of a program, as in ./apps/generate train; or, without a name, what the program does without one.
// `run` adds rows to the options, parses them, and does the work. A status other than 0 is thrown.
struct Command {
    std::string name, summary;
    std::function<void(Options& options)> run;
};

using Commands = std::vector<Command>;

// Thrown when nothing is wrong, but the result is not what it should be: all processes know that, and end of
// themselves.
struct Failed : autograd::Error {
    using autograd::Error::Error;
};
template <class... T>
void check_result(bool is_good, const T&... words) {
    if (!is_good)
        throw Failed(autograd::join(words...));
}

// Thrown when a program has finished early, for example after --help: `run` (apps/kit/program.h) returns the
// status.
struct Ended {
    int status = 0;
};

// How a program was called.
struct Call {
    std::string program, summary = {};  // "generate train", and what it does, for the help
    int argc = 0;
    char** argv = nullptr;
    std::vector<Command> commands = {};  // for the help, and for a word that is none of them
    nn::Team* team = &nn::alone();       // of the processes that mpirun has started
};

class Options : public models::Settings {
public:
    explicit Options(Call call) : call_(std::move(call)) {
        team = call_.team;
        on_made = remove_if_interrupted;
    }

    struct Count {
        std::size_t least = 0, most = SIZE_MAX;
    };
    // The positional arguments, e.g. ("SYMBOL...", "a sequence to reverse", words).
    void rest(const std::string& argument, const std::string& help, Words& words, Count count = {0, SIZE_MAX},
              Rest kind = Rest::this_call);
    // The help ends with what help_texts.txt has for this program; this text takes the place of {note} there.
    void note(const std::string& text) { note_ = text; }

    // Every program that computes has --threads and --plain; one that draws random numbers also has --seed.
    void add_threads();
    // --precision, for `precision_of`; if empty, a saved model's own.
    models::Setting& add_precision(std::string& precision);
    void add_common(int64_t& seed, const std::string& help = "random seed of weights, data and dropout");
    // Says that the processes of a team share the work of this command. Otherwise `parse` refuses more than
    // one: each would do all of it.
    void is_shared() { is_shared_ = true; }

    // Throws UsageError for a wrong command line. For --help and --version, prints the text and throws Ended.
    void parse(int argc, char** argv);
    void parse() { parse(call_.argc, call_.argv); }

    // How the program and its command were called, "./apps/classify train"; or a text, with the program's
    // name as it was called.
    std::string as_called(std::string text = {}) const;

private:
    Given read(int argc, char** argv, int& i);
    void print_help();
    void print_texts() const;
    void print_version() const;
    void print_presets();

    Call call_;
    std::string note_, rest_argument_, rest_help_;
    Words* rest_ = nullptr;
    Count rest_count_;
    bool is_shared_ = false;
    bool names_files_ = false;
};

// Runs the command that the first word names, with the words after it. If there is no word, or the first is
// no command, runs the first of `commands`, which has no name, with all words.
void run_command(const std::string& program, int argc, char** argv, const std::vector<Command>& commands,
                 nn::Team& team = nn::alone());
// The whole `main` of a program: the same within `run` (apps/kit/program.h), where the commands are made,
// too: that takes memory.
int run_program(const std::string& program, int argc, char** argv, const std::function<Commands()>& commands,
                Join& join = nn::join_team);

// "; did you mean --steps?", if one of `words` is at most two typing errors away from `word`; else ";".
std::string suggestion(const std::string& word, const std::vector<std::string>& words);

autograd::Precision precision_of(const std::string& name);
// Of a model that is opened; "": the model's own.
inline std::optional<autograd::Precision> given_precision(const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(precision_of(name));
}

}  // namespace plaingrad::kit
