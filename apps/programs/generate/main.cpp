// Writes with a model: a folder from Hugging Face, GPT-2's or Llama's kind, or what `train` has made of
// texts. And measures it, and trains it further.
//
//     ./apps/generate gpt2 --prompt 'It was a dark and'
//     ./apps/generate train book.txt --save book
#include <unistd.h>

#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "apps/programs/generate/generate.h"

using namespace plaingrad;
using namespace plaingrad::generate;
using autograd::check;

namespace {

// What standard input still has, without the line break at its end. It is read as it was handed over: a
// socket could not be opened a second time, and a file would begin anew.
std::string piped_prompt() {
    std::string text = models::text::read_file(stdin, "standard input");
    models::text::check_plain(text, "standard input");
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
void choose(kit::Options& options, models::WritingOptions& writing, const models::WritingOptions& usual) {
    options.defaults([&writing, usual](const kit::Options& given) {
        writing = usual;
        if (given.was_given("--tokens"))
            writing.max_length = 0;
        if (given.was_given("--stop"))
            writing.stop = {};
    });
    options.parse();
}

// Whether the files of a model are read as they are: of one of ours that learned bytes.
bool reads_bytes(const std::string& path) {
    const models::SavedModel model(path);
    return model.is_ours() && model.tokenizer().is_byte_level();
}

// After a short training: nearer to what is probable, and, of a model of lines, ten of them.
WriteSettings sample_of(const Writer& w) {
    return {.writing = {.sampling = {.temperature = 0.5}, .max_tokens = 400}, .n = w.lines ? 10 : 1};
}

void write_command(kit::Options& options) {
    WriteSettings s = {.writing = Writer::kUsual};
    std::vector<std::string> words;
    std::string precision;
    options.rest(
        "MODEL",
        "a folder from Hugging Face, or what `train` has saved. Without MODEL, learns a built-in text first",
        words, {.max = 1});
    options.add("--prompt", "TEXT", "the text to continue, instead of what is piped or typed", s.prompt)
        .allow_empty();
    add_sampling(options, s.writing);
    options.add("--n", "N", "texts to write", s.n, {.min = 1});
    options.add_precision(precision);
    options.add_common(s.seed, "random seed of the texts");
    options.parse();
    if (words.empty()) {
        TrainSettings demo = recipe("demo");
        demo.seed = s.seed;
        demo.run.precision = precision.empty() ? demo.run.precision : precision;
        const Writer w = train(demo, {{"the built-in text", std::string(log_book)}},
                               models::RunFolder("generate", demo.run, options));
        std::cout << '\n';
        choose(options, s.writing, sample_of(w).writing);
        return write(w, s);
    }
    const bool asks = !options.was_given("--prompt");
    const bool talks = asks && kit::can_prompt() && kit::is_terminal(STDOUT_FILENO);
    const Writer w = kit::open_model<Writer>(words[0], precision, true);
    choose(options, s.writing, w.usual);
    if (asks && !talks && !w.lines)
        s.prompt = piped_prompt();
    kit::say("drawing: " + described(s.writing.sampling));
    talks ? talk(w, s) : write(w, s);
}

void score_command(kit::Options& options) {
    std::vector<std::string> words;
    bool bytes = false;
    int64_t stride = 0;
    options.rest("MODEL FILE...", "a folder or a saved model; texts to predict", words, {.min = 2});
    options.add("--stride", "N", "tokens from one window to the next; 0: half of the model's context",
                stride);
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL", bytes);
    const Writer w = kit::open_given<Writer>(options, words, true);
    const auto files = kit::read_files({words.begin() + 1, words.end()}, bytes || reads_bytes(words[0]));
    const int64_t context = w.model.config.max_length;
    kit::check_usage(stride <= context, "--stride ", stride, ": the model takes only ", context);
    print_scores(w, files, stride > 0 ? stride : (context + 1) / 2);
}

void train_command(kit::Options& options) {
    TrainSettings s;
    add_train_options(options, s);
    options.parse();
    if (s.is_further() && s.run.resume.empty()) {
        kit::check_usage(s.words.size() >= 2, "an argument is missing: MODEL FILE...; ", options.as_called(),
                         " --help shows more");
        kit::check_saves(s.run);
        for (const char* name : {"--lines", "--config", "--heads", "--d-model", "--dropout"})
            kit::check_usage(!options.was_given(name), name, " is for a new model; ", s.words[0],
                             " is one already");
    }
    const models::RunFolder folder("generate", s.run, options);
    const std::vector<kit::File> files =
        s.is_further()
            ? kit::read_files({s.words.begin() + 1, s.words.end()}, s.bytes || reads_bytes(s.words[0]))
            : kit::read_files(s.words, s.bytes);
    const Writer w = train(s, files, folder);
    if (folder.exists())
        return;
    std::cout << '\n';
    write(w, sample_of(w));
}

void print_model(const std::string& path) {
    const Writer w = kit::open_model<Writer>(path);
    kit::print_sizes(path, nn::parameter_count(w.model));
    std::cout << "writes: " << described(w.usual.sampling) << ", at most "
              << (w.usual.max_length > 0 ? kit::counted(w.usual.max_length, "token") + " with the prompt"
                                         : kit::counted(w.usual.max_tokens, "token"))
              << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "generate", argc, argv,
        {{"", "writes with a model", write_command},
         {"score", "measures how well a model predicts texts", score_command},
         {"train", "makes a model of characters from texts, or trains a model further", train_command},
         kit::new_command({"gpt2", "llama"}),
         kit::info_command("generate", add_train_options, print_model)});
}
