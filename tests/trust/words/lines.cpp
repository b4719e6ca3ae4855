#include "tests/trust/words/lines.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <regex>
#include <sstream>

#include "autograd/base/check.h"
#include "tests/folder.h"
#include "tests/trust/words/commands.h"

namespace plaingrad::trust::words {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Option {
    std::string name, argument;  // "--steps", "N"; no argument: a switch
};

struct Line {
    std::string what, command;  // "--steps x", "char_lm train"
    Words words;                // after the command
    std::string named;          // what the complaint must name
};

std::string help_of(const std::string& command, const std::string& scratch) {
    Start start{.words = split(command), .scratch = scratch};
    start.words.push_back("--help");
    const Ended ended = run(start);
    autograd::check(ended.status == 0, command, " --help: ", ended.err);
    return ended.out;
}

// The lines of a help that begin a row, `  NAME  text`: those of commands, of arguments, and of options.
std::vector<std::smatch> rows_of(const std::string& help, const std::regex& row) {
    std::vector<std::smatch> rows;
    for (std::sregex_iterator at(help.begin(), help.end(), row), end; at != end; ++at)
        rows.push_back(*at);
    return rows;
}

std::vector<Option> options_of(const std::string& help) {
    static const std::regex row("\n  (--[a-z-]+)(?: (\\S+))?(?=  |\n)");
    std::vector<Option> options;
    for (const std::smatch& found : rows_of(help, row)) {
        const bool is_preset = found[1] == "--preset" && std::string(found[2]).find('|') == std::string::npos;
        if (!is_preset)  // else a row of the table of presets
            options.push_back({found[1], found[2]});
    }
    return options;
}

// Values that an option of this kind cannot have.
Words wrong_values(const Option& option) {
    const std::string& a = option.argument;
    if (a == "N" || a == "K")
        return {"", "x", "1.5", "-1", "1e3", "0x10", " 1", "1 ", "99999999999999999999", "--help"};
    if (a == "X" || a == "P")
        return {"", "x", "nan", "1e999", "1,5", "-0.5", " 1", "1x"};
    if (a.find('|') != a.npos && a.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == a.npos)
        return {"", "nonsense", "\x1b[31m", a};
    return {};
}

void add_lines(const std::string& command, const Option& option, std::vector<Line>& lines) {
    const std::string& name = option.name;
    if (name == "--help" || name == "--version")
        return;
    const auto add = [&](const std::string& what, const Words& words, const std::string& named) {
        lines.push_back({what, command, words, named});
    };
    add(name + "x", {name + "x"}, name + "x");
    if (option.argument.empty()) {
        add(name + "=yes", {name + "=yes"}, name);
        return;
    }
    add(name + " without a value", {name}, name);
    for (const std::string& value : wrong_values(option)) {
        add(name + " '" + value + "'", {name, value}, name);
        if (value == "x" || value.empty())
            add(name + "='" + value + "'", {name + "=" + value}, name);
    }
}

// Wrong in other ways: too few words, too many, options that exclude each other. The last word is what the
// complaint must name.
const std::vector<std::pair<std::string, std::string>>& other_lines() {
    static const std::vector<std::pair<std::string, std::string>> all = {
        {"report", "RUN"},
        {"report --out", "--out"},
        {"reverse_task 1 2 x", "'x'"},
        {"reverse_task 16", "16"},
        {"reverse_task 1 2 3 4 5 6 7 8 9 10 11 12 13", "12"},
        {"reverse_task --save a --resume $reverse", "--resume"},
        {"reverse_task --resume $reverse --d-model 8", "--d-model"},
        {"char_lm train --resume $lm --lr 0.1", "--lr"},
        {"reverse_task --d-model 10 --heads 3", "--heads"},
        {"reverse_task infos", "info"},
        {"reverse_task info", "FOLDER"},
        {"reverse_task info a b", "FOLDER"},
        {"tasks copi", "copy"},
        {"tasks info", "FOLDER"},
        {"toy_translate --nosuch", "--nosuch"},
        {"toy_translate --beam 2 --n-best 3", "--n-best"},
        {"toy_translate --pairs en-de", "--pairs"},
        {"toy_translate -x", "-x"},
        {"char_lm file", "file"},
        {"char_lm trian", "train"},
        {"char_lm train", "FILE"},
        {"char_lm train $text --heads 3", "--heads"},
        {"char_lm train $text --config 2016", "--config"},
        {"char_lm train $text --config gpt2+nonsense", "--config"},
        {"char_lm train $text --save a --resume $lm", "--resume"},
        {"char_lm sample", "MODEL"},
        {"char_lm eval", "MODEL"},
        {"char_lm eval $lm", "FILE"},
        {"char_lm info", "FOLDER"},
        {"char_lm info a b", "FOLDER"},
        {"classify lable", "command"},
        {"classify train", "one file"},
        {"classify train a b", "one file"},
        {"classify train $labels --heads 3", "--heads"},
        {"classify train $labels --pair", "--pair"},
        {"classify train $labels --from $bert --layers 3", "--layers"},
        {"classify predict", "MODEL"},
        {"classify eval", "MODEL"},
        {"classify eval $classes", "FILE"},
        {"classify info", "FOLDER"},
        {"explain 1", "three digits"},
        {"explain 1 2", "three digits"},
        {"explain 1 2 3 4", "three digits"},
        {"explain 1 2 x", "'x'"},
        {"explain 1 2 10", "10"},
        {"explain --step nonsense", "step"},
        {"fill", "MODEL"},
        {"fill train", "MODEL"},
        {"fill train $bert", "FILE"},
        {"fill new", "FOLDER"},
        {"fill new a", "FILE"},
        {"fill new $new $text --heads 3 --d-model 8", "--heads"},
        {"fill info", "FOLDER"},
        {"generate", "MODEL"},
        {"generate a b", "MODEL"},
        {"generate score", "MODEL"},
        {"generate score $gpt2", "FILE"},
        {"generate train", "MODEL"},
        {"generate train $gpt2", "FILE"},
        {"generate new", "FOLDER"},
        {"generate new a", "FILE"},
        {"generate new $new $text --vocabulary 10", "--vocabulary"},
        {"generate info", "MODEL"},
        {"generate info a b", "MODEL"},
        {"generate $gpt2 --top-p 0", "--top-p"},
        {"generate $gpt2 --stop", "--stop"},
        {"translate a", "command"},
        {"translate trian", "train"},
        {"translate train", "two files"},
        {"translate train a b c", "two files"},
        {"translate train $pairs --save $new --heads 3", "--heads"},
        {"translate run", "MODEL"},
        {"translate run a b c", "MODEL"},
        {"translate run $translator --beam 2 --n-best 3", "--n-best"},
        {"translate score", "MODEL"},
        {"translate score $translator", "MODEL"},
        {"translate score a b c d", "MODEL"},
        {"translate info", "MODEL"},
        {"translate learn-bpe", "FILE"},
    };
    return all;
}

// What a line of other_lines calls: "char_lm train", or "char_lm".
std::string command_in(const std::string& line, const std::vector<std::string>& commands) {
    const Words words = split(line);
    const std::string longer = words.size() > 1 ? words[0] + " " + words[1] : "";
    return std::find(commands.begin(), commands.end(), longer) != commands.end() ? longer : words[0];
}

std::vector<Line> all_lines(const std::string& scratch) {
    std::vector<Line> lines;
    const std::vector<std::string> commands = all_commands();
    for (const std::string& command : commands)
        for (const Option& option : options_of(help_of(command, scratch)))
            add_lines(command, option, lines);
    for (const auto& [line, named] : other_lines()) {
        const std::string command = command_in(line, commands);
        const Words words = split(line), rest(words.begin() + std::ssize(split(command)), words.end());
        lines.push_back({line, command, rest, named});
    }
    return lines;
}

}  // namespace

std::vector<std::string> all_commands() {
    static const std::regex row("\n  ([a-z][a-z-]*)(?=  )");
    const tests::Folder scratch;
    std::vector<std::string> commands;
    const char* const apps = std::getenv("PLAINGRAD_APPS");
    for (const fs::directory_entry& entry : fs::directory_iterator(apps != nullptr ? apps : "apps")) {
        const std::string program = entry.path().filename();
        const bool is_program =
            entry.is_regular_file() && program.find('.') == program.npos && !program.starts_with("check_");
        if (!is_program)
            continue;
        commands.push_back(program);
        std::string help = help_of(program, scratch.path);
        help = help.substr(0, help.find("\nexamples:"));
        if (help.find(" COMMAND --help") != help.npos)
            for (const std::smatch& found : rows_of(help, row))
                commands.push_back(program + " " + std::string(found[1]));
    }
    std::sort(commands.begin(), commands.end());
    return commands;
}

SaidOfLines try_lines(const Instrument& trust) {
    const tests::Folder folder;
    make_fixtures(folder);
    std::vector<Line> lines = all_lines(folder.path);
    const int64_t part = trust.count(4, 1, 1);
    const autograd::Rng rng = trust.rng().fork("lines");
    uint64_t number = 0;
    std::erase_if(lines, [&](const Line&) { return rng.below(number++, part) != 0; });

    SaidOfLines said;
    std::mutex mutex;
    two_at_a_time(std::ssize(lines), [&](int64_t i, int worker) {
        const Line& line = lines[static_cast<std::size_t>(i)];
        const std::string scratch = folder / autograd::join("worker", worker);
        fs::create_directory(scratch);
        Start start{.words = split(line.command), .scratch = scratch, .seconds = 30};
        for (const std::string& word : line.words)
            start.words.push_back(word == "$new"   ? scratch + "/new"
                                  : word[0] == '$' ? folder / ("fixtures/" + word.substr(1))
                                                   : word);
        const Ended ended = run(start);
        const std::string text =
            text_of(start.words[0], ended,
                    {{scratch, "FOLDER"}, {folder / "fixtures", "FIXTURES"}, {folder.path, "FOLDER"}});
        fs::remove_all(scratch);

        const std::lock_guard lock(mutex);
        said.add({printable(line.what), line.command}, start.words[0], ended, text);
        if (ended.status != 2 && ++said.accepted <= 50)
            std::printf("not refused: %s | %s\n  %s\n", line.command.c_str(), line.what.c_str(),
                        text.c_str());
        else if (ended.status == 2 && text.find(printable(line.named)) == text.npos && ++said.unnamed <= 50)
            std::printf("not named: %s | %s\n  %s\n", line.command.c_str(), printable(line.what).c_str(),
                        text.c_str());
    });
    return said;
}

}  // namespace plaingrad::trust::words
