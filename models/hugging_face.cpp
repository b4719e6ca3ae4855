#include "models/hugging_face.h"

#include <filesystem>
#include <map>

#include "models/hugging_face/tensors.h"
#include "nn/packing.h"

namespace plaingrad::models {
namespace {

namespace fs = std::filesystem;
using hugging_face::ConfigJson;
using hugging_face::Direction;
using hugging_face::Folder;
using nn::all_parameters;
using nn::checkpoint::check_file;
using nn::checkpoint::in_folder;
using nn::checkpoint::StateDict;
using nn::checkpoint::StateEntry;

}  // namespace

template <nn::Module Model>
Model load_hugging_face(const Folder& folder, const OpenOptions& options) {
    const ConfigJson& c = folder.config;
    // A bare GPT-2 or Llama is a language model if its output layer is the embedding.
    const bool no_output = c.kind == Kind::causal && c.bare && !c.tied;
    check_file(c.kind == Model::kKind && !no_output, folder.file("config.json"), ": a ",
               name_of(Model::kKind), " is needed: got ", hugging_face::architecture(c),
               no_output       ? ", which has no output layer"
               : c.names_class ? ""
                               : ", which is assumed where there is no \"architectures\"");
    Model model = unset<Model>(c, options.rng);
    model.config.block.precision = options.precision.value_or(model.config.block.precision);
    const UsePrecision precision(model.config.block.precision);
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
        if (options.progress)
            options.progress(done, all);
    };
    load(folder.files, state_dict(c, all_parameters(model), Direction::reading),
         {.where = folder.where + " does not fit the model of config.json",
          .hint = "are both of the same model?",
          .after = after});
    return model;
}

template <nn::Module Model>
void save_hugging_face(const std::string& folder, const Model& model, const ConfigJson& given) {
    const ConfigJson c = config_of(model.config, given);
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

template LanguageModel load_hugging_face(const Folder&, const OpenOptions&);
template MaskedLanguageModel load_hugging_face(const Folder&, const OpenOptions&);
template Classifier load_hugging_face(const Folder&, const OpenOptions&);
template TextEncoder load_hugging_face(const Folder&, const OpenOptions&);
template void save_hugging_face(const std::string&, const LanguageModel&, const ConfigJson&);
template void save_hugging_face(const std::string&, const MaskedLanguageModel&, const ConfigJson&);
template void save_hugging_face(const std::string&, const Classifier&, const ConfigJson&);
template void save_hugging_face(const std::string&, const TextEncoder&, const ConfigJson&);

}  // namespace plaingrad::models
