#include "models/hugging_face.h"

#include <filesystem>
#include <map>
#include <tuple>

#include "models/hugging_face/keys.h"
#include "models/hugging_face/stack.h"
#include "models/hugging_face/tensors.h"
#include "models/saved.h"
#include "nn/packing.h"

namespace plaingrad::models {
namespace {

namespace fs = std::filesystem;
using hugging_face::Config;
using hugging_face::Direction;
using hugging_face::Folder;
using hugging_face::Head;
using nn::all_parameters;
using nn::checkpoint::check_file;
using nn::checkpoint::in_folder;
using nn::checkpoint::StateDict;
using nn::checkpoint::StateEntry;

// What stands on the stack of our models.
template <class Model>
constexpr Head kHead = Head::none;
template <>
constexpr Head kHead<LanguageModel> = Head::language_model;
template <>
constexpr Head kHead<MaskedLanguageModel> = Head::masked_language_model;
template <>
constexpr Head kHead<Classifier> = Head::classifier;

// A bare stack of GPT-2 or Llama is a language model if its output layer is the embedding.
template <class Model>
bool is_of(const Config& c) {
    const bool bare = c.head == Head::none, is_bert = c.family == hugging_face::Family::bert;
    if constexpr (std::is_same_v<Model, TextEncoder>)
        return bare && is_bert;
    return c.head == kHead<Model> || (kHead<Model> == Head::language_model && bare && c.tied && !is_bert);
}

template <class Model>
decltype(Model::config) config_for(const Config& c) {
    if constexpr (std::is_same_v<Model, Classifier>)
        return {.stack = stack(c),
                .classes = std::ssize(c.labels),
                .pooling = Pooling::pooler,
                .pooled_dropout = c.classifier_dropout};
    else
        return stack(c);
}

template <class Model>
Config config_of(const Model& model, const Config& given) {
    Config c = hugging_face::config_of(stack_of(model.config), given.family, given.head);
    check(is_of<Model>(c), "[save_hugging_face] this is a ", Model::kKind, ", which ",
          hugging_face::architecture(c.family, c.head), " is not");
    c.start = given.start;
    c.ends = given.ends;
    c.pad = given.pad;
    if (c.max_length == given.max_length)
        std::tie(c.max_positions, c.window, c.sliding_layers) =
            std::tie(given.max_positions, given.window, given.sliding_layers);
    if constexpr (std::is_same_v<Model, Classifier>) {
        check(model.config.pooling == Pooling::pooler && std::ssize(given.labels) == model.config.classes,
              "[save_hugging_face] BERT's classifier has a pooler, and a label for each of ",
              model.config.classes, " classes: got ", given.labels.size());
        c.labels = given.labels;
        c.classifier_dropout = model.dropout.rate;
    }
    return c;
}

}  // namespace

template <nn::Module Model>
Model load_hugging_face(const Folder& folder, const HuggingFaceLoad& options) {
    const Config& c = folder.config;
    check_file(is_of<Model>(c), folder.file("config.json"), ": a ", Model::kKind, " is needed: got ",
               hugging_face::architecture(c.family, c.head),
               c.head == Head::none && !c.tied ? ", which has no output layer"
               : c.names_head                  ? ""
                                               : ", which is assumed where there is no \"architectures\"");
    Model model = unset<Model>(config_for<Model>(c), options.rng);
    block_of(model.config).precision = options.packed.value_or(block_of(model.config).precision);
    const UsePrecision precision(block_of(model.config).precision);
    const int64_t all = nn::parameter_count(model);
    int64_t done = 0;
    std::map<const Real*, std::pair<nn::NamedParameter, int64_t>> unread;  // how many numbers of each
    for (const nn::NamedParameter& p : nn::parameters(model))
        unread.try_emplace(p.tensor.data(), p, p.tensor.numel());
    const auto after = [&](const StateEntry& entry) {
        const std::vector<int64_t> sizes = sizes_of(entry);
        const int64_t n = autograd::Shape(sizes.data(), static_cast<int>(sizes.size())).numel();
        done += n;
        auto& [parameter, left] = unread.at(entry.tensor.data());
        if ((left -= n) == 0 && options.packed)
            nn::pack_weight(parameter);
        if (options.on_progress)
            options.on_progress(done, all);
    };
    load(folder.files, state_dict(c, all_parameters(model), Direction::reading),
         {.where = folder.where + " does not fit the model of config.json",
          .hint = "are both of the same model?",
          .after = after});
    return model;
}

template <nn::Module Model>
void save_hugging_face(const std::string& folder, const Model& model, const Config& given) {
    const Config c = config_of(model, given);
    const StateDict state = state_dict(c, all_parameters(model), Direction::writing);
    std::error_code error;
    fs::create_directories(folder, error);
    check_file(!error, folder, ": the folder cannot be made: ", error.message());
    // First, as new weights beside an old config.json would be another model.
    nn::checkpoint::check_can_replace(in_folder(folder, "config.json"));
    save(in_folder(folder, "model.safetensors"), state, {{"format", "pt"}});
    write_config(in_folder(folder, "config.json"), c);
}

namespace hugging_face {

text::Tokenizer open_tokenizer(const Folder& folder) {
    auto tokenizer = text::Tokenizer::open(folder.path);
    for (const int32_t type : tokenizer.encode_texts({"a"}).type_ids)
        check_file(folder.config.token_types == 0 || type < folder.config.token_types, folder.path,
                   ": the tokenizer gives a text the token type ", type, ", the model has ",
                   folder.config.token_types, " from 0 on");
    check_file(tokenizer.size() <= folder.config.vocabulary, folder.path, ": the tokenizer has ",
               tokenizer.size(), " ids, the model ", folder.config.vocabulary);
    return tokenizer;
}

TextFiles read_text_files(const std::string& folder) {
    TextFiles files = {{"tokenizer.json", text::Tokenizer::open(folder).json()}};
    for (const std::string name : {"tokenizer_config.json", "special_tokens_map.json",
                                   "generation_config.json", "chat_template.jinja"})
        if (nn::checkpoint::exists(in_folder(folder, name)))
            files.emplace_back(name, nn::checkpoint::read_file(in_folder(folder, name)));
    return files;
}

void write_text_files(const TextFiles& files, const std::string& folder) {
    for (const auto& [name, bytes] : files)
        nn::checkpoint::replace_file(in_folder(folder, name), {bytes});
}

}  // namespace hugging_face

template LanguageModel load_hugging_face(const Folder&, const HuggingFaceLoad&);
template MaskedLanguageModel load_hugging_face(const Folder&, const HuggingFaceLoad&);
template Classifier load_hugging_face(const Folder&, const HuggingFaceLoad&);
template TextEncoder load_hugging_face(const Folder&, const HuggingFaceLoad&);
template void save_hugging_face(const std::string&, const LanguageModel&, const Config&);
template void save_hugging_face(const std::string&, const MaskedLanguageModel&, const Config&);
template void save_hugging_face(const std::string&, const Classifier&, const Config&);
template void save_hugging_face(const std::string&, const TextEncoder&, const Config&);

}  // namespace plaingrad::models
