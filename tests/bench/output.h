// Another program's output, line by line as it comes, so that its steps can be timed.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "autograd/base/check.h"

namespace plaingrad::bench {

// Runs a shell's command. A line ends with a line feed or, as where a program writes over its last line, with
// a carriage return. Throws Error if the command fails.
inline void read_output(const std::string& command, const std::function<void(const std::string&)>& line) {
    FILE* const pipe = popen(command.c_str(), "r");
    autograd::check(pipe != nullptr, "'", command, "' cannot be started");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;)
        if (c != '\n' && c != '\r')
            text += static_cast<char>(c);
        else if (!text.empty()) {
            line(text);
            text.clear();
        }
    if (!text.empty())
        line(text);
    const int status = pclose(pipe);
    autograd::check(status == 0, "'", command, "' ended with status ", status);
}

}  // namespace plaingrad::bench
