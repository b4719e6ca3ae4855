// The lines of a pipe, and a conversation with a model on a terminal: lines are answered, and commands such
// as :next show how.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <utility>
#include <vector>

#include "apps/kit/program.h"
#include "apps/kit/report.h"
#include "models/decoding/decoding.h"
#include "models/text/lines.h"
#include "models/text/tokenizer.h"
#include "models/writer.h"

namespace plaingrad::kit {

// Says on standard error how many bytes were not text, if any.
void report_replaced(const std::string& where, int64_t bytes);

// The texts of a command line, without its first word: bytes that are not text become U+FFFD, and are
// reported. Throws UsageError for an empty one.
std::vector<std::string> given_texts(const std::vector<std::string>& words);

// Calls f(line, where) for each line of a stream, where is "standard input:3" if that is its name. Bytes that
// are not text become U+FFFD, and are reported; or are kept, as `rule` says. Throws Error for a line that is
// no text (text::clean_line). std::cin needs std::ios::sync_with_stdio(false): otherwise a read error looks
// like the end of the input.
template <class F>
void for_each_line(std::istream& in, const std::string& name, const F& f,
                   models::text::InvalidUtf8 rule = models::text::InvalidUtf8::replace) {
    std::string line;
    for (int64_t number = 1; models::text::next_line(in, line, name, number); ++number) {
        const std::string where = join(name, ":", number);
        int64_t replaced = 0;
        line = models::text::clean_line(line, where, &replaced, rule);
        report_replaced(where, replaced);
        f(line, where);
    }
}

// f(lines) for lines that have come together, at most `most`. So no line waits for the next one: a user at a
// terminal, or a program that sends a line and waits for its answer, gets it at once. Before an Error is
// thrown, the lines before the one that is wrong are answered, too.
template <class F>
void for_lines_together(std::istream& in, const std::string& name, int64_t most, const F& f,
                        models::text::InvalidUtf8 rule = models::text::InvalidUtf8::replace) {
    std::vector<std::string> waiting;
    const auto answer = [&] { f(std::exchange(waiting, {})); };
    const auto add = [&](const std::string& line, const std::string&) {
        waiting.push_back(line);
        if (std::ssize(waiting) == most || in.rdbuf()->in_avail() <= 0)
            answer();
    };
    try {
        for_each_line(in, name, add, rule);
    } catch (const autograd::Error&) {
        answer();
        throw;
    }
    answer();
}

// A line as the model reads it, and what it has never seen there.
struct Reading {
    std::string text;
    std::vector<std::string> unknown = {};
};

struct Prompt {
    std::string noun = "token";           // what it knows
    std::vector<std::string> names = {};  // of its ids: the special ones, and the words; or none to be listed
    std::function<Reading(const std::string& line)> read = [](const std::string& line) {
        return Reading{line};
    };
    // Prints to standard output. where: the line's place, for messages.
    std::function<void(const std::string& text, const std::string& where)> answer = {};

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

// ----------------------------------------------------------- what shows how a model came to its answer

// Attention weights (1, H, T, S), the mean over the heads. What is wider than the terminal is cut at the
// left.
std::string attention_picture(const Tensor& weights, const Labels& rows, const Labels& columns);
// To standard output: the cross-attention of a batch of one, every head small, and large the one with most of
// its weight where each target position should look: right[t] is its source position. path: what these are,
// in words. names: of the ids.
void show_heads(const models::Transformer& model, const models::Batch& batch, const Labels& names,
                const std::vector<int64_t>& right, const std::string& path);
// The mean of the heads, of the last layer of a model with one stack. ids_of(text): what it reads.
template <class Model, class IdsOf>
Prompt::Command attention_command(const Model& model, const Labels& names, const IdsOf& ids_of) {
    return {":attention", "where it looked (last layer, mean of the heads)",
            [=, &model](const std::string& last, const std::string&) {
                check(!last.empty(), "first type a text");
                const std::vector<int32_t> ids = ids_of(last);
                nn::Probe seen;
                model(Tokens(1, std::ssize(ids), ids), nn::Mode::eval(&seen));
                const Labels labels = names_of(ids, names);
                return attention_picture(seen.of(model.backbone.encoder.layers.back().self_attention), labels,
                                         labels);
            }};
}

// :next, :beam and :attention of a model that continues a text. Of a text longer than the model's context
// they read the end, as writing does.
void add_commands(Prompt& prompt, const models::Writer& w, const Labels& names);
// All but `read` and `answer` of a translator, which outlives its prompt. ends: an end is behind each source,
// as in its training.
Prompt prompt_of(const models::Transformer& model, const models::text::Tokenizer& source,
                 const models::text::Tokenizer& target, const models::BeamOptions& search, bool ends = false);

}  // namespace plaingrad::kit
