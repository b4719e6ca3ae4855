#include "tests/chapters/command.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "autograd/base/check.h"

namespace plaingrad::chapters {

using autograd::check;

namespace {

std::string environment(const char* name, const std::string& otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

// "./apps/tasks --seed 2" becomes "'build/asan/apps'/tasks --seed 2".
std::string of_this_build(const std::string& command) {
    for (const auto& [start, variable] : {std::pair<std::string, const char*>{"./apps/", "PLAINGRAD_APPS"},
                                          {"build/bench/", "PLAINGRAD_BENCH"}})
        if (command.starts_with(start)) {
            const std::string folder = environment(variable, start.substr(0, start.size() - 1));
            return environment("PLAINGRAD_RUN", "") + " " + quoted(folder) + command.substr(start.size() - 1);
        }
    return command;
}

std::vector<std::string> values_of(const std::string& line) {
    std::vector<std::string> values(1);
    for (const char c : line)
        if (c == ',')
            values.emplace_back();
        else
            values.back() += c;
    return values;
}

}  // namespace

std::string quoted(const std::string& text) {
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + "'";
}

std::string output_of(const std::string& command) {
    const std::string line = "export NO_COLOR=1; { " + of_this_build(command) + "; } 2>/dev/null";
    FILE* const pipe = popen(line.c_str(), "r");
    check(pipe != nullptr, "'", command, "' cannot be started");
    std::string text;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), n);
    const int status = pclose(pipe);
    check(status == 0, "'", command, "' ended with status ", status, "; has `make` built it?");
    return text;
}

std::vector<std::vector<std::string>> rows_of(const std::string& csv, const std::string& heading) {
    std::istringstream in(csv);
    std::string line;
    std::getline(in, line);
    check(line == heading, "the table begins with '", line, "'; expected '", heading, "'");
    const std::size_t columns = values_of(heading).size();
    std::vector<std::vector<std::string>> rows;
    while (std::getline(in, line)) {
        rows.push_back(values_of(line));
        check(rows.back().size() == columns, "row ", rows.size(), " of the table has ", rows.back().size(),
              " values, not ", columns, ": ", line);
    }
    return rows;
}

}  // namespace plaingrad::chapters
