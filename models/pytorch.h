// Loads and saves weights under the names that they have in PyTorch.
//
//     load_pytorch("model.safetensors", model);          # in Python: save_file(model.state_dict(), ...)
//     save_pytorch("model.safetensors", model);          # model.load_state_dict(load_file(...), strict=True)
//
// Which PyTorch module fits which of ours:
//
//     Encoder, Decoder      torch.nn.TransformerEncoder, TransformerDecoder: layers.0.norm1.weight, ...
//     Transformer           transformer.*                        torch.nn.Transformer
//                           src_embedding.*, tgt_embedding.*     torch.nn.Embedding
//                           src_positions.*, tgt_positions.*     torch.nn.Embedding, if they are learned
//                           output.*                             torch.nn.Linear
//     LanguageModel, MaskedLanguageModel, Classifier
//                           encoder.*                            torch.nn.TransformerEncoder
//                           embedding.*, positions.*, output.*   as in a Transformer
//                           types.*                              torch.nn.Embedding, of token types
//                           embedding_norm.*                     torch.nn.LayerNorm, if there is one
//                           transform.*, norm.*                  of a MaskedLanguageModel: Linear, LayerNorm
//     a layer of nn/        Linear, Embedding, LayerNorm, MultiheadAttention
//
// torch.nn.Transformer has a norm after each stack in post-norm, too: that is `final_norm = true` here.
// Without them it takes its stacks as custom_encoder and custom_decoder.
//
// Layouts: PyTorch's Linear has its weight as (out, in), ours as (in, out); PyTorch has the projections of
// queries, keys and values in one matrix. For other names and layouts, write a map of your own:
// models/hugging_face/weights.cpp makes one.
#pragma once

#include <string>
#include <vector>

#include "models/families/transformer.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models {

using Metadata = nn::checkpoint::Metadata;
using nn::all_parameters;
using nn::checkpoint::NameRules;
using nn::checkpoint::replaced;
using nn::checkpoint::StateDict;
using nn::checkpoint::StateEntry;

// Entries in the order of visit. Parameters that get the same name are side by side in one entry;
// `gain` and `table` become `weight`. transposed: the matrices of Linear are (out, in) in the file.
std::vector<StateEntry> renamed(const std::vector<nn::NamedParameter>& parameters, const NameRules& rules,
                                bool transposed);

// By PyTorch's names. of_transformer: its two stacks are in a torch.nn.Transformer.
StateDict pytorch_state_dict(const std::vector<nn::NamedParameter>& parameters, bool of_transformer = false);
template <nn::Module M>
StateDict state_dict(const M& module) {
    return pytorch_state_dict(all_parameters(module), std::is_same_v<M, Transformer>);
}

// Returns the metadata. Ignores the prefixes "module." and "_orig_mod.". Throws FileError that lists entries
// which are missing from the file, superfluous, or of another shape; then the model is unchanged. For a file
// whose names differ from those above:
//
//     nn::checkpoint::SafeTensors file = nn::checkpoint::read("model.safetensors");
//     file.rename([](const std::string& name) { return replaced(name, {{"blocks.", "layers."}}); });
//     load(file, state_dict(model));
template <nn::Module M>
Metadata load_pytorch(const std::string& path, const M& module) {
    return load(nn::checkpoint::read(path), state_dict(module));
}

// A tied weight is written under each of its names; write(path, tied_once(state_dict(module))) does it once.
template <nn::Module M>
void save_pytorch(const std::string& path, const M& module, const Metadata& metadata = {}) {
    write(path, state_dict(module), metadata);
}

}  // namespace plaingrad::models
