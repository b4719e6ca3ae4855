#include "models/labeller.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/list.h"
#include "models/saved.h"
#include "models/text/lines.h"
#include "models/text/training_data.h"

namespace plaingrad::models {

// The layers of a model, and its pooler if it has one, under a new classifier.
template <class Model>
static Classifier with_classifier(Model model, int64_t classes, Real dropout, const Rng& rng) {
    Classifier c = unset<Classifier>(with_classes(model.config, classes, Pooling::pooler, dropout), rng);
    c.backbone = std::move(model.backbone);
    const int64_t d_model = c.config.block.d_model;
    const nn::LinearOptions options = {.init = c.config.block.init};
    if constexpr (std::is_same_v<Model, MaskedLanguageModel>)
        c.pooler.emplace(d_model, d_model, rng.fork("pooler"), options);
    else
        c.pooler = std::move(model.pooler);
    c.output = nn::Linear(d_model, classes, rng.fork("output"), options);
    return c;
}

Labeller Labeller::based_on(const std::string& path, const std::vector<std::string>& wanted,
                            const OpenOptions& options) {
    const SavedModel saved(path);
    const ConfigJson& c = saved.config;
    check_file(!c.is_ours() && c.kind != Kind::causal, saved.file("config.json"), ": a BERT is needed: got ",
               hugging_face::architecture(c));
    const bool own = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& label) {
        return std::find(c.labels.begin(), c.labels.end(), label) != c.labels.end();
    });
    const auto on_top = [&](auto found) {
        return with_classifier(std::move(found), std::ssize(wanted), c.pooled_dropout, options.rng);
    };
    auto model = [&] {
        if (c.kind == Kind::masked)
            return on_top(load_model<MaskedLanguageModel>(saved, options));
        if (c.kind == Kind::encoder)
            return on_top(load_model<TextEncoder>(saved, options));
        Classifier known = load_model<Classifier>(saved, options);
        return own ? std::move(known) : on_top(std::move(known));
    }();
    Labeller l = {std::move(model), saved.tokenizer(), own ? c.labels : wanted};
    l.notes = saved.config.notes;
    if (c.kind == Kind::classifier)
        l.notes.emplace_back(own ? "its classifier has these labels, and is trained further"
                                 : "its classifier has other labels; a new one begins");
    return l;
}

Labeller Labeller::load(const std::string& path, const OpenOptions& options) {
    const SavedModel saved(path);
    Labeller l = {load_model<Classifier>(saved, options), saved.tokenizer(), saved.config.labels};
    check_file(!l.labels.empty(), saved.file("config.json"), ": there are no \"labels\"");
    l.notes = saved.config.notes;
    return l;
}

hugging_face::ConfigJson Labeller::config() const {
    auto c = hugging_face::config_of(model.config);
    c.labels = labels;
    return c;
}

std::vector<Label> Labeller::ranked(const std::vector<double>& p) const {
    std::vector<Label> all;
    for (std::size_t i = 0; i < p.size(); ++i)
        all.push_back({labels[i], p[i]});
    std::stable_sort(all.begin(), all.end(),
                     [](const Label& a, const Label& b) { return a.probability > b.probability; });
    return all;
}

Labeller::Encoding Labeller::encode(const std::string& text, text::EncodeOptions options) const {
    const std::size_t tab = reads_pairs() ? text.find('\t') : text.npos;
    std::vector<std::string_view> parts = {std::string_view(text).substr(0, tab)};
    if (tab != text.npos)
        parts.push_back(std::string_view(text).substr(tab + 1));
    options.max_length = model.config.max_length;
    Encoding read = tokenizer.encode_texts(parts, options);
    if (read.ids.empty())  // of invisible characters only
        read = {.ids = {tokenizer.unknown().value_or(0)}, .type_ids = {0}};
    return read;
}

std::vector<Tokens> Labeller::inputs(const std::vector<Encoding>& texts) const {
    // No id of the vocabulary, as a text may name the token that pads elsewhere.
    const auto pad = texts.size() == 1 ? Tokens::kNoPadding : static_cast<int32_t>(model.config.vocabulary);
    std::vector<Tokens> all = {Tokens::padded(autograd::mapped(texts, &Encoding::ids), pad)};
    if (model.config.token_types == 0)
        return all;
    const int64_t batch = all[0].batch(), length = all[0].length();
    std::vector<int32_t> types;
    for (const Encoding& text : texts) {
        types.insert(types.end(), text.type_ids.begin(), text.type_ids.end());
        types.resize(types.size() + static_cast<std::size_t>(length) - text.ids.size());
    }
    all.emplace_back(batch, length, std::move(types));
    return all;
}

Tensor Labeller::logits(const std::vector<Tokens>& inputs, const Mode& mode) const {
    return model(inputs[0], mode, inputs.size() > 1 ? inputs[1] : Tokens());
}

std::vector<std::vector<double>> Labeller::probabilities(const std::vector<std::string>& texts) const {
    const autograd::NoGrad no_grad;
    std::vector<Encoding> read;
    std::vector<text::PairLength> lengths;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        check(text::has_text(texts[i]), "[Labeller] text ", i, " has no words; leave it out");
        read.push_back(encode(texts[i]));
        lengths.push_back({.source = std::ssize(read[i].ids)});
    }
    std::vector<std::vector<double>> all(texts.size());
    const int64_t at_once = std::max<int64_t>(4096, model.config.max_length);
    for (const auto& batch : text::make_batches(lengths, {.batch_tokens = at_once, .shuffle = false})) {
        const auto texts_of_batch =
            autograd::mapped(batch, [&](int64_t i) { return read[static_cast<std::size_t>(i)]; });
        const Tensor p = autograd::softmax(logits(inputs(texts_of_batch), Mode::eval()));  // (B, classes)
        const Real* row = p.data();
        check(std::all_of(row, row + p.numel(), [](Real x) { return std::isfinite(x); }),
              "[Labeller] a probability is not a number; the model's weights are broken");
        for (const int64_t i : batch) {
            all[static_cast<std::size_t>(i)].assign(row, row + labels.size());
            row += labels.size();
        }
    }
    return all;
}

}  // namespace plaingrad::models
