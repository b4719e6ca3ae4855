#include "apps/kit/config_metadata.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace plaingrad::kit {
namespace {

using autograd::check;
using autograd::Real;
using models::ClassifierConfig;
using models::StackConfig;
using models::TransformerConfig;

// The names of an enum's values, in their order.
using Names = std::vector<std::string>;
const Names kActivations = {"relu", "gelu_erf", "gelu_tanh"};
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

struct Writer {
    Metadata metadata;

    void operator()(const char* name, int64_t value) { put(name, std::to_string(value)); }
    void operator()(const char* name, bool value) { put(name, value ? "true" : "false"); }
    void operator()(const char* name, Real value) {
        char text[40];
        std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
        put(name, text);
    }
    template <class Enum>
    void operator()(const char* name, Enum value, const Names& names) {
        put(name, names[static_cast<std::size_t>(value)]);
    }
    void put(const char* name, const std::string& text) {
        metadata.emplace(autograd::join("config.", name), text);
    }
};

struct Reader {
    const Metadata& metadata;

    void operator()(const char* name, int64_t& value) const {
        const std::string& text = at(name);
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        check(error == std::errc() && stop == end, "config.", name, " must be a whole number: got '", text,
              "'");
    }
    void operator()(const char* name, bool& value) const { choose(name, value, {"false", "true"}); }
    void operator()(const char* name, Real& value) const {
        const std::string& text = at(name);
        char* stop = nullptr;
        value = static_cast<Real>(std::strtod(text.c_str(), &stop));
        check(!text.empty() && stop == text.c_str() + text.size(), "config.", name,
              " must be a number: got '", text, "'");
    }
    template <class Enum>
    void operator()(const char* name, Enum& value, const Names& names) const {
        choose(name, value, names);
    }

    template <class Value>
    void choose(const char* name, Value& value, const Names& names) const {
        const std::string& text = at(name);
        for (std::size_t i = 0; i < names.size(); ++i)
            if (names[i] == text) {
                value = static_cast<Value>(i);
                return;
            }
        throw autograd::Error(autograd::join("config.", name, " has an unknown value '", text, "'"));
    }
    const std::string& at(const char* name) const {
        const auto entry = metadata.find(autograd::join("config.", name));
        check(entry != metadata.end(), "config.", name, " is missing");
        return entry->second;
    }
};

}  // namespace

Metadata to_metadata(const StackConfig& config) {
    Writer writer;
    visit_stack(config, writer);
    return std::move(writer.metadata);
}

Metadata to_metadata(const ClassifierConfig& config) {
    Writer writer;
    visit_classifier(config, writer);
    return std::move(writer.metadata);
}

Metadata to_metadata(const TransformerConfig& config) {
    Writer writer;
    visit_transformer(config, writer);
    return std::move(writer.metadata);
}

void from_metadata(const Metadata& metadata, TransformerConfig& config) {
    const Reader reader{metadata};
    visit_transformer(config, reader);
    check_config(config);
}

void from_metadata(const Metadata& metadata, StackConfig& config) {
    const Reader reader{metadata};
    visit_stack(config, reader);
    check_config(config);
}

void from_metadata(const Metadata& metadata, ClassifierConfig& config) {
    const Reader reader{metadata};
    visit_classifier(config, reader);
    check_config(config.stack);
}

}  // namespace plaingrad::kit
