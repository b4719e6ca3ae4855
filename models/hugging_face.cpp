#include "models/hugging_face.h"

#include <algorithm>

#include "models/hugging_face/tensors.h"

namespace plaingrad::models {
namespace {

using hugging_face::Family;
using hugging_face::Head;

constexpr const char* kTypes = "bert.embeddings.token_type_embeddings.weight";

StateDict entries(const std::vector<nn::NamedParameter>& parameters, const StackConfig& config, Family family,
                  Head head) {
    return state_dict(hugging_face::config_of(config, family, head), parameters,
                      hugging_face::Direction::reading);
}

}  // namespace

StateDict gpt2_state_dict(const LanguageModel& model) {
    check(model.config.block.activation == nn::Activation::gelu_tanh,
          "[gpt2_state_dict] GPT-2 has GELU's tanh form, unlike this model; start its configuration from "
          "gpt2()");
    return entries(all_parameters(model), model.config, Family::gpt2, Head::language_model);
}

StateDict bert_state_dict(const MaskedLanguageModel& model) {
    check(model.config.block.activation == nn::Activation::gelu,
          "[bert_state_dict] BERT has GELU, unlike this model; start its configuration from bert()");
    std::vector<nn::NamedParameter> parameters = all_parameters(model);
    parameters.push_back({"backbone.embedding.types.table", Tensor::zeros({2, model.config.block.d_model})});
    return entries(parameters, model.config, Family::bert, Head::masked_language_model);
}

Metadata load_bert(const std::string& path, const MaskedLanguageModel& model) {
    const StateDict state = bert_state_dict(model);
    Metadata metadata = load(path, state);
    const Tensor types = std::find_if(state.entries.begin(), state.entries.end(), [](const StateEntry& e) {
                             return e.name == kTypes;
                         })->tensor;  // (2, d_model)
    Tensor positions = model.backbone.embedding.positions.table;
    Real* p = positions.mutable_data();
    for (int64_t i = 0; i < positions.numel(); ++i)
        p[i] += types.data()[i % types.size(1)];
    return metadata;
}

}  // namespace plaingrad::models
