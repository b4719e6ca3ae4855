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
    std::string (*read)(Text) = nullptr;  // called with each text that is given; returns what it means
    bool may_be_empty = false;  // else an empty text is refused: it often comes from an unset shell variable
    // Of a run: whether its checkpoint keeps the value; and whether it may be given again to resume it.
    bool in_checkpoint = true, given_again = false;
    std::string reason = {};  // why it cannot change, if one would expect that it can
    std::string base = {};    // the value if none is given: the default, or the preset's

    Option& kept() { return in_checkpoint = true, given_again = false, *this; }
    Option& may_change() { return in_checkpoint = given_again = true, *this; }
    Option& this_call() { return in_checkpoint = false, given_again = true, *this; }
    Option& new_run() { return in_checkpoint = false, *this; }
    Option& allow_empty() { return may_be_empty = true, *this; }
    Option& can_not_change(Text why) { return reason = why, *this; }
    Option& reads(std::string (*what)(Text)) { return read = what, *this; }

    void set(Text text) const;
    std::string get() const;  // a text that sets the same value
    void reset() const;       // back to the default
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
    Commands commands = {};         // for the help, and for a word that is none of them
    nn::Team* team = &nn::alone();  // of the processes that mpirun has started
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
    // One of a few words. `apply` sets the other variables to this preset's values; then those that were
    // given are set.
    Option& preset(Text name, Text help, std::string& value, const Words& choices, Apply apply);
    // Other defaults, if a setting was given that asks for them.
    void defaults(Apply apply) { apply_preset_ = std::move(apply); }
    // Words beside the options, so many of them, e.g. ("SYMBOL...", "a sequence to reverse", words); for this
    // call only. Those that may_change are names of files, of which a checkpoint keeps the absolute ones.
    // With --resume, some can be given again: they take the place of the first ones.
    Option& rest(Text argument, Text help, Words& words, IntegerRange count = {});
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
    const Words& words() const { return given_.words; }  // beside the options
    nn::Team* team;  // the processes that share what these options are for

    // The settings of a run, for its checkpoint: a command line, an argument per line, --steps=9 or
    // --lower-case; then "--" and the words.
    std::string kept() const;
    // Sets everything to what a checkpoint keeps, and then to what was given. Throws UsageError for what
    // cannot be given again, and FileError naming `path` for lines that `kept` cannot have written.
    void resume(Text kept, Text path);
    // The kept settings that differ from the preset's values: "--steps 9 --lower-case".
    std::string changed() const;
    std::string changeable() const;  // with --resume: "--steps, --threads"

private:
    using Given = std::pair<Option*, std::string>;
    struct Line {
        std::vector<Given> options = {};
        Words words = {};
    };
    Option* find(Text name);
    Given option_at(const Words& line, std::size_t& i);
    Line read(const Words& line, bool typed);
    void set_all(Line given);
    void check_words() const;
    bool has_files() const { return rest_.in_checkpoint && rest_.given_again; }
    void print_help();
    void print_texts() const;
    void print_presets();

    Call call_;
    std::deque<Option> rows_;  // a deque: its elements never move
    Line asked_;               // on the command line
    Line given_;               // by the checkpoint, then on the command line
    Option* preset_ = nullptr;
    Apply apply_preset_;
    Option rest_ = {};  // the words beside the options,
    Words* rest_words_ = nullptr;
    IntegerRange rest_count_ = {};
    std::string note_;
    bool is_shared_ = false;
};

// Runs the command that the first word names, with the words after it. If there is no word, or the first is
// no command, runs the first of `commands`, which has no name, with all words.
void run_command(const std::string& program, int argc, char** argv, const Commands& commands,
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

}  // namespace plaingrad::kit
