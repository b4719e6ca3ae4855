// The settings of a training run, one row each: its name and range, the variable that it sets, whose value is
// the default, and whether it may change when the run is resumed. Everything else follows from the rows: the
// options of a program and their help (apps/kit/options.h), what a checkpoint keeps, and what may be set when
// a run is resumed.
//
//     Settings settings;
//     settings.add("--lr", "X", "highest learning rate", lr, {.max = 1});
//     settings.add("--steps", "N", "training steps", steps, {.min = 1}).may_change();
//     const RunFolder folder("my program", {.save = "run"}, settings);
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nn/parallel/team.h"

namespace plaingrad::models {

// A value that its row does not allow, or a setting that cannot be given. It is not an autograd::Error: the
// command is wrong, not the data, so a program ends with status 2.
struct SettingError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class T>
struct Range {
    T min = 0, max = std::numeric_limits<T>::max();
};
using IntegerRange = Range<int64_t>;
using RealRange = Range<double>;
// Numbers as whole words. Throw SettingError naming `what`.
int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range = {});
double parse_real(const std::string& what, const std::string& text, RealRange range = {});

// "a, b, c"
std::string listed(const std::vector<std::string>& words, const char* between = ", ");

enum class OnResume {
    kept,        // the checkpoint knows the value; it can't be given again
    may_change,  // the checkpoint knows the value; it may be given again
    this_call,   // for one call only: not kept; may be given in every call
    new_run,     // for the run's first call only: not kept; can't be given again
};

struct Setting {
    std::string name, argument, help;  // no argument: a switch
    std::function<void(const std::string&)> set;
    std::function<std::string()> get;  // a text that sets the same value
    std::function<void()> reset;       // back to the default
    bool may_be_empty = false;  // else an empty text is refused: it often comes from an unset shell variable
    OnResume on_resume = OnResume::kept;
    std::string reason = {};  // why it can't change, if one would expect that it can
    std::string base = {};    // the value if none is given: the default, or the preset's

    Setting& may_change() { return on_resume = OnResume::may_change, *this; }
    Setting& this_call() { return on_resume = OnResume::this_call, *this; }
    Setting& new_run() { return on_resume = OnResume::new_run, *this; }
    Setting& allow_empty() { return may_be_empty = true, *this; }
    Setting& can_not_change(const std::string& why) { return reason = why, *this; }
};

class Settings {
public:
    using Words = std::vector<std::string>;

    Settings() = default;
    Settings(Settings&&) = default;  // no copies: rows point to each other

    using Text = const std::string&;

    // `value` holds the default, and receives the given value.
    Setting& add(Text name, Text argument, Text help, int64_t& value, IntegerRange range = {});
    Setting& add(Text name, Text argument, Text help, double& value, RealRange range = {});
    Setting& add(Text name, Text argument, Text help, std::string& value);
    Setting& add(Text name, Text help, bool& value);                               // a switch
    Setting& add(Text name, Text help, std::string& value, const Words& choices);  // one of a few words
    // May be given several times: each adds one.
    Setting& add_each(Text name, Text argument, Text help, Words& texts);
    // Files, whose names `split` finds in the argument, or one. A checkpoint keeps absolute names.
    Setting& add_files(
        Text name, Text argument, Text help, Words& files,
        const std::function<Words(Text)>& split = [](Text file) { return Words{file}; });
    // One of a few words. `apply` sets the other variables to this preset's values; then those that were
    // given are set.
    Setting& preset(Text name, Text help, std::string& value, const Words& choices,
                    const std::function<void(const Settings&)>& apply);
    // Other defaults, if a setting was given that asks for them.
    void defaults(const std::function<void(const Settings&)>& apply) { apply_preset_ = apply; }
    // The positional arguments, such as the files to learn from. A checkpoint keeps them, except for
    // this_call. model_and_files: files, the first of which may be a model's folder. To
    // resume, the first can be given alone.
    enum class Rest { this_call, names, files, model_and_files };
    void rest(Words& words, Rest kind) { lists_[0] = {"", &words, kind}; }

    nn::Team* team = &nn::alone();  // the processes that share what these settings are for
    // Told of the folders that a run has made for itself, the innermost first; they are still empty.
    std::function<void(const Words& folders)> on_made = [](const Words&) {};

    bool was_given(Text name) const;

    // The settings of a run, for its checkpoint. One setting per line, --steps=9 or --lower-case; then "--"
    // and the positional arguments; then, for each row of files, "--" and the files.
    std::string kept() const;
    // Sets everything to what a checkpoint keeps, and then to what was given. Throws SettingError for what
    // can't be given again, and FileError naming `path` for lines that `kept` cannot have written.
    void resume(Text kept, Text path);
    // The kept settings that differ from the preset's values: "--steps 9 --lower-case".
    std::string changed() const;
    std::string changeable() const;  // with --resume: "--steps, --threads"

protected:
    using Given = std::pair<Setting*, std::string>;

    Setting* find(Text name);
    void set_all(std::vector<Given> given);

    std::deque<Setting> rows_;  // a deque: its elements never move
    std::vector<Given> asked_;  // given by the caller, not by a checkpoint
    Setting* preset_ = nullptr;
    Words preset_choices_;

private:
    struct List {
        std::string name;  // of the row, "" for the rest
        Words* words = nullptr;
        Rest kind = Rest::this_call;
    };
    template <class T>
    Setting& row(Text name, Text argument, Text help, T& value, const std::function<T(Text)>& parse);

    std::vector<Given> given_;  // by the checkpoint, then by the caller
    std::function<void(const Settings&)> apply_preset_;
    std::vector<List> lists_{1};  // the rest, and the rows of files
};

}  // namespace plaingrad::models
