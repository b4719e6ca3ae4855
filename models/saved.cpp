#include "models/saved.h"

#include <algorithm>
#include <filesystem>

#include "models/pytorch.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::models {

namespace fs = std::filesystem;
using nn::checkpoint::check_file;
using nn::checkpoint::FieldReader;
using nn::checkpoint::FieldWriter;
using nn::checkpoint::FileError;
using nn::checkpoint::SafeTensors;

namespace {

constexpr const char* kTraining = "training.";    // prefix of the metadata for resuming
constexpr const char* kOptimizer = "optimizer.";  // prefix of the optimizer's tensors
constexpr const char* kKind = "plaingrad.model";  // the model's kKind

// So that a file of a newer version is recognised, and not reported as broken. Files without it: version 1.
constexpr const char* kVersion = "plaingrad.version";
constexpr int64_t kOurVersion = 1;

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
// there, and more than one tensor for each layer. stack: any of its stacks.
void check_size(double least, double layers, const StackConfig& stack, const Amount& there) {
    const nn::Positions kind = stack.block.positions;
    const double width = kind == nn::Positions::sinusoidal ? static_cast<double>(stack.block.d_model)
                         : kind == nn::Positions::rotary   ? static_cast<double>(head_size(stack.block))
                                                           : 0;
    const double table = static_cast<double>(stack.max_length) * width;
    check(table <= std::max(kComputed, there.numbers), "max_length = ", stack.max_length,
          " makes a table of positions that is larger than the model");
    check(least <= there.numbers && layers <= there.tensors,
          "the tensors are too few for the sizes in the metadata");
}
void check_size(const StackConfig& c, const Amount& there) {
    check_size(least_parameters(c), static_cast<double>(c.n_layers), c, there);
}
void check_size(const ClassifierConfig& c, const Amount& there) {
    check_size(least_parameters(c), static_cast<double>(c.stack.n_layers), c.stack, there);
}
void check_size(const TransformerConfig& c, const Amount& there) {
    const double layers = static_cast<double>(c.n_encoder_layers) + static_cast<double>(c.n_decoder_layers);
    check_size(least_parameters(c), layers, encoder_stack(c), there);
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

// The model that the metadata describes, with initial values.
template <class Model>
Model build(const SafeTensors& file, const Rng& rng) {
    try {
        decltype(Model::config) config;
        from_metadata(file.metadata(), config, file.path());
        check_size(config, amount_of(file));
        return unset<Model>(config, rng);
    } catch (const FileError&) {
        throw;
    } catch (const autograd::Error& error) {
        throw FileError(autograd::join(file.path(), ": ", error.what()));
    }
}

}  // namespace

template <nn::Module Model>
Model load_model(const std::string& path, Metadata* extra, const Rng& rng) {
    const SafeTensors file = nn::checkpoint::read(path);
    const FieldReader field{file.metadata(), "", path};
    check_file(field.has(kKind), path, ": this file holds tensors, but plaingrad has not saved it; a saved ",
               Model::kKind, " is needed, or a folder that also has the config.json of these tensors");
    const std::string& saved = field.required(kKind);
    check_file(saved == Model::kKind, path, ": this is a saved ", nn::checkpoint::shown_name(saved),
               "; a saved ", Model::kKind, " is needed");
    int64_t version = kOurVersion;
    field(kVersion, version);
    check_file(version == kOurVersion, path, ": it was saved by a newer version (", version,
               "; this one reads ", kOurVersion, ")");
    Model model = build<Model>(file, rng);
    read_weights(file, state_dict(model));
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
    metadata.emplace(kKind, Model::kKind);
    metadata.emplace(kVersion, std::to_string(kOurVersion));
    for (const auto& [name, text] : extra)  // may come from a loaded file; the model's own entries are newer
        if (!name.starts_with("config.") && !name.starts_with(kTraining))
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
template LanguageModel load_model(const std::string&, Metadata*, const Rng&);
template MaskedLanguageModel load_model(const std::string&, Metadata*, const Rng&);
template Classifier load_model(const std::string&, Metadata*, const Rng&);
template Transformer load_model(const std::string&, Metadata*, const Rng&);

std::string model_file(const std::string& path) {
    std::error_code none;
    if (!fs::is_directory(path, none))
        return path;
    for (const char* const name : {"model.safetensors", "best.safetensors", "last.safetensors"})
        if (const std::string file = nn::checkpoint::in_folder(path, name);
            nn::checkpoint::certainly_exists(file))
            return file;
    nn::checkpoint::names_in(path, none);
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
