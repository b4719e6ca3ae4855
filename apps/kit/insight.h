// How a model comes to its answer to a text: the commands of a prompt.
#pragma once

#include "apps/kit/prompt.h"
#include "apps/kit/report.h"
#include "models/decoding/decoding.h"
#include "models/writer.h"

namespace plaingrad::kit {

// "  0.9312  bonjour", a line each.
std::string listed(const std::vector<std::pair<std::string, double>>& probabilities);

// Attention weights (1, H, T, S), the mean over the heads. What is wider than the terminal is cut at the
// left.
std::string attention_picture(const autograd::Tensor& weights, const Labels& rows, const Labels& columns);
// To standard output: the cross-attention of a batch of one, every head small, and large the one with most of
// its weight where target position t should look: at the source position s with is_right(t, s). path: what
// these are, in words. names: of the ids.
void show_heads(const models::Transformer& model, const models::Batch& batch, const Labels& names,
                const std::function<bool(int64_t t, int64_t s)>& is_right, const std::string& path);
// The mean of the heads, of the last layer of a model with one stack.
template <class Model>
Prompt::Command attention_command(const Model& model, const Labels& names,
                                  const std::function<autograd::Tokens(const std::string&)>& tokens) {
    return {":attention", "where it looked (last layer, mean of the heads)",
            [=, &model](const std::string& last, const std::string&) {
                autograd::check(!last.empty(), "first type a text");
                const autograd::Tokens text = tokens(last);
                nn::Probe seen;
                model(text, nn::Mode::eval(&seen));
                const Labels labels = names_of(text.ids(), names);
                return attention_picture(seen.of(model.backbone.encoder.layers.back().self_attention), labels,
                                         labels);
            }};
}

// Starts to decode the continuation of `last`, or its translation, after what is written of it.
using Start =
    std::function<std::unique_ptr<models::Stepper>(const std::string& last, const std::string& written)>;
// :next and :beam. o: of the search, but the user gives its width.
void add_commands(Prompt& prompt, const Start& start, const Labels& names, const models::BeamOptions& o);
// Those of a model that continues a text, and :attention. Of a text longer than the model's context they read
// the end, as writing does.
void add_commands(Prompt& prompt, const models::Writer& w, const Labels& names);
// How a translator, which outlives its prompt, comes from one text to the other.
struct Translating {
    const models::Transformer& model;
    const models::text::Tokenizer &source, &target;
    models::BeamOptions search = {};
    bool ends = false;  // an end is behind each source, as in its training
};
// All but `read` and `answer`.
Prompt prompt_of(const Translating& t);

}  // namespace plaingrad::kit
