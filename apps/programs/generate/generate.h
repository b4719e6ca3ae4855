// What the commands of generate are made of: training on texts, of a new model of characters or further of a
// model that exists; and writing with a model, and measuring it, to standard output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/kit/text_training.h"
#include "models/runs/run_folder.h"
#include "models/writer.h"

namespace plaingrad::generate {

using autograd::join;
using autograd::Rng;
using autograd::Tokens;
using kit::Sequence;
using models::Writer;

// ---- training

// The text that `generate` learns when it is given no model: a lighthouse's log book, written for this
// purpose. The Makefile compiles it into the program from log_book.txt. It must not change: the losses in the
// README are of exactly these characters.
extern const std::string_view log_book;

struct TrainSettings : kit::TextTraining {
    TrainSettings() { context = 64; }

    std::string preset, config = "gpt2+gelu+no-bias";  // nanoGPT's
    bool lines = false, bytes = false;
    int64_t layers = 4, heads = 4, d_model = 128;
    double dropout = 0;

    bool is_further() const { return preset == "further"; }  // training of a model that exists
};

// The values of a preset: tiny, small, names or further; or those of the demo.
TrainSettings recipe(const std::string& preset);

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, TrainSettings& s);
models::RunOptions run_options(const TrainSettings& s);

// How the layers of a new model are built. A name is a model and changes of it: "2017+rotary+no-bias" is the
// paper's layer with rotary positions and without biases. The models are
//
//     2017    norm after each sub-layer, sinusoids, ReLU, biases ("Attention Is All You Need")
//     gpt2    norm before each sub-layer, learned positions, GELU, biases (Radford et al. 2019)
//     modern  2017+pre-norm+rms-norm+rotary+swiglu+grouped+no-bias, as most language models since Llama
//
// Models of one width, if it is 128 or more, have the same number of parameters up to a hundredth: where a
// change adds or frees some, d_ff makes up for it. Throws UsageError, listing the names, for one that is
// unknown, and for rotary positions with heads of an odd width.
models::Config named_config(const std::string& name, int64_t d_model, int64_t heads);
std::string config_help();

// A new model of the characters, or bytes, of these texts. Throws UsageError for a `config` that is unknown
// or does not fit the heads, and Error for texts without anything to learn.
Writer new_model(const TrainSettings& s, const std::vector<kit::File>& files);

// What a model learns from, and what is held out: the last tenth of a text; of lines a random tenth, at most
// 1,000, the same for every seed.
struct Corpus {
    std::vector<kit::Sequence> training, held_out;
};
// Throws Error for a character that the model does not know, and for too little text.
Corpus corpus_of(const Writer& w, const std::vector<kit::File>& files, int64_t context);

// Trains, says how well the held-out text is predicted, and returns the model. The run's folder gets it, too:
// of a model from Hugging Face, in the same form.
Writer train(const TrainSettings& s, const std::vector<kit::File>& files, const models::RunFolder& folder);

// ---- writing and measuring

struct WriteSettings {
    std::string prompt = {};
    models::WritingOptions writing = {};
    int64_t n = 1, seed = 1;
};

// Continues the prompt n times, each with numbers of its own, as it is drawn; between texts, which may have
// several lines, is a line "---". At the end, the speed to standard error.
void write(const Writer& w, const WriteSettings& s);

// Continues what is typed (kit::converse), each text with a seed of its own.
void talk(const Writer& w, WriteSettings s);

// "temperature 0.8, top-k 0, top-p 0.95, repetition penalty 1"
std::string described(const models::SamplingOptions& o);

// Each token of a text but the first is predicted from those before it, as many as fit: the model reads
// windows of `context` tokens, each `stride` tokens behind the one before, and of each but the first only the
// last `stride` predictions count; the other targets are `ignored`. So a prediction has at least context -
// stride tokens before it, or all that there are. A smaller stride takes longer, and is nearer to what the
// model would say with all of its context.
std::vector<kit::Examples> windows_of(const kit::Sequence& text, int64_t context, int64_t stride,
                                      int32_t ignored);

// Scores each file, behind the token that begins a text, and prints nats and bits per token, perplexity, and
// bits per byte. Each line of a model of lines is a text, and its end is predicted, too. Characters that the
// model does not know are counted, and left out.
void print_scores(const Writer& w, const std::vector<kit::File>& files, int64_t stride);

}  // namespace plaingrad::generate
