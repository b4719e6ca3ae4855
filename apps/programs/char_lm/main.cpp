// Learns to write like a text: a decoder-only Transformer that predicts the next character, or byte. With
// --lines each line of the file is a separate text, e.g. a name, and it learns to invent new ones.
#include <unistd.h>

#include "apps/kit/prompt.h"
#include "apps/kit/run.h"
#include "apps/programs/char_lm/loss.h"
#include "apps/programs/char_lm/sample.h"
#include "apps/programs/char_lm/train.h"

using namespace plaingrad;
using namespace plaingrad::char_lm;
using autograd::check;

namespace {

models::Writer load(const std::string& path, const std::string& precision) {
    check(!models::is_of_others(path), path,
          ": this model does not write characters; ./apps/generate writes with it");
    return models::Writer::load(path, {.precision = kit::given_precision(precision)});
}

void demo_command(kit::Options& options) {
    Settings s = recipe("demo");
    kit::add_report_options(options, s.run);
    options.add_precision(s.run.precision);
    options.add_common(s.seed);
    options.parse();
    learn({{"the built-in text", std::string(log_book)}}, s, models::RunFolder("char_lm", s.run, options));
}

void train_command(kit::Options& options) {
    Settings s;
    add_train_options(options, s);
    options.parse();
    kit::check_usage(!s.run.resume.empty() || !s.files.empty(), "an argument is missing: FILE...; ",
                     options.as_called(), " --help shows more");
    const models::RunFolder folder("char_lm", s.run, options);
    learn(kit::read_files(s.files, s.bytes), s, folder);
}

void sample_command(kit::Options& options) {
    SampleSettings s;
    std::vector<std::string> words;
    options.rest("MODEL [FILE...]", "a saved model; its training lines, to count how many samples are new",
                 words, {.least = 1});
    options.add("--prompt", "TEXT", "the text to continue", s.prompt).allow_empty();
    options.add("--tokens", "N", "characters to write; with a model of lines, at most so many per line",
                s.tokens);
    options.add("--count", "N", "lines to write, with a model of lines", s.count);
    options.add("--temperature", "X",
                "below 1: more predictable; above 1: more random; 0: always the most probable",
                s.sampling.temperature);
    options.add("--top-k", "K", "draw only from the K most probable characters; 0: all", s.sampling.top_k);
    options.add("--top-p", "P",
                "draw only from the most probable characters that reach probability P together",
                s.sampling.top_p, {.min = 1e-6, .max = 1});
    options.add_precision(s.precision);
    options.add_common(s.seed, "random seed of the samples");
    options.parse();
    const models::Writer w = load(words[0], s.precision);
    words.erase(words.begin());
    kit::check_usage(w.lines || words.empty(),
                     "FILE is for models trained with --lines; this one learned a text");
    kit::check_usage(w.lines || !options.was_given("--count"),
                     "--count is for models trained with --lines; this one learned a text");
    if (words.empty() && !options.was_given("--prompt") && kit::can_prompt() &&
        kit::is_terminal(STDOUT_FILENO))
        return talk(w, s);
    write(w, s, encode(kit::read_files(words, w.tokenizer.is_byte_level()), w.tokenizer, true));
}

void eval_command(kit::Options& options) {
    std::vector<std::string> words;
    std::string precision;
    options.rest("MODEL FILE...", "a saved model; files to predict", words, {.least = 2});
    options.add_precision(precision);
    options.add_threads();
    options.parse();
    const models::Writer w = load(words[0], precision);
    words.erase(words.begin());
    int64_t unknown = 0;
    const std::vector<kit::File> files = kit::read_files(words, w.tokenizer.is_byte_level());
    const std::vector<Sequence> items = encode(files, w.tokenizer, w.lines, &unknown);
    if (unknown > 0)
        kit::say(kit::name() +
                 ": characters that the model does not know, left out: " + kit::grouped(unknown));
    const int64_t context = w.model.config.max_length;
    check(!w.lines || context_of_longest(items) <= context, kit::name_of(files), ": the longest line has ",
          context_of_longest(items) - 1, " characters; the model takes ", context - 1);
    const std::vector<Sequence> all = kit::cut(items, context);
    check(!all.empty(), kit::name_of(files),
          ": there is nothing to predict; a text of at least 2 characters is needed");
    print("loss", kit::measure(w.model, all, models::kPad), w.tokenizer);
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("char_lm", argc, argv, [] {
        return kit::Commands{
            {"", "learns from a text, and writes more of it", demo_command},
            {"train", "learns from text, and holds out a tenth of it to measure the result", train_command},
            {"sample", "writes with a saved model", sample_command},
            {"eval", "measures how well a saved model predicts your files", eval_command},
            kit::info_command("char_lm", add_train_options)};
    });
}
