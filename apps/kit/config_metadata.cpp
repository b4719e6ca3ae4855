#include "apps/kit/config_metadata.h"

#include "nn/checkpoint/metadata.h"

namespace plaingrad::kit {
namespace {

using models::ClassifierConfig;
using models::StackConfig;
using models::TransformerConfig;
using nn::checkpoint::FieldReader;
using nn::checkpoint::FieldWriter;
using nn::checkpoint::Names;

constexpr const char* kPrefix = "config.";

// The names of each enum's values, in their order.
const Names kActivations(std::begin(autograd::kActivationNames), std::end(autograd::kActivationNames));
const Names kNorms = {"post", "pre"};
const Names kPositions = {"sinusoidal", "learned"};
const Names kInits = {"xavier", "normal", "pytorch", "bert", "gpt2"};
const Names kPoolings = {"mean", "first"};
const Names kTyings = {"none", "source_target", "target_output", "all"};

// Every field once, for writing and for reading. Those that one stack and two have in common:
template <class Config, class Field>
void visit_common(Config& c, Field& field) {
    field("max_length", c.max_length);
    field("d_model", c.d_model);
    field("n_heads", c.n_heads);
    field("d_ff", c.d_ff);
    field("activation", c.activation, kActivations);
    field("norm", c.norm, kNorms);
    field("norm_eps", c.norm_eps);
    field("positions", c.positions, kPositions);
    field("scale_embeddings", c.scale_embeddings);
    field("attention_bias", c.attention_bias);
    field("feed_forward_bias", c.feed_forward_bias);
    field("output_bias", c.output_bias);
    field("dropout.embeddings", c.dropout.embeddings);
    field("dropout.sublayers", c.dropout.sublayers);
    field("dropout.feed_forward", c.dropout.feed_forward);
    field("dropout.attention", c.dropout.attention);
    field("init", c.init, kInits);
}

template <class Config, class Field>
void visit_stack(Config& c, Field& field) {
    visit_common(c, field);
    field("vocabulary", c.vocabulary);
    field("n_layers", c.n_layers);
    field("final_norm", c.final_norm);
    field("embedding_norm", c.embedding_norm);
    field("tied", c.tied);
    field("norm_bias", c.norm_bias);
}

template <class Config, class Field>
void visit_transformer(Config& c, Field& field) {
    visit_common(c, field);
    field("src_vocabulary", c.src_vocabulary);
    field("tgt_vocabulary", c.tgt_vocabulary);
    field("n_encoder_layers", c.n_encoder_layers);
    field("n_decoder_layers", c.n_decoder_layers);
    field("final_norms", c.final_norms);
    field("tying", c.tying, kTyings);
}

template <class Config, class Field>
void visit_classifier(Config& c, Field& field) {
    visit_stack(c.stack, field);
    field("classes", c.classes);
    field("pooling", c.pooling, kPoolings);
}

}  // namespace

Metadata to_metadata(const StackConfig& config) {
    Metadata metadata;
    FieldWriter writer{metadata, kPrefix};
    visit_stack(config, writer);
    return metadata;
}

Metadata to_metadata(const ClassifierConfig& config) {
    Metadata metadata;
    FieldWriter writer{metadata, kPrefix};
    visit_classifier(config, writer);
    return metadata;
}

Metadata to_metadata(const TransformerConfig& config) {
    Metadata metadata;
    FieldWriter writer{metadata, kPrefix};
    visit_transformer(config, writer);
    return metadata;
}

void from_metadata(const Metadata& metadata, TransformerConfig& config, const std::string& where) {
    const FieldReader reader{metadata, kPrefix, where};
    visit_transformer(config, reader);
    check_config(config);
}

void from_metadata(const Metadata& metadata, StackConfig& config, const std::string& where) {
    const FieldReader reader{metadata, kPrefix, where};
    visit_stack(config, reader);
    check_config(config);
}

void from_metadata(const Metadata& metadata, ClassifierConfig& config, const std::string& where) {
    const FieldReader reader{metadata, kPrefix, where};
    visit_classifier(config, reader);
    check_config(config.stack);
}

}  // namespace plaingrad::kit
