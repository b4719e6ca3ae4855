#include "apps/kit/options.h"

#include <algorithm>
#include <iostream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::kit {

using autograd::join;

namespace {

// "a whole number from 1 to 9"; `bounded`: whether there is a largest one worth telling.
template <class Range>
[[noreturn]] void refuse(const std::string& what, const char* kind, const std::string& text,
                         const Range& range, bool bounded) {
    throw UsageError(
        join(what, " needs a ", kind, " ",
             bounded ? join("from ", range.min, " to ", range.max) : join("of at least ", range.min),
             ": got '", text, "'"));
}

}  // namespace

int64_t parse_integer(const std::string& what, const std::string& text, IntegerRange range) {
    const std::optional<int64_t> value = nn::checkpoint::parse_integer(text);
    if (!value || *value < range.min || *value > range.max)
        refuse(what, "whole number", text, range,
               range.max != std::numeric_limits<int64_t>::max() ||
                   (!value && !text.empty() && text.find_first_not_of("0123456789") == text.npos));
    return *value;
}

double parse_real(const std::string& what, const std::string& text, RealRange range) {
    const std::optional<double> value = nn::checkpoint::parse_real(text);
    if (!value || !(*value >= range.min && *value <= range.max))
        refuse(what, "number", text, range, range.max != std::numeric_limits<double>::max());
    return *value;
}

Options::Options(std::string program, std::string summary)
    : program_(std::move(program)), summary_(std::move(summary)) {}

void Options::declare(const std::string& name, const std::string& argument, const std::string& help,
                      const std::string& shown_default, std::function<void(const std::string&)> set) {
    options_.push_back(
        {name, argument, shown_default.empty() ? help : help + " (" + shown_default + ")", std::move(set)});
}

void Options::add(const std::string& name, const std::string& argument, const std::string& help,
                  int64_t& value, IntegerRange range) {
    declare(name, argument, help, std::to_string(value),
            [=, &value](const std::string& text) { value = parse_integer(name, text, range); });
}

void Options::add(const std::string& name, const std::string& argument, const std::string& help,
                  double& value, RealRange range) {
    declare(name, argument, help, join(value),
            [=, &value](const std::string& text) { value = parse_real(name, text, range); });
}

void Options::add(const std::string& name, const std::string& argument, const std::string& help,
                  std::string& value) {
    declare(name, argument, help, value, [=, &value](const std::string& text) {
        if (text.empty())  // most likely a shell variable that is not set
            throw UsageError(join(name, " needs a value: ", argument));
        value = text;
    });
}

void Options::add(const std::string& name, const std::string& help, bool& value) {
    declare(name, "", help, "", [&value](const std::string&) { value = true; });
}

void Options::add(const std::string& name, const std::string& help, std::string& value,
                  const std::vector<std::string>& choices) {
    std::string list;
    for (const std::string& choice : choices)
        list += (list.empty() ? "" : "|") + choice;
    declare(name, list, help, value, [=, &value](const std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
            throw UsageError(join(name, " must be one of ", list, ": got '", text, "'"));
        value = text;
    });
}

void Options::rest(const std::string& argument, const std::string& help, std::vector<std::string>& words,
                   bool required) {
    rest_argument_ = argument;
    rest_help_ = help;
    rest_ = &words;
    rest_required_ = required;
}

void Options::command(const std::string& name, const std::string& summary) {
    commands_.emplace_back(name, summary);
}

void Options::example(const std::string& command, const std::string& effect) {
    examples_.emplace_back(command, effect);
}

void Options::note(const std::string& text) { notes_.push_back(text); }

void Options::add_common(int64_t& seed, const std::string& of) {
    add("--seed", "N", of, seed);
    add_threads();
}

void Options::add_threads() {
    declare("--threads", "N", "how many threads to use; the results do not depend on it", "all processors",
            [this](const std::string& text) {
                threads_ = parse_integer("--threads", text, {1, 1024});
            });
}

void Options::parse(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    bool options_end = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool number = word.size() > 1 && word.find_first_not_of("0123456789", 1) == std::string::npos;
        if (!options_end && (word == "--help" || word == "-h")) {
            print_help();
            std::cout.flush();
            autograd::check(!std::cout.fail(), "the output could not be written");
            std::exit(0);
        } else if (!options_end && word == "--") {
            options_end = true;
        } else if (!options_end && word.size() > 1 && word[0] == '-' && !number) {
            const std::size_t equals = word.find('=');
            const std::string name = word.substr(0, equals);
            const auto option = std::find_if(options_.begin(), options_.end(),
                                             [&](const Option& o) { return o.name == name; });
            if (option == options_.end())
                throw UsageError(join("unknown option '", name, "'; --help lists them"));
            if (option->argument.empty() && equals != std::string::npos)
                throw UsageError(name + " takes no value");
            if (!option->argument.empty() && equals == std::string::npos && i + 1 == words.size())
                throw UsageError(join(name, " needs a value: ", option->argument));
            std::string value;
            if (!option->argument.empty())
                value = equals != std::string::npos ? word.substr(equals + 1) : words[++i];
            option->set(value);
            given_.push_back(option->argument.empty() ? name : join(name, "=", value));
        } else if (rest_ != nullptr) {
            rest_->push_back(word);
        } else {
            throw UsageError(join("unexpected argument '", word, "'; --help shows what is possible"));
        }
    }
    if (rest_required_ && rest_->empty())
        throw UsageError(
            join("an argument is missing: ", rest_argument_, "; ./apps/", program_, " --help shows more"));
    if (threads_ > 0)
        autograd::set_thread_count(static_cast<int>(threads_));
}

void Options::print_help() const {
    std::size_t width = std::max<std::size_t>(rest_argument_.size(), 6);  // --help
    for (const auto& [name, summary] : commands_)
        width = std::max(width, name.size());
    for (const Option& o : options_)
        width = std::max(width, o.name.size() + 1 + o.argument.size());
    width = std::min<std::size_t>(width, 30);
    const auto row = [&](const std::string& left, const std::string& right) {
        std::cout << "  " << left;
        if (left.size() > width)
            std::cout << '\n' << std::string(width + 2, ' ');
        else
            std::cout << std::string(width - left.size(), ' ');
        std::cout << "  " << right << '\n';
    };
    const std::string rest_usage = rest_argument_.empty() ? ""
                                   : rest_required_       ? join(" ", rest_argument_)
                                                          : join(" [", rest_argument_, "]");
    const bool elsewhere = program_.find('/') != std::string::npos;
    std::cout << program_ << ": " << summary_ << "\n\nusage: ./" << (elsewhere ? "" : "apps/") << program_
              << " [options]" << rest_usage << '\n';
    if (!commands_.empty())
        std::cout << "       ./apps/" << program_ << " COMMAND --help\n\n";
    for (const auto& [name, summary] : commands_)
        row(name, summary);
    std::cout << '\n';
    if (!rest_argument_.empty())
        row(rest_argument_, rest_help_);
    for (const Option& o : options_)
        row(o.argument.empty() ? o.name : o.name + " " + o.argument, o.help);
    row("--help", "this text");
    if (!examples_.empty())
        std::cout << "\nexamples:\n";
    for (const auto& [command, effect] : examples_)
        std::cout << "  " << command << "\n      " << effect << '\n';
    for (const std::string& note : notes_)
        std::cout << '\n' << note << '\n';
}

}  // namespace plaingrad::kit
