#include "models/saved.h"

#include <algorithm>
#include <filesystem>

#include "models/hugging_face/weights.h"
#include "models/pytorch.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/packing.h"

namespace plaingrad::models {

namespace fs = std::filesystem;
using nn::checkpoint::check_file;
using nn::checkpoint::FieldReader;
using nn::checkpoint::FieldWriter;
using nn::checkpoint::FileError;
using nn::checkpoint::SafeTensors;

namespace {

constexpr const char* kConfig = "config.";        // prefix of the configuration's metadata
constexpr const char* kTraining = "training.";    // prefix of the metadata for resuming
constexpr const char* kOptimizer = "optimizer.";  // prefix of the optimizer's tensors
// So that a file of another version is recognised, and not reported as broken. Version 1 had a configuration
// for each kind of model.
constexpr const char* kVersion = "plaingrad.version";
constexpr int64_t kOurVersion = 2;

// Sinusoids and rotary turns are computed, not read, so nothing in the file limits their table: it may have
// so many numbers (16 MiB), or as many as the file.
constexpr double kComputed = 1 << 22;

// More steps than anyone will make. A file could otherwise have a number that the next step overflows.
constexpr int64_t kMostSteps = int64_t{1} << 53;

// How many numbers and tensors a file has.
struct Amount {
    double numbers = 0, tensors = 0;
};
int64_t numbers_in(const nn::checkpoint::Entry& entry) {
    return (entry.end - entry.begin) / nn::checkpoint::size_of(entry.dtype);
}
Amount amount_of(const SafeTensors& file) {
    Amount amount = {.tensors = static_cast<double>(file.entries().size())};
    for (const nn::checkpoint::Entry& entry : file.entries())
        amount.numbers += static_cast<double>(numbers_in(entry));
    return amount;
}

// Throws Error unless a model of these sizes can have come from this file: its large parameters must be in
// there, and more than one tensor for each layer.
void check_size(const Config& c, const Amount& there) {
    const nn::Positions positions = c.block.positions;
    const int64_t width = positions == nn::Positions::sinusoidal ? c.block.d_model
                          : positions == nn::Positions::rotary   ? head_size(c.block)
                                                                 : 0;
    const double table = static_cast<double>(c.max_length) * static_cast<double>(width);
    check(table <= std::max(kComputed, there.numbers), "max_length = ", c.max_length,
          " makes a table of positions that is larger than the model");
    const auto decoder = static_cast<double>(c.kind == Kind::encoder_decoder ? c.n_decoder_layers : 0);
    check(least_parameters(c) <= there.numbers && static_cast<double>(c.n_layers) + decoder <= there.tensors,
          "the tensors are too few for the sizes in the metadata");
}

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
// Reading the optimizer's tensors from a checkpoint ignores the weights,
void read_optimizer(const SafeTensors& file, const nn::Training& training) {
    const auto own = [](std::string name) { return name.starts_with(kOptimizer) ? name : std::string(); };
    nn::checkpoint::load(file, {optimizer_state(training), own});
}
// and reading the weights ignores the optimizer's.
void read_weights(const SafeTensors& file, StateDict state) {
    state.canonical = [](std::string name) { return name.starts_with(kOptimizer) ? std::string() : name; };
    nn::checkpoint::load(file, state);
}

}  // namespace

Metadata to_metadata(const Config& config) {
    Metadata metadata;
    FieldWriter write{metadata, kConfig};
    Config::fields(config, write);
    return metadata;
}

void from_metadata(const Metadata& metadata, Config& config, const std::string& where) {
    const Metadata known = to_metadata(config);
    for (const auto& [name, text] : metadata)
        check_file(!name.starts_with(kConfig) || known.contains(name), where, ": ",
                   nn::checkpoint::shown_name(name),
                   " is unknown here: the file was saved by a newer version");
    const FieldReader read{metadata, kConfig, where};
    Config::fields(config, read);
    check_config(config);
}

template <nn::Module Model>
Model load_model(const std::string& path, Metadata* extra, const OpenOptions& options) {
    const SafeTensors file = nn::checkpoint::read(path);
    const FieldReader field{file.metadata(), "", path};
    check_file(field.has(kVersion), path,
               ": this file holds tensors, but plaingrad has not saved it; a saved ", name_of(Model::kKind),
               " is needed, or a folder that also has the config.json of these tensors");
    const auto version = field.required_as<int64_t>(kVersion);
    check_file(version == kOurVersion, path, ": it was saved by ",
               version < kOurVersion ? "an older" : "a newer", " version (", version, "; this one reads ",
               kOurVersion, ")", version < kOurVersion ? "; its model must be trained again" : "");
    Config config;
    try {
        from_metadata(file.metadata(), config, path);
        check_file(config.kind == Model::kKind, path, ": this is a saved ", name_of(config.kind),
                   "; a saved ", name_of(Model::kKind), " is needed");
        check_size(config, amount_of(file));
    } catch (const FileError&) {
        throw;
    } catch (const autograd::Error& error) {
        throw FileError(autograd::join(path, ": ", error.what()));
    }
    Model model = unset<Model>(config, options.rng);
    read_weights(file, state_dict(model));
    model.config.block.precision = options.precision.value_or(model.config.block.precision);
    if (options.packed)
        nn::pack_weights(model);
    if (extra != nullptr)
        *extra = file.metadata();
    return model;
}

template <nn::Module Model>
void save(const std::string& path, const Model& model, const Metadata& extra, const nn::Training* training) {
    StateDict state = state_dict(model);
    check_size(model.config,
               {static_cast<double>(nn::parameter_count(model)), static_cast<double>(state.entries.size())});
    Metadata metadata = to_metadata(model.config);
    metadata.emplace(kVersion, std::to_string(kOurVersion));
    for (const auto& [name, text] : extra)  // may come from a loaded file; the model's own entries are newer
        if (!name.starts_with(kConfig) && !name.starts_with(kTraining))
            metadata.emplace(name, text);
    if (training != nullptr) {
        for (const StateEntry& entry : optimizer_state(*training))
            state.entries.push_back(entry);
        FieldWriter writer{metadata, kTraining};
        standing_of(*training).visit(writer);
    }
    nn::checkpoint::save(path, state, metadata);
}

template void save(const std::string&, const LanguageModel&, const Metadata&, const nn::Training*);
template void save(const std::string&, const MaskedLanguageModel&, const Metadata&, const nn::Training*);
template void save(const std::string&, const Classifier&, const Metadata&, const nn::Training*);
template void save(const std::string&, const Transformer&, const Metadata&, const nn::Training*);
template LanguageModel load_model(const std::string&, Metadata*, const OpenOptions&);
template MaskedLanguageModel load_model(const std::string&, Metadata*, const OpenOptions&);
template Classifier load_model(const std::string&, Metadata*, const OpenOptions&);
template Transformer load_model(const std::string&, Metadata*, const OpenOptions&);

std::string model_file(const std::string& path) {
    std::error_code none;
    if (!fs::is_directory(path, none))
        return path;
    check_file(!nn::checkpoint::exists(nn::checkpoint::in_folder(path, "config.json")), path,
               ": this is a folder from Hugging Face; "
               "the programs generate, classify and fill read such folders");
    for (const char* const name : {"model.safetensors", "best.safetensors", "last.safetensors"})
        if (const std::string file = nn::checkpoint::in_folder(path, name); nn::checkpoint::exists(file))
            return file;
    nn::checkpoint::names_in(path, none);
    if (!none)
        hugging_face::refuse_others(path);
    throw FileError(autograd::join(
        path, none ? ": this folder cannot be read: " + none.message() : ": this folder has no model in it"));
}

text::Tokenizer tokenizer_beside(const std::string& file, int64_t vocabulary) {
    const fs::path parent = fs::path(file).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    check_file(nn::checkpoint::exists(nn::checkpoint::in_folder(folder, "tokenizer.json")), file,
               ": there is no tokenizer.json beside it; copy it from the folder of its run. Files of older "
               "versions have none: their models must be trained again");
    auto tokenizer = text::Tokenizer::open(folder);
    check_file(vocabulary == 0 || tokenizer.size() == vocabulary, file, ": the model has ", vocabulary,
               " ids, the tokenizer beside it ", tokenizer.size());
    return tokenizer;
}

void load_weights(const std::string& path, StateDict state) {
    read_weights(nn::checkpoint::read(path), std::move(state));
}

void load_training(const std::string& path, nn::Training& training) {
    const SafeTensors file = nn::checkpoint::read(path);
    const FieldReader reader{file.metadata(), kTraining, path};
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
    read_optimizer(file, training);
    training.adam.set_steps(standing.steps, std::move(of_each));
    static_cast<nn::Validations&>(training) = standing;
}

}  // namespace plaingrad::models
