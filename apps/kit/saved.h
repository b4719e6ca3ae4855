// A model in a file: safetensors, with the weights under PyTorch's names (models/pytorch.h), and in the metadata the
// kind of model, its configuration, and what the program adds, its vocabulary for instance.
#pragma once

#include "apps/kit/config_metadata.h"
#include "models/language_model.h"

namespace kit {

// Training may take hours: what would keep its result from being saved is to be said before. Throws Error if `path` is
// no file, or cannot be written, and UsageError if it is one of the inputs.
void check_can_save(const std::string& path, const std::vector<std::string>& inputs);

// Writes the file anew, or leaves the old one as it was. Throws Error naming the file and the cause.
void save(const std::string& path, const models::LanguageModel& model, const Metadata& extra = {});
void save(const std::string& path, const models::Classifier& model, const Metadata& extra = {});

// Throws Error naming the file if it is not one that `save` wrote for this kind of model. Nothing is allocated on
// the word of its metadata. `extra` receives the whole metadata.
models::LanguageModel load_language_model(const std::string& path, Metadata* extra = nullptr);
models::Classifier load_classifier(const std::string& path, Metadata* extra = nullptr);

}  // namespace kit
