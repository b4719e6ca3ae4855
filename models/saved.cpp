#include "models/saved.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "models/pytorch.h"
#include "nn/checkpoint/metadata.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::models {

namespace fs = std::filesystem;
using nn::checkpoint::check_file;
using nn::checkpoint::FieldReader;
using nn::checkpoint::FieldWriter;
using nn::checkpoint::FileError;
using nn::checkpoint::SafeTensors;

namespace {

constexpr const char* kConfig = "config.";  // the names of what stands beside the weights
constexpr const char* kTraining = "training.";
constexpr const char* kOptimizer = "optimizer.";  // the names of its tensors begin so
constexpr const char* kKind = "plaingrad.model";  // which of these:
template <class Model>
constexpr const char* kKindOf = nullptr;
template <>
constexpr const char* kKindOf<Transformer> = "translation model";
template <>
constexpr const char* kKindOf<LanguageModel> = "language model";
template <>
constexpr const char* kKindOf<MaskedLanguageModel> = "masked language model";
template <>
constexpr const char* kKindOf<Classifier> = "classifier";

// Files of a newer version say so, instead of seeming broken. (Without it: version 1.)
constexpr const char* kVersion = "plaingrad.version";
constexpr int64_t kOurVersion = 1;

// Sinusoids are computed, not read, so nothing in the file bounds their number: a table may have 16 MiB, or
// as many numbers as the file.
constexpr double kSinusoids = 1 << 22;

// How much a file holds of a model.
struct Amount {
    double numbers = 0, tensors = 0;
};
Amount amount_of(const SafeTensors& file) {
    Amount amount = {.tensors = static_cast<double>(file.entries().size())};
    for (const nn::checkpoint::Entry& entry : file.entries())
        amount.numbers +=
            static_cast<double>((entry.end - entry.begin) / nn::checkpoint::size_of(entry.dtype));
    return amount;
}
Amount amount_of(const StateDict& state) {
    Amount amount = {.tensors = static_cast<double>(state.entries.size())};
    for (const StateEntry& entry : state.entries)
        amount.numbers += static_cast<double>(entry.tensor.numel());
    return amount;
}

// Throws Error unless a model of these sizes can have come from this file: its large parameters, which bound
// the others, must be in there, and more than one tensor for each layer. In double, which holds any product
// of sizes. more: numbers of other parts of the model.
void check_size(const StackConfig& c, const Amount& there, double more = 0) {
    const auto d = static_cast<double>(c.block.d_model), d_ff = static_cast<double>(c.block.d_ff);
    const double table = static_cast<double>(c.max_length) * d;
    const bool learned = c.block.positions == nn::Positions::learned;
    check(learned || table <= std::max(kSinusoids, there.numbers), "max_length = ", c.max_length,
          " makes a table of positions that is larger than the model");
    const double least = static_cast<double>(c.vocabulary) * d + (learned ? table : 0) +
                         static_cast<double>(c.n_layers) * (4 * d * d + 2 * d * d_ff) + more;
    check(least <= there.numbers && static_cast<double>(c.n_layers) <= there.tensors,
          "the tensors are too few for the sizes in the metadata");
}
void check_size(const ClassifierConfig& c, const Amount& there) {
    check_size(c.stack, there, static_cast<double>(c.classes) * static_cast<double>(c.stack.block.d_model));
}
void check_size(const TransformerConfig& c, const Amount& there) {
    StackConfig decoder = decoder_stack(c);
    const double d = static_cast<double>(c.block.d_model),
                 feed_forward = 2 * d * static_cast<double>(c.block.d_ff);
    check_size(encoder_stack(c), there, static_cast<double>(c.n_decoder_layers) * (8 * d * d + feed_forward));
    decoder.n_layers = c.n_encoder_layers + c.n_decoder_layers;
    check_size(decoder, there);
}

// What a run that is resumed needs, besides weights and moments. The losses that are compared are kept to the
// last bit.
struct Standing : nn::Validations {
    int64_t steps = 0;
    std::string steps_of_each = {};  // "7 7 2": of each parameter, if they differ

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
    Standing standing = {training, training.adam.steps(), {}};
    const std::vector<int64_t>& of_each = training.adam.steps_of_each();
    for (const int64_t steps : of_each)
        standing.steps_of_each.append(std::to_string(steps)).append(" ");
    if (std::count(of_each.begin(), of_each.end(), standing.steps) == std::ssize(of_each))
        standing.steps_of_each.clear();
    return standing;
}

// Of each of so many parameters.
std::vector<int64_t> steps_of_each(const Standing& standing, std::size_t parameters,
                                   const std::string& path) {
    std::vector<int64_t> all(standing.steps_of_each.empty() ? parameters : 0, standing.steps);
    std::istringstream words(standing.steps_of_each);
    for (std::string word; words >> word;)
        all.push_back(nn::checkpoint::parse_integer(word).value_or(-1));
    const auto possible = [&](int64_t steps) { return steps >= 0 && steps <= standing.steps; };
    check_file(all.size() == parameters && std::all_of(all.begin(), all.end(), possible), path,
               ": training.steps and training.steps_of_each cannot be those of ", parameters, " parameters");
    return all;
}

std::vector<StateEntry> optimizer_entries(const nn::Training& training) {
    std::vector<StateEntry> entries;
    for (const nn::NamedParameter& moment : training.adam.state())
        entries.push_back({autograd::join(kOptimizer, moment.name), moment.tensor});
    return entries;
}

// The model that the metadata describes, with initial values.
template <class Model>
Model build(const SafeTensors& file, const Rng& rng) {
    try {
        decltype(Model::config) config;
        from_metadata(file.metadata(), config, file.path());
        check_size(config, amount_of(file));
        return Model(config, rng);
    } catch (const FileError&) {
        throw;
    } catch (const autograd::Error& error) {
        throw FileError(autograd::join(file.path(), ": ", error.what()));
    }
}

template <class Model>
Model load_model(const std::string& path, Metadata* extra, const Rng& rng) {
    const char* const kind = kKindOf<Model>;
    const SafeTensors file = nn::checkpoint::read(path);
    const FieldReader field{file.metadata(), "", path};
    check_file(field.has(kKind), path,
               ": this file holds tensors, but was not saved by a program of plaingrad; a saved ", kind,
               " is needed");
    const std::string& saved = field.required(kKind);
    check_file(saved == kind, path, ": this is a saved ", saved, "; a saved ", kind, " is needed");
    int64_t version = kOurVersion;
    field(kVersion, version);
    check_file(version == kOurVersion, path, ": it was saved by a newer version (", version,
               "; this one reads ", kOurVersion, ")");
    Model model = build<Model>(file, rng);
    StateDict state = state_dict(model);
    state.canonical = [](std::string name) { return name.starts_with(kOptimizer) ? std::string() : name; };
    nn::checkpoint::load(file, state);
    if (extra != nullptr)
        *extra = file.metadata();
    return model;
}

}  // namespace

template <class Config>
Metadata to_metadata(const Config& config) {
    Metadata metadata;
    FieldWriter write{metadata, kConfig};
    Config::fields(config, write);
    return metadata;
}
template <class Config>
void from_metadata(const Metadata& metadata, Config& config, const std::string& where) {
    FieldReader read{metadata, kConfig, where};
    Config::fields(config, read);
    check_config(config);
}
template Metadata to_metadata(const StackConfig&);
template Metadata to_metadata(const ClassifierConfig&);
template Metadata to_metadata(const TransformerConfig&);
template void from_metadata(const Metadata&, StackConfig&, const std::string&);
template void from_metadata(const Metadata&, ClassifierConfig&, const std::string&);
template void from_metadata(const Metadata&, TransformerConfig&, const std::string&);

template <nn::Module Model>
void check_can_save(const Model& model) {
    check_size(model.config, amount_of(state_dict(model)));
}
template <nn::Module Model>
void save(const std::string& path, const Model& model, const Metadata& extra, const nn::Training* training) {
    check_can_save(model);
    Metadata metadata = extra;
    metadata.merge(to_metadata(model.config));
    metadata.emplace(kKind, kKindOf<Model>);
    metadata.emplace(kVersion, std::to_string(kOurVersion));
    StateDict state = state_dict(model);
    if (training != nullptr) {
        for (StateEntry& entry : optimizer_entries(*training))
            state.entries.push_back(std::move(entry));
        FieldWriter writer{metadata, kTraining};
        standing_of(*training).visit(writer);
    }
    nn::checkpoint::save(path, state, metadata);
}

template void save(const std::string&, const LanguageModel&, const Metadata&, const nn::Training*);
template void save(const std::string&, const MaskedLanguageModel&, const Metadata&, const nn::Training*);
template void save(const std::string&, const Classifier&, const Metadata&, const nn::Training*);
template void save(const std::string&, const Transformer&, const Metadata&, const nn::Training*);
template void check_can_save(const LanguageModel&);
template void check_can_save(const MaskedLanguageModel&);
template void check_can_save(const Classifier&);
template void check_can_save(const Transformer&);

std::string model_file(const std::string& path) {
    std::error_code none;
    if (!fs::is_directory(path, none))
        return path;
    for (const char* const name : {"model.safetensors", "best.safetensors", "last.safetensors"})
        if (const fs::path file = fs::path(path) / name; fs::exists(file, none))
            return file.string();
    throw FileError(autograd::join(path, ": this folder has no model in it"));
}

LanguageModel load_language_model(const std::string& path, Metadata* extra, const Rng& rng) {
    return load_model<LanguageModel>(path, extra, rng);
}
Classifier load_classifier(const std::string& path, Metadata* extra, const Rng& rng) {
    return load_model<Classifier>(path, extra, rng);
}
Transformer load_transformer(const std::string& path, Metadata* extra, const Rng& rng) {
    return load_model<Transformer>(path, extra, rng);
}

void load_weights(const std::string& path, StateDict state) {
    state.canonical = [](std::string name) { return name.starts_with(kOptimizer) ? std::string() : name; };
    nn::checkpoint::load(nn::checkpoint::read(path), state);
}

void load_training(const std::string& path, nn::Training& training) {
    const nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    const FieldReader reader{file.metadata(), kTraining, path};
    check_file(reader.has("steps"), path,
               ": this is a saved model, but no checkpoint to go on from: training.steps ", "is missing");
    Standing standing;
    standing.visit(reader);
    std::vector<int64_t> of_each = steps_of_each(standing, training.adam.parameters().size(), path);
    nn::checkpoint::load(file, {optimizer_entries(training), [](std::string name) {
                                    return name.starts_with(kOptimizer) ? name : std::string();
                                }});
    training.adam.set_steps(standing.steps, std::move(of_each));
    static_cast<nn::Validations&>(training) = standing;
}

}  // namespace plaingrad::models
