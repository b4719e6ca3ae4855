#include "apps/kit/prompt.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "apps/kit/keyboard.h"
#include "apps/kit/options.h"
#include "autograd/base/list.h"
#include "models/text/specials.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::kit {

void report_replaced(const std::string& where, int64_t bytes) {
    if (bytes > 0)
        say(as_line(join(name(), ": ", where, ": bytes that are not text, read as U+FFFD: ", bytes)));
}

std::vector<std::string> given_texts(const std::vector<std::string>& words) {
    std::vector<std::string> texts;
    for (std::size_t i = 1; i < words.size(); ++i) {
        check_usage(models::text::has_text(words[i]), "text ", i, " is empty");
        int64_t replaced = 0;
        texts.push_back(models::text::replace_invalid_utf8(words[i], replaced));
        report_replaced("the command line", replaced);
    }
    return texts;
}

bool can_prompt() {
    const char* const terminal = std::getenv("TERM");
    return is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO) && terminal != nullptr &&
           terminal != std::string("dumb");
}

Reading read_words(const models::text::Tokenizer& known, const std::string& line) {
    const auto knows = [&](const std::string& word) {
        return !word.empty() && !models::text::contains(known.encode(word), models::text::kUnk);
    };
    Reading reading;
    for (const std::string& word : models::text::split_words(line)) {
        std::string plain = models::text::lower_case(word);
        const char* const signs = ".,;:!?\"'()";
        plain.erase(0, std::min(plain.find_first_not_of(signs), plain.size()));
        plain.erase(plain.find_last_not_of(signs) + 1);
        const bool is_known = knows(word) || knows(plain);
        if (!is_known)
            reading.unknown.push_back(word);
        reading.text += (reading.text.empty() ? "" : " ") + (knows(word) || !is_known ? word : plain);
    }
    return reading;
}

// What it knows that begins with this.
static std::string known(const Prompt& p, const std::string& begin, int64_t most) {
    std::string text;
    int64_t count = 0;
    for (std::size_t id = models::text::kFirstFreeId; id < p.names.size(); ++id)
        if (p.names[id].starts_with(begin) && ++count <= most)
            text += (count > 1 ? " " : "") + as_line(p.names[id]);
    return count > most ? text + " ... and " + grouped(count - most) + " more" : count == 0 ? "none" : text;
}

// Does what a line says that begins with a colon.
static std::string obey(const Prompt& p, const std::string& line, const std::string& last) {
    const std::string name = line.substr(0, line.find(' ')), rest = line.substr(name.size());
    for (const Prompt::Command& c : p.commands)
        if (c.name == name) {
            check(rest.size() < 2 || c.help[0] == '[', name, " takes no argument: got", rest);
            return c.run(last, rest.empty() ? rest : rest.substr(1));
        }
    const std::vector<std::string> names = autograd::mapped(p.commands, &Prompt::Command::name);
    return join("unknown command ", as_line(name), suggestion(name, names), " :help lists them");
}

void converse(Prompt p) {
    const int64_t names = std::ssize(p.names) - models::text::kFirstFreeId;
    if (names > 0)
        p.commands.push_back(
            {":words", "[PREFIX]  what it knows",
             [&](const std::string&, const std::string& begin) { return known(p, begin, 200); }});
    p.commands.push_back({":help", "this list", [&](const std::string&, const std::string&) {
                              std::string text;
                              for (const Prompt::Command& c : p.commands)
                                  text += "  " + left(c.name, 12) + c.help + '\n';
                              return text;
                          }});
    bool ends = false;
    p.commands.push_back({":quit", "ends, as Ctrl-D does",
                          [&](const std::string&, const std::string&) { return ends = true, ""; }});
    flush_output();
    say((names > 0 ? join("knows ", counted(names, p.noun), " (:words); ") : "") +
        "commands begin with a colon; :help lists them");
    const Keys keys;
    std::string last;
    std::vector<std::string> history;
    std::set<std::string> told;
    for (std::optional<std::string> line; !ends && (line = edit_line(keys, "> ", history));)
        try {
            if (line->starts_with(':')) {
                say(obey(p, *line, last));
                continue;
            }
            const Reading reading = p.read(*line);
            const std::string& text = reading.text;
            if (text != *line)
                say("read as: " + as_line(text));
            for (const std::string& word : reading.unknown)
                if (told.insert(word).second)
                    say("unknown: " + as_line(word) + suggestion(word, p.names) +
                        " :words lists what is known");
            p.answer(text, "this line");
            last = text;  // commands are about the last line that had an answer
            flush_output();
        } catch (const std::runtime_error& error) {
            std::cerr << join(name(), ": ", as_line(error.what()), "\n");
        }
}

void answer_all(const Prompt& p, const std::vector<std::string>& lines) {
    const auto answer = [&](const std::string& line, const std::string& where) {
        const Reading reading = p.read(line);
        if (!reading.unknown.empty())
            std::cerr << join(name(), ": unknown ", p.noun, "s: ",
                              models::listed(autograd::mapped(
                                  reading.unknown, [](auto& word) { return nn::checkpoint::shown(word); })),
                              "; known ", p.noun, "s: ", known(p, "", 40), '\n');
        p.answer(reading.text, where);
    };
    for (const std::string& line : lines)
        answer(models::text::clean_line(line, "the command line"), "the command line");
    if (lines.empty())
        can_prompt() ? converse(p) : for_each_line(std::cin, "standard input", answer);
}

}  // namespace plaingrad::kit
