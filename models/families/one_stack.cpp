#include "models/families/one_stack.h"

namespace plaingrad::models {
namespace {

// x (B, T, d_model) -> (B, d_model): the mean over the first lengths[b] positions of each text. Later
// positions are ignored but must be finite.
Tensor mean_of_tokens(const Tensor& x, const std::vector<int32_t>& lengths) {
    const int64_t batch = x.size(0), length = x.size(1);
    std::vector<Real> shares;  // (B, T)
    for (const int32_t n : lengths)
        for (int64_t t = 0; t < length; ++t)
            shares.push_back(t < n ? Real(1) / static_cast<Real>(n) : Real(0));
    // As a product, so that the order of summing, and with it each bit, does not depend on the padding.
    const UsePrecision exact(Precision::float32);
    const Tensor mean = autograd::matmul(Tensor::from({batch, 1, length}, shares), x);  // (B, 1, d_model)
    return autograd::reshape(mean, {batch, x.size(2)});                                 // (B, d_model)
}

// x (B, T, d_model) -> (B, d_model): the vector of the first position.
Tensor first_token(const Tensor& x) {
    return autograd::reshape(autograd::slice(x, 1, 0, 1), {x.size(0), x.size(2)});  // (B, d_model)
}

}  // namespace

LanguageModel::LanguageModel(const Config& c, const Rng& r)
    : OneStack(c, kKind, r), output(c, backbone.embedding.tokens, r.fork("output")) {}

Tensor LanguageModel::operator()(const Tokens& ids, const Mode& mode) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = backbone(ids, Mask::padding(ids).and_causal(), mode);  // (B, T, d_model)
    return output(x);                                                       // (B, T, V)
}

Tensor LanguageModel::loss(const Tokens& ids, const Tokens& targets, const Mode& mode,
                           const CrossEntropyOptions& options) const {
    const UsePrecision precision(config.block.precision);
    return output.loss(backbone(ids, Mask::padding(ids).and_causal(), mode), targets, options);
}

MaskedLanguageModel::MaskedLanguageModel(const Config& c, const Rng& r)
    : OneStack(c, kKind, r),
      transform(c.block.d_model, c.block.d_model, r.fork("transform"), {.init = c.block.init}),
      norm(c.block.d_model, norm_options(c)),
      output(c, backbone.embedding.tokens, r.fork("output")) {}

Tensor MaskedLanguageModel::operator()(const Tokens& ids, const Mode& mode, const Tokens& types) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = backbone(ids, hiding_padding(ids), mode, types);  // (B, T, d_model)
    return output(transformed(x));                                     // (B, T, V)
}

Tensor MaskedLanguageModel::logits_at(const Tokens& ids, const std::vector<int32_t>& places,
                                      const Mode& mode) const {
    const UsePrecision precision(config.block.precision);
    return autograd::reshape(output(transformed_at(ids, places, mode)),
                             {std::ssize(places), config.vocabulary});  // (n, V)
}

Tensor MaskedLanguageModel::loss(const Tokens& ids, const Tokens& targets, const Mode& mode) const {
    check(targets.batch() == ids.batch() && targets.length() == ids.length(),
          "[MaskedLanguageModel] each of the ", ids.batch(), " x ", ids.length(),
          " ids needs a target, or padding: got ", targets.batch(), " x ", targets.length());
    const UsePrecision precision(config.block.precision);
    std::vector<int32_t> places, wanted;
    for (std::size_t i = 0; i < targets.ids().size(); ++i)
        if (targets.ids()[i] != targets.pad()) {
            places.push_back(static_cast<int32_t>(i));
            wanted.push_back(targets.ids()[i]);
        }
    return output.loss(transformed_at(ids, places, mode), Tokens(1, std::ssize(wanted), wanted), {});
}

Tensor MaskedLanguageModel::transformed(const Tensor& x) const {
    return norm(autograd::activation(transform(x), config.block.activation));
}

Tensor MaskedLanguageModel::transformed_at(const Tokens& ids, const std::vector<int32_t>& places,
                                           const Mode& mode) const {
    const Tensor x = backbone(ids, hiding_padding(ids), mode);                           // (B, T, d_model)
    const Tensor rows = autograd::reshape(x, {ids.batch() * ids.length(), x.size(-1)});  // (B*T, d_model)
    const Tokens chosen(1, std::ssize(places), places);
    return transformed(autograd::embedding(rows, chosen));  // (1, n, d_model)
}

Classifier::Classifier(const Config& c, const Rng& r)
    : OneStack(c, kKind, r),
      dropout(c.pooled_dropout < 0 ? c.block.dropout.sublayers : c.pooled_dropout, r.fork("dropout")),
      output(c.block.d_model, c.classes, r.fork("output"), {.init = c.block.init}) {
    if (c.pooling == Pooling::pooler)
        pooler.emplace(c.block.d_model, c.block.d_model, r.fork("pooler"),
                       nn::LinearOptions{.init = c.block.init});
}

Tensor Classifier::operator()(const Tokens& ids, const Mode& mode, const Tokens& types) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = backbone(ids, hiding_padding(ids), mode, types);  // (B, T, d_model)
    const Tensor pooled = config.pooling == Pooling::mean ? mean_of_tokens(x, ids.lengths())
                          : pooler                        ? autograd::tanh((*pooler)(first_token(x)))
                                                          : first_token(x);  // (B, d_model)
    return output(dropout(pooled, mode));             // (B, classes)
}

TextEncoder::TextEncoder(const Config& c, const Rng& r)
    : OneStack(c, kKind, r),
      pooler(c.block.d_model, c.block.d_model, r.fork("pooler"), {.init = c.block.init}) {}

Tensor TextEncoder::operator()(const Tokens& ids, const Mode& mode, const Tokens& types) const {
    const UsePrecision precision(config.block.precision);
    return backbone(ids, hiding_padding(ids), mode, types);  // (B, T, d_model)
}

Tensor TextEncoder::pooled(const Tensor& x) const {
    const UsePrecision precision(config.block.precision);
    return autograd::tanh(pooler(first_token(x)));  // (B, d_model)
}

}  // namespace plaingrad::models
