#include "apps/kit/model.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "apps/kit/prompt.h"
#include "apps/kit/text_training.h"
#include "autograd/plain.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::kit {

namespace fs = std::filesystem;

// ------------------------------------------------------------------------------------------------ new ones

static const char* const kPreset = "whose model: models/presets.h names the sources";

void add_preset(Options& options, std::string& preset) {
    options.add("--preset", kPreset, preset, autograd::mapped(models::presets(), &models::Preset::name));
}

void add_model_options(Options& options, PresetModel& m) {
    models::BlockConfig& block = m.config.block;
    options.preset("--preset", kPreset, m.preset, autograd::mapped(models::presets(), &models::Preset::name),
                   [&m](const Options&) {
                       m.config = models::preset(m.preset);
                       m.positions =
                           m.config.block.positions == nn::Positions::learned ? "learned" : "sinusoidal";
                   });
    options.add("--positions", "positional encoding", m.positions, {"sinusoidal", "learned"});
    options.add("--d-model", "N", "width of the model", block.d_model, {.min = 1, .max = 4096});
    options.add("--heads", "N", "attention heads", block.n_heads, {.min = 1, .max = 4096});
    options.add("--d-ff", "N", "width of the feed-forward layers", block.d_ff, {.min = 1, .max = 1 << 16});
    options.add("--layers", "N", "layers of each stack", m.config.n_layers, {.min = 1, .max = 100});
}

models::Config PresetModel::chosen() const {
    models::Config c = config;
    check_heads(c.block.d_model, c.block.n_heads);
    c.n_decoder_layers = c.n_layers;
    c.block.positions = positions == "learned" ? nn::Positions::learned : nn::Positions::sinusoidal;
    return c;
}

namespace {

struct NewModel {
    std::vector<std::string> words = {};  // the folder, then files
    std::string family;
    bool bytes = false;
    int64_t vocabulary = 1024, layers = 4, heads = 4, d_model = 128, context = 128, seed = 1;
};

void add_new_options(Options& options, NewModel& s, const std::vector<std::string>& families) {
    const bool bert = s.family == "bert", llama = families.size() > 1;
    options.rest("FOLDER FILE...", "where to write it; texts to learn the tokens from", s.words, {.min = 2});
    if (!bert) {
        options.add("--family", "what the layers are made of", s.family, families);
        options.add("--bytes", "read the files as they are, with CR, BOM and NUL", s.bytes);
    }
    options.add("--vocabulary", "N",
                bert ? "tokens: five special ones, characters, and parts of words"
                     : "tokens: 256 bytes, the end of a text, and byte pairs",
                s.vocabulary, {.min = bert ? 6 : 257, .max = 1 << 20});
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 1000});
    options.add(
        "--heads", "N",
        llama ? "attention heads; llama: of queries, twice as many as of keys and values" : "attention heads",
        s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 1 << 16});
    options.add("--context", "N", "tokens that the model sees", s.context,
                {.min = bert ? 3 : 1, .max = 1 << 20});  // [CLS] and [SEP] are around a text
    options.add_common(s.seed, "random seed of the weights");
}

// Sizes by the family's custom: where the feed-forward is gated, it has three matrices instead of two, and is
// 8/3 times as wide as the model. The special ids are to be replaced by those of the tokenizer.
models::Config new_config(const NewModel& s) {
    models::Config c = s.family == "bert"    ? models::bert()
                       : s.family == "llama" ? models::llama()
                                             : models::gpt2();
    models::BlockConfig& b = c.block;
    c.vocabulary = s.vocabulary;
    c.specials = {.start = 0, .ends = {0}, .pad = Tokens::kNoPadding, .never = {}};
    c.max_length = s.context;
    c.n_layers = s.layers;
    c.tied = true;
    b.d_model = s.d_model;
    b.n_heads = s.heads;
    b.d_ff = b.gated ? std::max<int64_t>(1, s.d_model * 8 / 3) : 4 * s.d_model;
    if (b.n_kv_heads > 0) {
        check_usage(s.d_model % (2 * s.heads) == 0, "--d-model ", s.d_model,
                    " must be a multiple of twice --heads ", s.heads, ", because llama rotates pairs");
        b.n_kv_heads = s.heads % 2 == 0 ? s.heads / 2 : s.heads;
        b.rotary = {};
    }
    check_heads(s.d_model, s.heads);
    return c;
}

std::string all_text(const NewModel& s) {
    std::string text;
    for (const File& file :
         read_files({s.words.begin() + 1, s.words.end()}, s.bytes, s.family != "bert"))  // each begins a line
        text += (text.empty() || text.ends_with('\n') ? "" : "\n") + file.text;
    check(std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; }),
          s.words[1], ": there is no text to learn tokens from");
    return text;
}

models::text::Tokenizer learn_tokens(const NewModel& s) {
    if (s.family != "bert")
        return models::text::learn_byte_pairs(all_text(s), s.vocabulary - 257);
    int64_t left_out = 0;
    const auto tokenizer = models::text::learn_word_piece(all_text(s), s.vocabulary, &left_out);
    if (left_out > 0)
        say(join(name(), ": words with one of the ", left_out,
                 " rarest characters are read as [UNK]; a larger --vocabulary has them all"));
    return tokenizer;
}

// Writes the model, behind its tokenizer: a folder with a model has all that belongs to it.
template <class Model>
void write_model(const NewModel& s, const models::Config& config) {
    const Model model(config, autograd::Rng(static_cast<uint64_t>(s.seed)));
    models::save(s.words[0], model, models::hugging_face::config_of(config, s.family));
    std::cout << s.words[0] << ": " << grouped(nn::parameter_count(model)) << " random parameters, "
              << grouped(config.vocabulary) << " tokens\n";
}

void make_model(const NewModel& s) {
    models::Config c = new_config(s);
    check_memory(models::least_parameters(check_config(c)));
    models::check_no_model(s.words[0]);
    const models::text::Tokenizer tokenizer = learn_tokens(s);
    std::error_code error;
    fs::create_directories(s.words[0], error);
    check(!error, s.words[0], ": the folder cannot be made: ", error.message());
    tokenizer.save(s.words[0]);
    c.vocabulary = tokenizer.size();  // a text may have fewer
    const auto id = [&](const char* token) { return *tokenizer.id(token); };
    if (s.family == "bert") {
        c.specials = {.start = id("[CLS]"), .ends = {id("[SEP]")}, .pad = id("[PAD]"), .never = {}};
        models::text::save_tokenizer_config(s.words[0], "BertTokenizer", s.context,
                                            {{"pad_token", "[PAD]"},
                                             {"unk_token", "[UNK]"},
                                             {"cls_token", "[CLS]"},
                                             {"sep_token", "[SEP]"},
                                             {"mask_token", "[MASK]"}});
        return write_model<models::MaskedLanguageModel>(s, c);
    }
    const char* const end = "<|endoftext|>";
    c.specials.start = id(end), c.specials.ends = {id(end)};
    models::text::save_tokenizer_config(s.words[0], "GPT2Tokenizer", s.context,
                                        {{"bos_token", end}, {"eos_token", end}, {"unk_token", end}});
    write_model<models::LanguageModel>(s, c);
}

}  // namespace

Command new_command(const std::vector<std::string>& families) {
    return {"new", "makes a model with random weights, to be trained", [=](Options& options) {
                NewModel s = {.family = families[0]};
                add_new_options(options, s, families);
                options.parse();
                make_model(s);
            }};
}

// ---------------------------------------------------------------------------------------------- saved ones

models::OpenOptions opening(const std::string& path, const std::string& precision, bool packed) {
    models::OpenOptions options = {.packed = packed && !autograd::Plain::active()};  // plain ops read none
    if (!precision.empty())
        options.precision = precision_of(precision);
    std::error_code none;
    check(!std::filesystem::is_symlink(path, none) || nn::checkpoint::exists(path), path,
          ": this is a link to something that is not there");
    check(nn::checkpoint::exists(path), path, ": there is no such folder or file",
          suggestion(path, {"train", "new", "info", "score", "predict", "eval"}),
          " `make tiny` trains small models, in build/tiny");
    check(!std::filesystem::is_regular_file(path, none) || path.ends_with(".safetensors"), path,
          ": this file is no model; `", name(), " train --help` says how to learn from texts");
    const models::SavedModel folder(path);
    if (folder.is_ours())
        return options;
    const bool halves = options.packed && options.precision == models::Precision::bf16;
    check_memory(models::least_parameters(folder.config), halves ? 2 : sizeof(Real));
    say(join(as_line(path), ": ", models::hugging_face::architecture(folder.config)));
    return options;
}

void check_saves(const models::RunSettings& run) {
    check_usage(run.check || !run.save.empty() || !run.resume.empty(),
                "--save FOLDER is missing: the trained model is written there");
}

void print_sizes(const std::string& path, int64_t parameters, const std::string& text) {
    const models::SavedModel saved(path);
    const models::ConfigJson& c = saved.config;
    const models::BlockConfig& b = c.block;
    std::cout << path << ": " << (saved.is_ours() ? models::name_of(c.kind) : c.family)
              << "\nlayers: " << c.n_layers
              << (c.kind == models::Kind::encoder_decoder ? join(" + ", c.n_decoder_layers) : "") << ", "
              << b.d_model << " wide, feed-forward " << b.d_ff << ", " << counted(b.n_heads, "head")
              << (b.n_kv_heads > 0 && b.n_kv_heads < b.n_heads ? join(", of keys and values ", b.n_kv_heads)
                                                               : "")
              << "; at most " << grouped(c.max_length) << " tokens\nparameters: " << grouped(parameters)
              << ", products in " << autograd::kPrecisionNames[static_cast<int>(b.precision)]
              << "\ntext: " << text << ", vocabulary " << grouped(c.vocabulary) << '\n';
}

Labels token_names(const models::text::Tokenizer& tokenizer) {
    Labels names(static_cast<std::size_t>(tokenizer.size()));
    for (int32_t id = 0; id < tokenizer.size(); ++id)
        for (const char c : tokenizer.decode({id}))
            names[static_cast<std::size_t>(id)] += c == ' ' ? "␣" : c == '\n' ? "↵" : std::string(1, c);
    return names;
}

}  // namespace plaingrad::kit
