// What the benchmarks have in common: their options, the table that they print, turns with another program.
#pragma once

#include <concepts>
#include <cstdio>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "tests/bench/measure.h"

namespace plaingrad::bench {

// A table, row by row as it is measured: in Markdown, or with --csv in comma-separated values.
class Table {
public:
    Table(bool csv, const std::vector<std::string>& columns) : csv_(csv) {
        for (const std::string& column : columns)  // the first has names
            widths_.push_back(widths_.empty() ? -30 : std::max(7, static_cast<int>(column.size())));
        print(columns);
        if (!csv)
            print(std::vector<std::string>(columns.size(), "---"));
    }
    template <class... Cells>
    void row(const Cells&... cells) const {
        print({text(cells)...});
    }
    void print(const std::vector<std::string>& cells) const {
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (csv_)
                std::printf("%s%s", i > 0 ? "," : "", cells[i].c_str());
            else
                std::printf("| %*s ", widths_[i], cells[i].c_str());
        std::printf(csv_ ? "\n" : "|\n");
        std::fflush(stdout);
    }
    std::string text(const std::string& words) const { return words; }
    std::string text(std::integral auto number) const { return std::to_string(number); }
    std::string text(double number) const {
        char digits[32];
        std::snprintf(digits, sizeof digits, csv_ ? "%.7g" : number < 1000 ? "%.3g" : "%.0f", number);
        return digits;
    }

private:
    bool csv_;
    std::vector<int> widths_;  // negative: begins at the left
};

// A benchmark's main: `add` adds rows to the options, `measure` does the work. csv: none if it has no --csv.
template <class Add, class Measure>
int run(const std::string& name, const std::string& summary, int argc, char** argv, bool* csv, const Add& add,
        const Measure& measure) {
    return kit::run(name, argv[0], [&] {
        kit::Options options({"build/bench/" + name, summary});
        add(options);
        if (csv != nullptr)
            options.add("--csv", "print comma-separated values", *csv);
        options.parse(argc, argv);
        measure();
        return 0;
    });
}

// Of those that the peers are compared with.
struct Common {
    std::string precision = "float32";
    int64_t threads = 0;
    bool csv = false, turns = false;

    void add_to(kit::Options& options, const std::string& if_0 = "all") {
        options.add("--threads", "N", "number of threads; 0: " + if_0, threads, {.max = 1024});
        options.add_precision(precision);
        options.add("--turns", "for each number N read: does N steps, prints the milliseconds of one", turns);
    }
    void use_threads() const {
        if (threads > 0)
            autograd::set_thread_count(static_cast<int>(threads));
    }
    autograd::Precision kind() const { return kit::precision_of(precision); }
};

// One thread, then all; or as many as are given.
inline std::set<int> thread_counts(int64_t given) {
    return given > 0 ? std::set<int>{static_cast<int>(given)} : std::set<int>{1, autograd::thread_count()};
}

// For measuring in turns with another program: for each number N on standard input, does N steps and prints
// the milliseconds of one and the peak memory so far, until the input ends. make() returns the step.
template <class Make>
void take_turns(const Common& s, const Make& make) {
    s.use_threads();
    const double memory_before = peak_memory();
    const auto step = make();
    step();
    std::printf("ready %.1f\n", memory_before);
    std::fflush(stdout);
    for (int64_t steps = 0; std::cin >> steps;) {
        const double begin = seconds();
        for (int64_t i = 0; i < steps; ++i)
            step();
        std::printf("%.4f %.1f\n", 1e3 * (seconds() - begin) / static_cast<double>(steps), peak_memory());
        std::fflush(stdout);
    }
}

// Milliseconds of a call, the median of some: of at least so many, and as many as fit into these seconds. The
// first call does not count.
template <class Call>
double milliseconds(const Call& call, int at_least = 15, double enough = 0) {
    call();
    std::vector<double> times;
    for (const double first = seconds(); std::ssize(times) < at_least || seconds() - first < enough;) {
        const double begin = seconds();
        call();
        times.push_back(1e3 * (seconds() - begin));
    }
    return median(times);
}

// Runs a shell's command, and calls `line` with each line of its output as it comes. A line ends with a line
// feed or, as where a program writes over its last line, with a carriage return. Throws Error if the command
// fails.
template <class Line>
void read_output(const std::string& command, const Line& line) {
    FILE* const pipe = popen(command.c_str(), "r");
    autograd::check(pipe != nullptr, "'", command, "' cannot be started");
    std::string text;
    for (int c = 0; c != EOF;) {
        c = std::fgetc(pipe);
        if (c != '\n' && c != '\r' && c != EOF) {
            text += static_cast<char>(c);
        } else if (!text.empty()) {
            line(text);
            text.clear();
        }
    }
    const int status = pclose(pipe);
    autograd::check(status == 0, "'", command, "' ended with status ", status);
}

}  // namespace plaingrad::bench
