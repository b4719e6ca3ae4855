// Command lines. An option is one row: its name, its argument and help, the variable that it sets, whose
// value is the default, the range, and what becomes of it when a run is resumed. Parsing, the help, presets,
// what a checkpoint says of the settings of its run, and the check of --resume all follow from the rows.
//
//     Options options("reverse_task", "trains a Transformer to reverse sequences");
//     options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
//     options.add("--steps", "N", "training steps", s.steps, {.min = 1}).may_change();
//     options.parse(argc, argv);
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace plaingrad::kit {

// The command line is wrong: one line on standard error, exit status 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct IntegerRange {
    int64_t min = 0, max = std::numeric_limits<int64_t>::max();
};
struct RealRange {
    double min = 0, max = std::numeric_limits<double>::max();
};

enum class OnResume {
    kept,        // the checkpoint knows the value; it can't be given again
    may_change,  // the checkpoint knows the value; it may be given again
    this_call,   // of one call alone: not kept, and may be given
    new_run,     // of the run's first call alone: not kept, and can't be given
};

struct Option {
    std::string name, argument, help;  // no argument: a switch
    std::function<void(const std::string&)> set;
    std::function<std::string()> get;  // a text that sets the same value
    std::function<void()> reset;       // back to the default
    OnResume on_resume = OnResume::kept;
    bool empty_allowed = true;  // an empty text is usually a shell variable that is not set
    std::string base = {};      // the value before the command line's: the default, or the preset's

    Option& may_change() { return on_resume = OnResume::may_change, *this; }
    Option& this_call() { return on_resume = OnResume::this_call, *this; }
    Option& new_run() { return on_resume = OnResume::new_run, *this; }
    Option& may_be_empty() { return empty_allowed = true, *this; }
};

class Options {
public:
    using Lines = std::vector<std::string>;

    Options(std::string program, std::string summary);

    // `value` holds the default, which the help shows, and receives what is given.
    Option& add(const std::string& name, const std::string& argument, const std::string& help, int64_t& value,
                IntegerRange range = {});
    Option& add(const std::string& name, const std::string& argument, const std::string& help, double& value,
                RealRange range = {});
    Option& add(const std::string& name, const std::string& argument, const std::string& help,
                std::string& value);
    Option& add(const std::string& name, const std::string& help, bool& value);  // a switch
    // One of a few words.
    Option& add(const std::string& name, const std::string& help, std::string& value, const Lines& choices);
    // Files, which `split` finds in the argument. A checkpoint keeps their absolute names.
    Option& add_files(const std::string& name, const std::string& argument, const std::string& help,
                      Lines& files, const std::function<Lines(const std::string&)>& split);
    // One of a few words, by which `apply` chooses what the other variables are unless given: it is called
    // first.
    Option& preset(const std::string& name, const std::string& help, std::string& value, const Lines& choices,
                   const std::function<void(const Options&)>& apply);

    // What may stand besides options, e.g. ("SYMBOL...", "a sequence to reverse", words). required: at least
    // one word. A checkpoint keeps them if they are files, by their absolute names, or if they name the work.
    enum class Rest { this_call, names, files };
    void rest(const std::string& argument, const std::string& help, Lines& words, bool required = false,
              Rest kind = Rest::this_call);
    // A command of the program, for the help; see apps/kit/commands.h.
    void command(const std::string& name, const std::string& summary);
    // A line to paste, and what it does.
    void example(const std::string& command, const std::string& effect);
    // A paragraph at the end of the help.
    void note(const std::string& text);

    // --threads and --plain, which every program has; and for those that draw numbers, --seed.
    void add_threads();
    void add_common(int64_t& seed, const std::string& of = "of initial weights, data and dropout");

    // Throws UsageError; prints the help and exits for --help.
    void parse(int argc, char** argv);
    bool was_given(const std::string& name) const;

    // The settings of a run, for its checkpoint: an option a line, --steps=9 or --lower-case; behind "--" the
    // rest's words, and behind another "--" those of each option for files.
    std::string kept() const;
    // Sets everything again to what a checkpoint of this run keeps, and then to what parse found. Throws
    // UsageError for options that can't be given again, and FileError naming `path` for lines that `kept`
    // cannot have written.
    void resume(const std::string& kept, const std::string& path);
    // The kept options that differ from the preset's values: "--steps 9 --lower-case".
    std::string changed() const;

private:
    using Given = std::pair<Option*, std::string>;

    Option& row(Option option) { return options_.emplace_back(std::move(option)); }
    Option* find(const std::string& name);
    void read(const Lines& words, std::vector<Given>& given, Lines& rest);
    void set_all(std::vector<Given> given);
    [[noreturn]] void print_help();
    [[noreturn]] void print_version() const;
    std::string as_called(std::string text = {}) const;
    void print_presets();
    void print_resume() const;
    std::string changeable() const;  // with --resume: "--steps, --threads"

    std::string program_, summary_;
    std::deque<Option> options_;        // whose elements stay where they are
    std::vector<Given> asked_, given_;  // on the command line; and with what a checkpoint keeps
    Option* preset_ = nullptr;
    Lines preset_choices_;
    std::function<void(const Options&)> apply_preset_;
    std::string rest_argument_, rest_help_;
    Lines* rest_ = nullptr;
    bool rest_required_ = false;
    Rest rest_kind_ = Rest::this_call;
    std::vector<std::pair<const Option*, Lines*>> files_;
    std::vector<std::pair<std::string, std::string>> commands_, examples_;
    Lines notes_;
};

// Numbers as whole words. Throw UsageError naming `what`.
int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range = {});
double parse_real(const std::string& what, const std::string& text, RealRange range = {});

// "; did you mean --steps?", if one of the words differs from `word` by a letter or two, or by two that are
// swapped; else ";".
std::string suggestion(const std::string& word, const std::vector<std::string>& words);

}  // namespace plaingrad::kit
