// Writes with a model: a folder from Hugging Face, GPT-2's or Llama's kind, or what char_lm has trained. And
// measures it on texts, and trains it further.
//
//     ./apps/generate gpt2 --prompt 'It was a dark and'
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "apps/kit/pretrained.h"
#include "apps/kit/prompt.h"
#include "apps/kit/run.h"
#include "apps/programs/generate/new.h"
#include "apps/programs/generate/score.h"
#include "apps/programs/generate/train.h"
#include "apps/programs/generate/write.h"

using namespace plaingrad;
using namespace plaingrad::generate;
using autograd::check;
using autograd::join;
using models::Writer;

namespace {

// What standard input still has, without the line break at its end. It is read as it was handed over: a
// socket could not be opened a second time, and a file would begin anew.
std::string piped_prompt() {
    std::string text = models::text::read_file(stdin, "standard input");
    text.resize(text.size() - (text.ends_with("\r\n") ? 2 : text.ends_with('\n') ? 1 : 0));
    check(!text.empty(), "standard input: there is no prompt; --prompt '' writes without one");
    return text;
}

void add_sampling(kit::Options& options, models::WritingOptions& o) {
    models::SamplingOptions& s = o.sampling;
    options.add("--tokens", "N", "new tokens to write at most", o.max_tokens);
    options.add("--temperature", "X",
                "below 1: more predictable; above 1: more random; 0: always the most probable",
                s.temperature);
    options.add("--top-k", "K", "draw only from the K most probable tokens; 0: all", s.top_k);
    options.add("--top-p", "P", "draw only from the most probable tokens that reach probability P together",
                s.top_p, {.min = 1e-6, .max = 1});
    options.add("--repetition-penalty", "X", "above 1: what the text already has becomes less probable",
                s.repetition_penalty, {.min = 1e-6, .max = 1e6});
    options.add_each("--stop", "TEXT", "end before the first TEXT; may be given several times", o.stop);
}

// What was given, and the rest as the model's folder has it.
models::WritingOptions chosen(const kit::Options& options, const models::WritingOptions& given,
                              models::WritingOptions usual) {
    const auto choose = [&](const char* name, auto& value, const auto& other) {
        if (options.was_given(name))
            value = other;
    };
    choose("--tokens", usual.max_tokens, given.max_tokens);
    choose("--tokens", usual.max_length, 0);
    choose("--temperature", usual.sampling.temperature, given.sampling.temperature);
    choose("--top-k", usual.sampling.top_k, given.sampling.top_k);
    choose("--top-p", usual.sampling.top_p, given.sampling.top_p);
    choose("--repetition-penalty", usual.sampling.repetition_penalty, given.sampling.repetition_penalty);
    choose("--stop", usual.stop, given.stop);
    return usual;
}

void write_command(kit::Options& options) {
    WriteSettings s = {.writing = Writer::kUsual};
    std::vector<std::string> words;
    std::string precision;
    options.rest("MODEL", "a folder from Hugging Face, or what char_lm has saved", words, {1, 1});
    options.add("--prompt", "TEXT", "the text to continue, instead of what is piped or typed", s.prompt)
        .allow_empty();
    add_sampling(options, s.writing);
    options.add("--n", "N", "texts to write", s.n, {.min = 1});
    options.add_precision(precision);
    options.add_common(s.seed, "random seed of the texts");
    options.parse();
    const bool asks = !options.was_given("--prompt");
    const bool talks = asks && kit::can_prompt() && kit::is_terminal(STDOUT_FILENO);
    const Writer w = open_model(words[0], precision, true);
    if (asks && !talks)
        s.prompt = piped_prompt();
    s.writing = chosen(options, s.writing, w.usual);
    kit::say("drawing: " + described(s.writing.sampling));
    talks ? talk(w, s) : write(w, s);
}

void score_command(kit::Options& options) {
    std::vector<std::string> words;
    std::string precision;
    bool bytes = false;
    int64_t stride = 0;
    options.rest("MODEL FILE...", "a folder or a saved model; texts to predict", words, {.least = 2});
    options.add("--stride", "N", "tokens from one window to the next; 0: half of the model's context",
                stride);
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL", bytes);
    options.add_precision(precision);
    options.add_threads();
    options.parse();
    const std::vector<kit::File> files = kit::read_files({words.begin() + 1, words.end()}, bytes);
    const Writer w = open_model(words[0], precision, true);
    check(!w.lines, words[0], ": this model has learned lines; ./apps/char_lm eval measures it");
    const int64_t context = w.model.config.max_length;
    kit::check_usage(stride <= context, "--stride ", stride, ": the model takes only ", context);
    print_scores(w, files, stride > 0 ? stride : (context + 1) / 2);
}

void train_command(kit::Options& options) {
    TrainSettings s;
    add_train_options(options, s);
    options.parse();
    kit::check_fine_tuning(options, s.words, s.run);
    const models::RunFolder folder("generate", s.run, options);
    train(s, folder);
}

// Of `train`. Returns false if it is none.
bool print_run(const std::string& path) {
    TrainSettings s;
    kit::Options train({"generate"});
    add_train_options(train, s);
    return nn::checkpoint::exists(nn::checkpoint::in_folder(path, "last.safetensors")) &&
           kit::print_run("generate", path, train);
}

void new_command(kit::Options& options) {
    NewSettings s;
    add_new_options(options, s);
    options.parse();
    make_new(s);
}

void info_command(kit::Options& options) {
    std::vector<std::string> words;
    options.rest("MODEL", "a folder from Hugging Face, or what char_lm has saved", words, {1, 1});
    options.parse();
    const Writer w = open_model(words[0]);
    const models::Config& c = w.model.config;
    const bool of_others = models::is_of_others(words[0]);
    const std::string kind =
        of_others
            ? models::hugging_face::kFamilyNames[static_cast<int>(models::SavedModel(words[0]).config.family)]
            : "of char_lm";
    kit::print_sizes(words[0], kind, c);
    std::cout << "text: "
              << (of_others                     ? "tokens"
                  : w.tokenizer.is_byte_level() ? "bytes"
                                                : "characters")
              << ", vocabulary " << kit::grouped(c.vocabulary) << (w.lines ? "; lines" : "") << '\n'
              << "writes: " << described(w.usual.sampling) << ", at most "
              << (w.usual.max_length > 0 ? join(w.usual.max_length, " tokens with the prompt")
                                         : join(w.usual.max_tokens, " tokens"))
              << '\n';
    print_run(words[0]);
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("generate", argc, argv, [] {
        return kit::Commands{{"", "writes with a model", write_command},
                             {"score", "measures how well a model predicts texts", score_command},
                             {"train", "trains a model further on texts", train_command},
                             {"new", "makes a model with random weights, to be trained", new_command},
                             {"info", "shows what a model contains", info_command}};
    });
}
