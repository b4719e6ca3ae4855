// Command lines: the options of a program, words beside them, commands, and --help. An option is one row: its
// name and range, the variable that it sets, whose value is the default, and whether it may change when a run
// is resumed. Everything else follows from the rows: the help, what a checkpoint keeps of them, and what may
// be given to resume it.
//
//     Options options({"reverse_task", "trains a Transformer to reverse sequences"});
//     options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
//     options.add("--steps", "N", "training steps", s.steps, {.min = 1}).may_change();
//     options.parse(argc, argv);
//     const models::RunFolder folder("reverse_task", {.save = "run"}, options);
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/kit/program.h"

namespace plaingrad::kit {

template <class T>
struct Range {
    T min = 0, max = std::numeric_limits<T>::max();
};
using IntegerRange = Range<int64_t>;
using RealRange = Range<double>;
// Numbers as whole words. Throw UsageError naming `what`.
int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range = {});
double parse_real(const std::string& what, const std::string& text, RealRange range = {});

enum class OnResume {
    kept,        // the checkpoint knows the value; it cannot be given again
    may_change,  // the checkpoint knows the value; it may be given again
    this_call,   // for one call only: not kept; may be given in every call
    new_run,     // for the run's first call only: not kept; cannot be given again
};

// A row.
struct Option {
    using Words = std::vector<std::string>;
    using Text = const std::string&;
    std::string name, argument, help;  // no argument: a switch
    std::variant<std::monostate, bool*, int64_t*, double*, std::string*, Words*> variable = {};
    std::variant<std::monostate, bool, int64_t, double, std::string, Words> usual = {};  // its default
    IntegerRange integers = {};
    RealRange reals = {};
    Words choices = {};                   // the only texts that it can have; none: any
    Words (*split)(Text) = nullptr;       // finds the names of files in a text
    std::string (*read)(Text) = nullptr;  // called with each text that is given; returns what it means
    bool may_be_empty = false;  // else an empty text is refused: it often comes from an unset shell variable
    OnResume on_resume = OnResume::kept;
    std::string reason = {};  // why it cannot change, if one would expect that it can
    std::string base = {};    // the value if none is given: the default, or the preset's

    Option& may_change() { return on_resume = OnResume::may_change, *this; }
    Option& this_call() { return on_resume = OnResume::this_call, *this; }
    Option& new_run() { return on_resume = OnResume::new_run, *this; }
    Option& allow_empty() { return may_be_empty = true, *this; }
    Option& can_not_change(Text why) { return reason = why, *this; }
    Option& reads(std::string (*what)(Text)) { return read = what, *this; }

    void set(Text text) const;
    std::string get() const;  // a text that sets the same value
    void reset() const;       // back to the default
    Words* words() const;     // of a list; else null
    bool is_kept() const;
};

class Options;

// A command of a program, as in ./apps/generate train; or, without a name, what the program does without one.
// `run` adds rows to the options, parses them, and does the work. A status other than 0 is thrown.
struct Command {
    std::string name, summary;
    std::function<void(Options& options)> run;
};

using Commands = std::vector<Command>;

// How a program was called.
struct Call {
    std::string program, summary = {};  // "generate train", and what it does, for the help
    int argc = 0;
    char** argv = nullptr;
    std::vector<Command> commands = {};  // for the help, and for a word that is none of them
    nn::Team* team = &nn::alone();       // of the processes that mpirun has started
};

class Options {
public:
    using Words = Option::Words;
    using Text = Option::Text;
    using Apply = std::function<void(const Options& given)>;

    explicit Options(Call call) : team(call.team), call_(std::move(call)) {}
    Options(Options&&) = default;  // no copies: rows point to each other

    // `value` holds the default, and receives the given value.
    Option& add(Text name, Text argument, Text help, int64_t& value, IntegerRange range = {});
    Option& add(Text name, Text argument, Text help, double& value, RealRange range = {});
    Option& add(Text name, Text argument, Text help, std::string& value);
    Option& add(Text name, Text help, bool& value);                               // a switch
    Option& add(Text name, Text help, std::string& value, const Words& choices);  // one of a few words
    // May be given several times: each adds one.
    Option& add_each(Text name, Text argument, Text help, Words& texts);
    // Files, whose names `split` finds in the argument. A checkpoint keeps absolute names.
    Option& add_files(Text name, Text argument, Text help, Words& files, Words (*split)(Text));
    // One of a few words. `apply` sets the other variables to this preset's values; then those that were
    // given are set.
    Option& preset(Text name, Text help, std::string& value, const Words& choices, Apply apply);
    // Other defaults, if a setting was given that asks for them.
    void defaults(Apply apply) { apply_preset_ = std::move(apply); }
    // Words beside the options, e.g. ("SYMBOL...", "a sequence to reverse", words). A checkpoint keeps them,
    // except for this_call. To resume, none need to be given, and some files can be given again: they take
    // the place of the first ones.
    enum class Rest { this_call, names, files };
    struct Count {
        std::size_t least = 0, most = SIZE_MAX;
    };
    void rest(Text argument, Text help, Words& words, Count count = {0, SIZE_MAX},
              Rest kind = Rest::this_call);
    // The help ends with what help_texts.txt has for this program; this text takes the place of {note} there.
    void note(const std::string& text) { note_ = text; }

    // Every program that computes has --threads and --plain; one that draws random numbers also has --seed.
    void add_threads();
    // --precision, for `precision_of`; if empty, a saved model's own.
    Option& add_precision(std::string& precision);
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

    bool was_given(Text name) const;
    nn::Team* team;  // the processes that share what these options are for

    // The settings of a run, for its checkpoint. One setting per line, --steps=9 or --lower-case; then "--"
    // and the positional arguments; then, for each row of files, "--" and the files.
    std::string kept();
    // Sets everything to what a checkpoint keeps, and then to what was given. Throws UsageError for what
    // cannot be given again, and FileError naming `path` for lines that `kept` cannot have written.
    void resume(Text kept, Text path);
    // The kept settings that differ from the preset's values: "--steps 9 --lower-case".
    std::string changed() const;
    std::string changeable() const;  // with --resume: "--steps, --threads"

private:
    using Given = std::pair<Option*, std::string>;
    Option* find(Text name);
    Given read(int argc, char** argv, int& i);
    void set_all(std::vector<Given> given, const Words& words);
    std::vector<Option*> lists();
    void print_help();
    void print_texts() const;
    void print_presets();

    Call call_;
    std::deque<Option> rows_;   // a deque: its elements never move
    std::vector<Given> asked_;  // on the command line
    std::vector<Given> given_;  // by the checkpoint, then on the command line
    Option* preset_ = nullptr;
    Apply apply_preset_;
    Option rest_ = {};  // the words beside the options
    Rest rest_kind_ = Rest::this_call;
    Count rest_count_;
    std::string note_;
    bool is_shared_ = false;
};

// Runs the command that the first word names, with the words after it. If there is no word, or the first is
// no command, runs the first of `commands`, which has no name, with all words.
void run_command(const std::string& program, int argc, char** argv, const std::vector<Command>& commands,
                 nn::Team& team = nn::alone());
// The whole `main` of a program: the same within `run` (apps/kit/program.h), in each of the processes that
// mpirun has started together, or in the only one. Of several, the first one speaks. If one of them fails, it
// says so and all of them end. `join` makes the team.
using Join = std::unique_ptr<nn::Team>();
int run_program(const std::string& program, int argc, char** argv, const Commands& commands,
                Join& join = nn::join_team);

// "; did you mean --steps?", if one of `words` is at most two typing errors away from `word`; else ";".
std::string suggestion(const std::string& word, const std::vector<std::string>& words);

autograd::Precision precision_of(const std::string& name);
// Of a model that is opened; "": the model's own.
inline std::optional<autograd::Precision> given_precision(const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(precision_of(name));
}

}  // namespace plaingrad::kit
