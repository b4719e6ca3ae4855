#include "models/saved.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "autograd/weight.h"
#include "models/hugging_face/weights.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models {

namespace fs = std::filesystem;
using hugging_face::Direction;
using nn::checkpoint::check_file;
using nn::checkpoint::exists;
using nn::checkpoint::FileError;
using nn::checkpoint::in_folder;
using nn::checkpoint::Match;
using nn::checkpoint::SafeTensors;

namespace {

// So that a file of another version is recognised, and not reported as broken.
constexpr const char* kVersion = "plaingrad.version";
constexpr int64_t kOurVersion = 3;

// Sinusoids and rotary turns are computed, not read, so nothing in the file limits their table: it may have
// so many numbers (16 MiB), or as many as the file.
constexpr int64_t kComputed = 1 << 22;

// How many numbers and tensors there are.
struct Amount {
    int64_t numbers = 0, tensors = 0;
};
Amount amount_of(const std::vector<SafeTensors>& files) {
    Amount amount;
    for (const SafeTensors& file : files)
        for (const nn::checkpoint::Entry& entry : file.entries()) {
            amount.numbers += (entry.end - entry.begin) / entry.dtype->size;
            ++amount.tensors;
        }
    return amount;
}

// Throws Error unless a model of these sizes can have come from these files: there must be more than one
// tensor for each layer, and half of the numbers of its large parameters. (If some are missing, loading names
// them.)
void check_size(const Config& c, const Amount& there) {
    const nn::Positions positions = c.block.positions;
    const int64_t width = positions == nn::Positions::sinusoidal ? c.block.d_model
                          : positions == nn::Positions::rotary   ? head_size(c.block)
                                                                 : 0;
    const double table = static_cast<double>(c.max_length) * static_cast<double>(width);
    check(table <= static_cast<double>(std::max(kComputed, there.numbers)), "max_length = ", c.max_length,
          " makes a table of positions that is larger than the model");
    const int64_t decoder = c.kind == Kind::encoder_decoder ? c.n_decoder_layers : 0;
    check(least_parameters(c) <= 2 * static_cast<double>(there.numbers) &&
              c.n_layers + decoder <= there.tensors,
          "the tensors are too few for the sizes in config.json; are both of the same model?");
}

bool is_our_file(const SafeTensors& file) { return is_saved_here(file.metadata(), file.path()); }

// Where there is no config.json, says what there is instead, if it is known.
void refuse_without_config(const SavedModel& saved) {
    if (saved.folder == saved.path && !exists(saved.file("best.safetensors")) &&
        !exists(saved.file("last.safetensors")))  // no run's
        hugging_face::refuse_others(saved.path);
    const std::string file = model_file(saved.path);
    check_file(is_our_file(nn::checkpoint::read(file)), file,
               ": there is no config.json beside it, which says what these tensors are");
    throw FileError(file + ": there is no config.json beside it; copy it from the folder of its run");
}

// Reading the weights of a checkpoint ignores the optimizer's tensors.
constexpr const char* kOptimizer = "optimizer.";  // their prefix
bool is_optimizers(const std::string& name) { return name.starts_with(kOptimizer); }

template <nn::Module Model>
StateDict state_in(const Model& model, const ConfigJson& c, Direction direction) {
    return c.is_ours() ? state_dict(model) : hugging_face::state_dict(c, all_parameters(model), direction);
}

}  // namespace

bool is_saved_here(const Metadata& metadata, const std::string& path) {
    int64_t version = 0;
    const nn::checkpoint::Fields read{metadata, "", path};
    read(kVersion, version);
    if (!read.has(kVersion))
        return false;
    check_file(version == kOurVersion, path, ": it was saved by ",
               version < kOurVersion ? "an older" : "a newer", " version (", version, "; this one reads ",
               kOurVersion, ")", version < kOurVersion ? "; its model must be trained again" : "");
    return true;
}

SavedModel::SavedModel(const std::string& path_) : path(path_), folder(path_) {
    std::error_code none;
    check_file(nn::checkpoint::exists(path), path, ": there is no such folder or file");
    if (!fs::is_directory(path, none)) {
        const fs::path parent = fs::path(path).parent_path();
        folder = parent.empty() ? "." : parent.string();
    }
    if (!exists(file("config.json")))
        refuse_without_config(*this);
    config = hugging_face::read_config(file("config.json"));
    const auto listed =
        folder == path ? hugging_face::weight_files(folder) : hugging_face::WeightFiles{.paths = {path}};
    for (const std::string& one : listed.paths)
        files.push_back(nn::checkpoint::read(one));
    where = listed.index.empty() ? listed.paths[0] : listed.index;
    check_file(is_our_file(files[0]) || !is_ours(), where,
               ": this file holds tensors, but plaingrad has not saved it, as config.json says");
    for (SafeTensors& of : files)
        of.rename([&](const std::string& name) {
            return is_our_file(of) && is_optimizers(name) ? ""
                   : is_ours()                            ? name
                                                          : hugging_face::canonical_name(config, name);
        });
    try {
        check_size(config, amount_of(files));
    } catch (const autograd::Error& error) {
        throw FileError(autograd::join(where, ": ", error.what()));
    }
    if (folder == path && listed.index.empty() && files[0].path() != file("model.safetensors"))
        config.notes.push_back("there is no model.safetensors; these are the weights of " + files[0].path());
}

text::Tokenizer SavedModel::tokenizer() const {
    check_file(!is_ours() || nn::checkpoint::exists(file("tokenizer.json")), where,
               ": there is no tokenizer.json beside it; copy it from the folder of its run (those of "
               "reverse_task and toy_translate have none)");
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

template <nn::Module Model>
Model load_model(const SavedModel& saved, const OpenOptions& options) {
    const ConfigJson& c = saved.config;
    // A bare GPT-2 or Llama is a language model if its output layer is the embedding.
    const bool no_output = c.kind == Kind::causal && c.bare && !c.tied;
    check_file(c.kind == Model::kKind && !no_output, saved.file("config.json"), ": a ", name_of(Model::kKind),
               " is needed: got ", saved.is_ours() ? "a " : "", hugging_face::architecture(c),
               no_output                          ? ", which has no output layer"
               : c.names_class || saved.is_ours() ? ""
                                                  : ", which is assumed where there is no \"architectures\"");
    Model model = unset<Model>(c, options.rng);
    model.config.block.precision = options.precision.value_or(model.config.block.precision);
    const UsePrecision precision(model.config.block.precision);
    const StateDict state = state_in(model, c, Direction::reading);
    const std::vector<Match> matches =
        match(saved.files, state, saved.where + " does not fit the model of config.json",
              "are both of the same model?");
    std::map<const Real*, const Match*> last;  // of each weight, the last tensor that has numbers of it
    for (const Match& m : matches) {
        last[m.entry->tensor.data()] = &m;
        for (const Tensor& next : m.entry->beside)
            last[next.data()] = &m;
    }
    std::multimap<const Match*, nn::NamedParameter> complete;  // what can be packed after it
    for (const nn::NamedParameter& p : nn::parameters(model))
        if (options.packed && (p.is_matrix || p.is_table))
            complete.emplace(last.at(p.tensor.data()), p);
    for (const Match& m : matches) {
        m.read();
        for (auto [p, end] = complete.equal_range(&m); p != end; ++p)
            autograd::pack(p->second.tensor, p->second.is_table);
    }
    return model;
}

template <nn::Module Model>
StateDict saved_state(const Model& model, const ConfigJson& config) {
    StateDict state = state_in(model, config, Direction::writing);
    if (config.is_ours())
        check_size(model.config, {nn::parameter_count(model), std::ssize(state)});
    return state;
}

void save_weights(const std::string& path, const StateDict& state, const std::string& family,
                  Metadata extra) {
    if (family == "plaingrad")
        return save_checkpoint(path, state, std::move(extra));
    extra.emplace("format", "pt");
    write(path, state, extra);
}

template <nn::Module Model>
void save(const std::string& folder, const Model& model, const ConfigJson& given) {
    const ConfigJson c = config_of(model.config, given);
    const StateDict state = saved_state(model, c);
    std::error_code error;
    fs::create_directories(folder, error);
    check_file(!error, folder, ": the folder cannot be made: ", error.message());
    // First, as new weights beside an old config.json would be another model.
    nn::checkpoint::check_can_replace(in_folder(folder, "config.json"));
    save_weights(in_folder(folder, "model.safetensors"), state, c.family);
    nn::checkpoint::replace_file(in_folder(folder, "config.json"), written(c));
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

std::string model_file(const std::string& path) {
    std::error_code none;
    return fs::is_directory(path, none) ? hugging_face::weight_files(path).paths[0] : path;
}

template LanguageModel load_model(const SavedModel&, const OpenOptions&);
template MaskedLanguageModel load_model(const SavedModel&, const OpenOptions&);
template Classifier load_model(const SavedModel&, const OpenOptions&);
template TextEncoder load_model(const SavedModel&, const OpenOptions&);
template Transformer load_model(const SavedModel&, const OpenOptions&);
template StateDict saved_state(const LanguageModel&, const ConfigJson&);
template StateDict saved_state(const MaskedLanguageModel&, const ConfigJson&);
template StateDict saved_state(const Classifier&, const ConfigJson&);
template StateDict saved_state(const TextEncoder&, const ConfigJson&);
template StateDict saved_state(const Transformer&, const ConfigJson&);
template void save(const std::string&, const LanguageModel&, const ConfigJson&);
template void save(const std::string&, const MaskedLanguageModel&, const ConfigJson&);
template void save(const std::string&, const Classifier&, const ConfigJson&);
template void save(const std::string&, const TextEncoder&, const ConfigJson&);
template void save(const std::string&, const Transformer&, const ConfigJson&);

// ---- Checkpoints.

namespace {

constexpr const char* kTraining = "training.";  // prefix of the metadata for resuming

// More steps than anyone will make. A file could otherwise have a number that the next step overflows.
constexpr int64_t kMostSteps = int64_t{1} << 53;

// What a run needs to resume, besides weights and moments. The best loss is saved to the last bit, as later
// losses are compared with it.
struct Standing : nn::Validations {
    int64_t steps = 0;
    std::vector<int64_t> steps_of_each = {};  // of each parameter, if they differ

    template <class Field>
    void visit(Field& field) {
        field("steps", steps);
        field("steps_of_each", steps_of_each);
        field("best_validation", best_validation);
        field("best_step", best_step);
        field("worse", worse);
    }
};

Standing standing_of(const nn::Training& training) {
    const int64_t steps = training.adam.steps();
    const std::vector<int64_t>& of_each = training.adam.steps_of_each();
    Standing standing = {training, steps};
    if (std::count(of_each.begin(), of_each.end(), steps) < std::ssize(of_each))
        standing.steps_of_each = of_each;
    return standing;
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
    if (training != nullptr) {
        for (const StateEntry& entry : optimizer_state(*training))
            all.push_back(entry);
        nn::checkpoint::FieldWriter writer{extra, kTraining};
        standing_of(*training).visit(writer);
    }
    write(path, all, extra);
}

void load_weights(const std::string& path, const StateDict& state) {
    SafeTensors file = nn::checkpoint::read(path);
    is_our_file(file);  // throws for another version
    file.rename([](const std::string& name) { return is_optimizers(name) ? std::string() : name; });
    load(file, state);
}

void load_training(const std::string& path, nn::Training& training) {
    SafeTensors file = nn::checkpoint::read(path);
    const nn::checkpoint::Fields reader{file.metadata(), kTraining, path};
    check_file(reader.has("steps"), path,
               ": this is a saved model, but not a checkpoint to resume from: training.steps is missing");
    Standing standing;
    standing.visit(reader);
    const std::size_t parameters = training.adam.parameters().size();
    std::vector<int64_t> of_each = standing.steps_of_each;
    if (of_each.empty())
        of_each.assign(parameters, standing.steps);
    const auto possible = [&](int64_t steps) { return steps >= 0 && steps <= standing.steps; };
    check_file(of_each.size() == parameters && std::all_of(of_each.begin(), of_each.end(), possible) &&
                   standing.steps <= kMostSteps,
               path, ": training.steps and training.steps_of_each cannot be those of ", parameters,
               " parameters");
    check_file(possible(standing.best_step) && possible(standing.worse), path,
               ": training.best_step and training.worse cannot be those of ", standing.steps, " steps");
    file.rename([](const std::string& name) { return is_optimizers(name) ? name : std::string(); });
    load(file, optimizer_state(training));
    training.adam.set_steps(standing.steps, std::move(of_each));
    static_cast<nn::Validations&>(training) = standing;
}

}  // namespace plaingrad::models
