// A model in a safetensors file, with the weights under PyTorch's names (models/pytorch.h). The metadata hold
// the kind of model, its configuration, and what the program adds, for instance the names of classes; its
// tokenizer is beside it. A checkpoint is such a file with everything that training needs to resume.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "models/classifier.h"
#include "models/language_model.h"
#include "models/masked_language_model.h"
#include "models/text/tokenizer.h"
#include "models/transformer.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/metadata.h"
#include "nn/checkpoint/state_dict.h"
#include "nn/training.h"

namespace plaingrad::models {

using nn::checkpoint::Metadata;

// How a model is opened, ours or one of others.
struct OpenOptions {
    // Only to compute with (nn/packing.h). The weights of a folder from Hugging Face are packed as soon as each
    // has been read, so that only one at a time is in memory as float32.
    bool packed = false;
    std::optional<Precision> precision = {};  // to compute in; else the model's own
    // Called with the number of weights that have been read, and the number of all; for a folder from Hugging
    // Face, where they may be many.
    std::function<void(int64_t done, int64_t all)> progress = {};
    Rng rng = Rng(0);  // for dropout, if training continues: the one that the model was built with
};

// The configuration as text, "config.d_model" -> "512", and back. A field that is missing keeps its value, so
// older files can be read; one that does not exist here is refused, since a newer version computes something
// else with it. Throws FileError naming `where` and the field if it cannot be read, and Error for a
// configuration that cannot be built.
Metadata to_metadata(const Config& config);
void from_metadata(const Metadata& metadata, Config& config, const std::string& where);

// A model whose matrices are not set: all of its weights will be read from a file.
template <nn::Module Model>
Model unset(Config config, const Rng& rng) {
    const nn::Init own = std::exchange(config.block.init, nn::Init::none);
    Model model(config, rng);
    model.config.block.init = own;
    return model;
}

// For the four models. Replaces the file; if that fails, the old one is unchanged. training: for a
// checkpoint. Throws FileError naming the file and the cause. Throws Error for a model that could not be
// loaded again: one whose table of sinusoids, which is computed and not in the file, has more than 2^22
// numbers, and more than the file.
template <nn::Module Model>
void save(const std::string& path, const Model& model, const Metadata& extra = {},
          const nn::Training* training = nullptr);

// The file to open when a program is given `path`. For a run's folder: model.safetensors, which exists once
// the run has ended; or else best.safetensors, of the best validation; or else last.safetensors, the last
// checkpoint. For a file: itself. Throws FileError for a folder from Hugging Face, or with none of them.
std::string model_file(const std::string& path);

// The tokenizer.json beside such a file. Throws FileError if there is none, or if it has not so many ids as
// the model's `vocabulary`; 0: any.
text::Tokenizer tokenizer_beside(const std::string& file, int64_t vocabulary = 0);

// For the four models. Throws FileError naming the file if it is not one that `save` wrote for this kind of
// model. Memory is allocated for no more numbers than the file has. `extra` receives the whole metadata.
template <nn::Module Model>
Model load_model(const std::string& path, Metadata* extra = nullptr, const OpenOptions& options = {});

// Loads the weights of a checkpoint or a saved model into a model of the same configuration.
void load_weights(const std::string& path, nn::checkpoint::StateDict state);

// Loads the training state of a checkpoint, for a Training of the model that was loaded from it. Throws
// FileError naming the file if it is not a checkpoint of such a model; then `training` is unchanged.
void load_training(const std::string& path, nn::Training& training);

}  // namespace plaingrad::models
