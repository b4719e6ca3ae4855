#include "apps/kit/saved.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/kit/options.h"
#include "models/pytorch.h"

namespace kit {

using autograd::check;
using models::Classifier;
using models::ClassifierConfig;
using models::LanguageModel;
using models::StackConfig;

namespace {

constexpr const char* kKind = "plaingrad.model";

// Sinusoids are not in the file, so that their number is bounded by nothing but this.
constexpr double kMostSinusoids = 1 << 26;

double count_numbers(const nn::checkpoint::SafeTensors& file) {
    double count = 0;
    for (const nn::checkpoint::Entry& entry : file.entries())
        count += static_cast<double>((entry.end - entry.begin) / nn::checkpoint::size_of(entry.dtype));
    return count;
}

// Throws Error unless a model of these sizes can have come from this file: its large parameters, which bound the others,
// must be in there, and more than one tensor for each layer. In double, which holds any product of sizes.
void check_size(const StackConfig& c, const nn::checkpoint::SafeTensors& file, double more = 0) {
    const auto d = static_cast<double>(c.d_model), d_ff = static_cast<double>(c.d_ff);
    const double table = static_cast<double>(c.max_length) * d;
    const bool learned = c.positions == nn::Positions::learned;
    check(learned || table <= kMostSinusoids, "max_length = ", c.max_length, " is beyond what is supported");
    const double least = static_cast<double>(c.vocabulary) * d + (learned ? table : 0) +
                         static_cast<double>(c.n_layers) * (4 * d * d + 2 * d * d_ff) + more;
    check(least <= count_numbers(file) && c.n_layers <= static_cast<int64_t>(file.entries().size()),
          "the tensors are too few for the sizes in the metadata");
}
void check_size(const ClassifierConfig& c, const nn::checkpoint::SafeTensors& file) {
    check_size(c.stack, file, static_cast<double>(c.classes) * static_cast<double>(c.stack.d_model));
}

template <class Model>
void save_model(const std::string& path, const Model& model, const char* kind, const Metadata& extra) {
    Metadata metadata = extra;
    metadata.merge(to_metadata(model.config));
    metadata.emplace(kKind, kind);
    models::save_pytorch(path, model, metadata);
}

// The model that the metadata describes, with initial values.
template <class Model>
Model build(const nn::checkpoint::SafeTensors& file) {
    try {
        decltype(Model::config) config;
        from_metadata(file.metadata(), config);
        check_size(config, file);
        return Model(config, autograd::Rng(0));
    } catch (const autograd::Error& error) {
        throw autograd::Error(autograd::join(file.path(), ": ", error.what()));
    }
}

template <class Model>
Model load_model(const std::string& path, const char* kind, Metadata* extra) {
    const nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    const auto found = file.metadata().find(kKind);
    check(found != file.metadata().end(), path,
          ": this file holds tensors, but was not saved by a program of plaingrad; a saved ", kind,
          " is needed");
    check(found->second == kind, path, ": this is a saved ", found->second, "; a saved ", kind, " is needed");
    Model model = build<Model>(file);
    nn::checkpoint::load(file, models::state_dict(model));
    if (extra != nullptr)
        *extra = file.metadata();
    return model;
}

}  // namespace

void check_can_save(const std::string& path, const std::vector<std::string>& inputs) {
    std::error_code none;
    for (const std::string& input : inputs)
        if (std::filesystem::equivalent(path, input, none))
            throw UsageError(autograd::join("--save ", path, " would overwrite the text to learn from"));
    const std::filesystem::file_status old = std::filesystem::status(path, none);
    check(!is_directory(old), path, ": this is a directory; --save needs the name of a file");
    check(!exists(old) || is_regular_file(old), path,
          ": this is a pipe or a device; --save needs the name of a file");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    bool possible = access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
    possible = possible && (!exists(old) || access(path.c_str(), W_OK) == 0);
    const int reason = errno;  // kept: the order in which arguments are computed is open
    check(possible, path, ": no file can be written there: ", std::strerror(reason));
}

void save(const std::string& path, const LanguageModel& model, const Metadata& extra) {
    save_model(path, model, "language model", extra);
}
void save(const std::string& path, const Classifier& model, const Metadata& extra) {
    save_model(path, model, "classifier", extra);
}

LanguageModel load_language_model(const std::string& path, Metadata* extra) {
    return load_model<LanguageModel>(path, "language model", extra);
}
Classifier load_classifier(const std::string& path, Metadata* extra) {
    return load_model<Classifier>(path, "classifier", extra);
}

}  // namespace kit
