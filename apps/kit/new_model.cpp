#include "apps/kit/new_model.h"

#include <algorithm>
#include <filesystem>

#include "apps/kit/pieces.h"
#include "apps/kit/plan.h"
#include "apps/kit/pretrained.h"

namespace plaingrad::kit {

namespace fs = std::filesystem;
using autograd::check;

void add_new_options(Options& options, NewModel& s, const std::string& tokens, int64_t least,
                     const std::string& heads) {
    options.add("--vocabulary", "N", "tokens: " + tokens, s.vocabulary, {.min = least, .max = 1 << 20});
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 1000});
    options.add("--heads", "N", "attention heads" + heads, s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 1 << 16});
    options.add("--context", "N", "tokens that the model sees", s.context, {.min = 1, .max = 1 << 20});
    options.add_common(s.seed, "random seed of the weights");
}

void set_sizes(models::Config& c, const NewModel& s) {
    c.vocabulary = s.vocabulary;
    c.specials = {.start = 0, .ends = {0}, .pad = autograd::Tokens::kNoPadding, .never = {}};
    c.max_length = s.context;
    c.n_layers = s.layers;
    c.tied = true;
    c.block.d_model = s.d_model;
    c.block.n_heads = s.heads;
    c.block.d_ff = 4 * s.d_model;
}

std::string begin_new(const NewModel& s, const models::Config& config) {
    check_heads(s.d_model, s.heads);
    check_memory(models::least_parameters(check_config(config)));
    check_no_model(s.words[0]);
    std::string text;
    for (const File& file : read_files({s.words.begin() + 1, s.words.end()}, s.bytes))  // each begins a line
        text += (text.empty() || text.ends_with('\n') ? "" : "\n") + file.text;
    check(std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; }),
          s.words[1], ": there is no text to learn tokens from");
    std::error_code error;
    fs::create_directories(s.words[0], error);
    check(!error, s.words[0], ": the folder cannot be made: ", error.message());
    return text;
}

}  // namespace plaingrad::kit
