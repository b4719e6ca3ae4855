#include "models/saved.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "autograd/weight.h"
#include "models/hugging_face/weights.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models {

namespace fs = std::filesystem;
using nn::checkpoint::exists;
using nn::checkpoint::FileError;
using nn::checkpoint::in_folder;
using nn::checkpoint::Match;
using nn::checkpoint::SafeTensors;

namespace {

// So that a file of another version is recognised, and not reported as broken.
constexpr const char* kVersion = "plaingrad.version";
constexpr int64_t kOurVersion = 3;

// Reading the weights of a checkpoint ignores the optimizer's tensors.
constexpr const char* kOptimizer = "optimizer.";  // their prefix
bool is_optimizers(const std::string& name) { return name.starts_with(kOptimizer); }

// By the names of the family, each weight under all that it has.
StateDict state_of(const std::vector<nn::NamedParameter>& all, const ConfigJson& config) {
    return config.is_ours() ? pytorch_state_dict(all, config.kind == Kind::encoder_decoder)
                            : hugging_face::state_dict(config, all);
}

}  // namespace

bool is_saved_here(const SafeTensors& file) {
    int64_t version = 0;
    const nn::checkpoint::Fields read{file.metadata(), "", file.path()};
    read(kVersion, version);
    if (!read.has(kVersion))
        return false;
    check_file(version == kOurVersion, file.path(), ": it was saved by ",
               version < kOurVersion ? "an older" : "a newer", " version (", version, "; this one reads ",
               kOurVersion, ")", version < kOurVersion ? "; its model must be trained again" : "");
    return true;
}

SavedModel::SavedModel(const std::string& path) : folder(path) {
    std::error_code none;
    check_file(exists(path), path, ": there is no such folder or file");
    const bool is_folder = fs::is_directory(path, none);
    if (!is_folder) {
        const fs::path parent = fs::path(path).parent_path();
        folder = parent.empty() ? "." : parent.string();
    }
    const bool described = exists(file("config.json"));
    if (described)
        config = hugging_face::read_config(file("config.json"));
    for (const std::string& one : hugging_face::weight_files(path))
        files.push_back(nn::checkpoint::read(one));
    const std::string index = file("model.safetensors.index.json");
    const bool is_listed = is_folder && exists(index) && !exists(file("model.safetensors"));
    where = is_listed ? index : files[0].path();
    const bool of_ours = is_saved_here(files[0]);
    check_file(described, where, ": there is no config.json beside it, which says what these tensors are");
    check_file(of_ours || !is_ours(), where,
               ": this file holds tensors, but plaingrad has not saved it, as config.json says");
    // Half of the numbers of the large parameters, and more than one tensor for each layer: of less, memory
    // for this model must not be allocated. (If some are missing, loading names them.)
    int64_t numbers = 0, tensors = 0;
    for (SafeTensors& of : files) {
        for (const nn::checkpoint::Entry& entry : of.entries()) {
            numbers += (entry.end - entry.begin) / entry.dtype->size;
            ++tensors;
        }
        of.rename([&](const std::string& name) {
            return is_saved_here(of) && is_optimizers(name) ? ""
                   : is_ours()                              ? name
                                                            : hugging_face::canonical_name(config, name);
        });
    }
    const int64_t decoder = config.kind == Kind::encoder_decoder ? config.n_decoder_layers : 0;
    check_file(
        least_parameters(config) <= 2 * static_cast<double>(numbers) && config.n_layers + decoder <= tensors,
        where, ": the tensors are too few for the sizes in config.json; are both of the same model?");
    if (is_folder && !is_listed && where != file("model.safetensors"))
        config.notes.push_back("there is no model.safetensors; these are the weights of " + where);
}

text::Tokenizer SavedModel::tokenizer() const {
    check_file(!is_ours() || exists(file("tokenizer.json")), where,
               ": there is no tokenizer.json beside it; copy it from the folder of its run (those of "
               "reverse_task, tasks and toy_translate have none)");
    auto tokenizer = text::Tokenizer::open(folder);
    for (const int32_t type : tokenizer.encode_texts({"a"}).type_ids)
        check_file(config.token_types == 0 || type < config.token_types, folder,
                   ": the tokenizer gives a text the token type ", type, ", the model has ",
                   config.token_types, " from 0 on");
    const bool pair = config.kind == Kind::encoder_decoder;
    for (const int64_t ids : {config.vocabulary, pair ? config.src_vocabulary : config.vocabulary})
        check_file(is_ours() ? tokenizer.size() == ids : tokenizer.size() <= ids, folder,
                   ": the tokenizer has ", tokenizer.size(), " ids, the model ", ids);
    return tokenizer;
}

void SavedModel::check_kind(Kind kind) const {
    // A bare GPT-2 or Llama is a language model if its output layer is the embedding.
    const bool no_output = config.kind == Kind::causal && config.bare && !config.tied;
    check_file(config.kind == kind && !no_output, file("config.json"), ": a ", name_of(kind),
               " is needed: got ", is_ours() ? "a " : "", hugging_face::architecture(config),
               no_output                         ? ", which has no output layer"
               : config.names_class || is_ours() ? ""
                                                 : ", which is assumed where there is no \"architectures\"");
}

void SavedModel::read_weights(const std::vector<nn::NamedParameter>& all, bool packed) const {
    StateDict state = state_of(all, config);
    std::erase_if(state, [&](const StateEntry& entry) {  // what is only written
        return !is_ours() && hugging_face::canonical_name(config, entry.name).empty();
    });
    const std::vector<Match> matches =
        match(files, state, where + " does not fit the model of config.json", "are both of the same model?");
    std::map<const Real*, const Match*> last;  // of each weight, the last tensor that has numbers of it
    for (const Match& m : matches) {
        last[m.entry->tensor.data()] = &m;
        for (const Tensor& next : m.entry->beside)
            last[next.data()] = &m;
    }
    std::multimap<const Match*, nn::NamedParameter> complete;  // what can be packed after it
    for (const nn::NamedParameter& p : nn::unique_parameters(all))
        if (packed && (p.is_matrix || p.is_table))
            complete.emplace(last.at(p.tensor.data()), p);
    for (const Match& m : matches) {
        m.read();
        for (auto [p, end] = complete.equal_range(&m); p != end; ++p)
            autograd::pack(p->second.tensor, p->second.is_table);
    }
}

StateDict saved_state(const std::vector<nn::NamedParameter>& all, const ConfigJson& config) {
    StateDict state = state_of(all, config);
    return config.tied && !config.is_ours() ? tied_once(std::move(state)) : state;
}

void save(const std::string& folder, const std::vector<nn::NamedParameter>& all, const ConfigJson& config) {
    const StateDict state = saved_state(all, config);
    std::error_code error;
    fs::create_directories(folder, error);
    check_file(!error, folder, ": the folder cannot be made: ", error.message());
    // First, as new weights beside an old config.json would be another model.
    nn::checkpoint::check_can_replace(in_folder(folder, "config.json"));
    save_checkpoint(in_folder(folder, "model.safetensors"), state);
    nn::checkpoint::replace_file(in_folder(folder, "config.json"), written(config));
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
        nn::checkpoint::replace_file(in_folder(folder, name), bytes);
}

// ---- Checkpoints.

namespace {

constexpr const char* kTraining = "training.";  // prefix of the metadata for resuming

// More steps than anyone will make. A file could otherwise have a number that the next step overflows.
constexpr int64_t kMostSteps = int64_t{1} << 53;

// The best loss is saved to the last bit, as later losses are compared with it.
template <class Validations, class Field>
void visit(Validations& of, Field& field) {
    field("best_validation", of.best_validation);
    field("best_step", of.best_step);
    field("worse", of.worse);
}

std::vector<StateEntry> optimizer_state(const nn::Training& training) {
    std::vector<StateEntry> entries;
    for (const nn::NamedParameter& moment : training.adam.state())
        entries.push_back({kOptimizer + moment.name, moment.tensor});
    return entries;
}

}  // namespace

void save_checkpoint(const std::string& path, const StateDict& state, Metadata extra,
                     const nn::Training* training) {
    StateDict all = state;
    extra.emplace(kVersion, std::to_string(kOurVersion));
    extra.emplace("format", "pt");  // which transformers asks for
    if (training != nullptr) {
        for (const StateEntry& entry : optimizer_state(*training))
            all.push_back(entry);
        nn::checkpoint::FieldWriter write{extra, kTraining};
        const std::vector<int64_t>& of_each = training->adam.steps_of_each();
        write("steps", training->adam.steps());
        if (std::count(of_each.begin(), of_each.end(), training->adam.steps()) < std::ssize(of_each))
            write("steps_of_each", of_each);
        visit(*training, write);
    }
    write(path, all, extra);
}

void load_weights(const std::string& path, const StateDict& state) {
    SafeTensors file = nn::checkpoint::read(path);
    is_saved_here(file);  // throws for another version
    file.rename([](const std::string& name) { return is_optimizers(name) ? std::string() : name; });
    load(file, state);
}

void load_training(const std::string& path, nn::Training& training) {
    SafeTensors file = nn::checkpoint::read(path);
    const nn::checkpoint::Fields read{file.metadata(), kTraining, path};
    check_file(read.has("steps"), path,
               ": this is a saved model, but not a checkpoint to resume from: training.steps is missing");
    int64_t steps = 0;
    read("steps", steps);
    const std::size_t parameters = training.adam.parameters().size();
    std::vector<int64_t> of_each;
    read("steps_of_each", of_each);
    if (of_each.empty())  // they are the same
        of_each.assign(parameters, steps);
    nn::Validations validations;
    visit(validations, read);
    const auto possible = [&](int64_t n) { return n >= 0 && n <= steps; };
    check_file(of_each.size() == parameters && std::all_of(of_each.begin(), of_each.end(), possible) &&
                   steps <= kMostSteps,
               path, ": training.steps and training.steps_of_each cannot be those of ", parameters,
               " parameters");
    check_file(possible(validations.best_step) && possible(validations.worse), path,
               ": training.best_step and training.worse cannot be those of ", steps, " steps");
    file.rename([](const std::string& name) { return is_optimizers(name) ? name : std::string(); });
    load(file, optimizer_state(training));
    training.adam.set_steps(steps, std::move(of_each));
    static_cast<nn::Validations&>(training) = validations;
}

}  // namespace plaingrad::models
