#include "apps/kit/commands.h"

#include "apps/kit/options.h"
#include "autograd/base/check.h"

namespace plaingrad::kit {

int run_command(int argc, char** argv, const CommandMain& otherwise, const std::vector<Command>& commands,
                bool takes_words) {
    if (argc < 2 || argv[1][0] == '-')
        return otherwise(argc, argv);
    const std::string word = argv[1];
    std::string list;
    std::vector<std::string> names;
    for (const Command& command : commands) {
        if (command.name == word)
            return command.run(argc - 1, argv + 1);
        list.append(list.empty() ? "" : ", ").append(command.name);
        names.push_back(command.name);
    }
    if (takes_words)
        return otherwise(argc, argv);
    throw UsageError(autograd::join("unknown command '", word, "'", suggestion(word, names), " there are ",
                                    list, "; --help shows more"));
}

}  // namespace plaingrad::kit
