// Command lines: options are declared once, with their help text, next to the variables they set.
//
//     int64_t steps = 1200;
//     Options options("reverse_task", "trains a Transformer to reverse sequences");
//     options.add("--steps", "N", "training steps", steps, {.min = 1});
//     options.parse(argc, argv);
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
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

class Options {
public:
    Options(std::string program, std::string summary);

    // `value` holds the default, which the help shows, and receives what is given.
    void add(const std::string& name, const std::string& argument, const std::string& help, int64_t& value,
             IntegerRange range = {});
    void add(const std::string& name, const std::string& argument, const std::string& help, double& value,
             RealRange range = {});
    void add(const std::string& name, const std::string& argument, const std::string& help,
             std::string& value);
    void add(const std::string& name, const std::string& help, bool& value);  // without an argument
    // One of a few words.
    void add(const std::string& name, const std::string& help, std::string& value,
             const std::vector<std::string>& choices);

    // What may stand besides options, e.g. ("SYMBOL...", "a sequence to reverse", words); required: what must, at
    // least one word.
    void rest(const std::string& argument, const std::string& help, std::vector<std::string>& words,
              bool required = false);
    // A command of the program, for the help; see apps/kit/commands.h.
    void command(const std::string& name, const std::string& summary);
    // A line to paste, and what it does.
    void example(const std::string& command, const std::string& effect);
    // A paragraph at the end of the help.
    void note(const std::string& text);

    // --threads, which every program has, and sets; and for those that draw numbers, --seed.
    void add_threads();
    void add_common(int64_t& seed, const std::string& of = "of initial weights, data and dropout");

    // Throws UsageError; prints the help and exits for --help.
    void parse(int argc, char** argv);

    // The options that were given, each as one word that would give it again: --steps=9, --tokenized.
    const std::vector<std::string>& given() const { return given_; }

private:
    struct Option {
        std::string name, argument, help;
        std::function<void(const std::string& value)> set;
    };
    void declare(const std::string& name, const std::string& argument, const std::string& help,
                 const std::string& shown_default, std::function<void(const std::string&)> set);
    void print_help() const;

    std::string program_, summary_;
    std::vector<Option> options_;
    std::vector<std::string> given_;
    std::string rest_argument_, rest_help_;
    std::vector<std::string>* rest_ = nullptr;
    bool rest_required_ = false;
    std::vector<std::pair<std::string, std::string>> commands_, examples_;
    std::vector<std::string> notes_;
    int64_t threads_ = 0;
};

// Numbers as whole words. Throw UsageError naming `what`.
int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range = {});
double parse_real(const std::string& what, const std::string& text, RealRange range = {});

}  // namespace plaingrad::kit
