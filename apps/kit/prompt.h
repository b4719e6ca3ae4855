// The lines of a pipe, and a conversation with a model on a terminal: lines are answered, and commands such
// as :next show how.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/text/tokenizer.h"

namespace plaingrad::kit {

// Says on standard error how many bytes were not text, if any.
void report_replaced(const std::string& where, int64_t bytes);

// The texts of a command line, without its first word: bytes that are not text become U+FFFD, and are
// reported. Throws UsageError for an empty one.
std::vector<std::string> given_texts(const std::vector<std::string>& words);

// Calls f(line, where) for each line of a stream, where is "standard input:3" if that is its name. Bytes that
// are not text become U+FFFD, and are reported. Throws Error for a line that is no text (text::clean_line).
// std::cin needs std::ios::sync_with_stdio(false): otherwise a read error looks like the end of the input.
void for_each_line(std::istream& in, const std::string& name,
                   const std::function<void(const std::string& line, const std::string& where)>& f);

// A line as the model reads it, and what it has never seen there.
struct Reading {
    std::string text;
    std::vector<std::string> unknown = {};
    std::string shown = {};  // if not empty: what to say instead of the text
};

struct Prompt {
    std::string noun = "token";           // what it knows
    std::vector<std::string> names = {};  // of its ids: the special ones, and the words; or none to be listed
    std::function<Reading(const std::string& line)> read = [](const std::string& line) {
        return Reading{line};
    };
    // Prints to standard output. where: the line's place, for messages.
    std::function<void(const std::string& text, const std::string& where)> answer = {};
    bool tabs = false;  // whether a line may have tabs

    struct Command {
        std::string name, help;  // ":next", "[TEXT]  what ..."; without "[" it takes no argument
        // Returns what to print. last: the text that was answered last; argument: what follows the name.
        std::function<std::string(const std::string& last, const std::string& argument)> run;
    };
    std::vector<Command> commands = {};  // besides :words (of names), :help and :quit
};

// A line whose words are read as they are or, if only that is known, in lower case and without punctuation:
// "Hello World!" as "hello world". Unknown words stay.
Reading read_words(const models::text::Tokenizer& known, const std::string& line);

// Whether somebody types: standard input and standard error are a terminal, and no dumb one.
bool can_prompt();

// Answers what is typed until Ctrl-D or :quit. Errors are told, and the next line may do better. Says, on
// standard error, how a line was read if that differs from it, and each unknown word once.
void converse(Prompt p);

// Answers these lines or, without any, what is typed or else each line of standard input. What is unknown in
// a line that nobody typed is told on standard error, with the first of the names.
void answer_all(const Prompt& p, const std::vector<std::string>& lines);

}  // namespace plaingrad::kit
