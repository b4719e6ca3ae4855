// The model of a folder from Hugging Face, whatever it is.
#pragma once

#include "models/saved.h"

namespace plaingrad::tests {

// Calls f(model) with a LanguageModel, a MaskedLanguageModel, a Classifier or a TextEncoder.
template <class F>
void with_model(const models::SavedModel& folder, const F& f) {
    const models::hugging_face::ConfigJson& config = folder.config;
    if (config.family != "bert")
        f(models::load_model<models::LanguageModel>(folder));
    else if (config.kind == models::Kind::masked)
        f(models::load_model<models::MaskedLanguageModel>(folder));
    else if (config.kind == models::Kind::classifier)
        f(models::load_model<models::Classifier>(folder));
    else
        f(models::load_model<models::TextEncoder>(folder));
}

}  // namespace plaingrad::tests
