// A model in a file: safetensors, with the weights under PyTorch's names (models/pytorch.h), and in the
// metadata the kind of model, its configuration, and what the program adds, its vocabulary for instance. A
// checkpoint is such a file that also has what training needs to go on: the optimizer's moments, and where it
// stands.
#pragma once

#include "apps/kit/config_metadata.h"
#include "models/language_model.h"
#include "models/masked_language_model.h"
#include "models/transformer.h"
#include "nn/checkpoint/state_dict.h"
#include "nn/training.h"

namespace plaingrad::kit {

// Training may take hours: what would keep its result from being saved is to be said before. Throws Error if
// `path` is no file, or cannot be written, and UsageError if it is one of the inputs.
void check_can_save(const std::string& path, const std::vector<std::string>& inputs);

// Writes the file anew, or leaves the old one as it was. Throws Error naming the file and the cause.
void save(const std::string& path, const models::LanguageModel& model, const Metadata& extra = {},
          const nn::Training* training = nullptr);
void save(const std::string& path, const models::MaskedLanguageModel& model, const Metadata& extra = {},
          const nn::Training* training = nullptr);
void save(const std::string& path, const models::Classifier& model, const Metadata& extra = {},
          const nn::Training* training = nullptr);
void save(const std::string& path, const models::Transformer& model, const Metadata& extra = {},
          const nn::Training* training = nullptr);

// Throws Error naming the file if it is not one that `save` wrote for this kind of model. Nothing is
// allocated on the word of its metadata. `extra` receives the whole metadata.
models::LanguageModel load_language_model(const std::string& path, Metadata* extra = nullptr);
models::Classifier load_classifier(const std::string& path, Metadata* extra = nullptr);
// rng: of the dropout, for a model that goes on learning: the one that it was built with.
models::Transformer load_transformer(const std::string& path, Metadata* extra = nullptr,
                                     const autograd::Rng& rng = autograd::Rng(0));

// The weights of a checkpoint or a saved model, into a model that was built as it was.
void load_weights(const std::string& path, nn::checkpoint::StateDict state);

// Where the run of a checkpoint stood, for a nn::Training of the model that was loaded from it. Throws Error
// naming the file if it is no checkpoint, or not one of such a model; then `training` is as it was.
void load_training(const std::string& path, nn::Training& training);

}  // namespace plaingrad::kit
