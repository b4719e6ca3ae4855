// Programs with commands: ./apps/char_lm train, ./apps/char_lm sample.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace plaingrad::kit {

using CommandMain = std::function<int(int argc, char** argv)>;

struct Command {
    std::string name;
    CommandMain run;
};

// Runs the command that the first word names, with the words after it; `otherwise`, with all of them, if
// there is none or it is an option. For another word throws UsageError, listing the commands, unless a
// program takes words.
int run_command(int argc, char** argv, const CommandMain& otherwise, const std::vector<Command>& commands,
                bool takes_words = false);

}  // namespace plaingrad::kit
