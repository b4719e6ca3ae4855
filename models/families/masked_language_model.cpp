#include "models/families/masked_language_model.h"

namespace plaingrad::models {

MaskedLanguageModel::MaskedLanguageModel(const Config& c, const Rng& rng_)
    : config(check_config(c.as(kKind))),
      rng(rng_),
      backbone(c, rng_.fork("backbone")),
      transform(c.block.d_model, c.block.d_model, rng_.fork("transform"), {.init = c.block.init}),
      norm(c.block.d_model, norm_options(c)),
      output(c, rng_.fork("output")) {
    if (c.tied)
        output.table = backbone.embedding.tokens.table.share();
}

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
    return norm(autograd::linear_activation(x, transform.weight, transform.bias, config.block.activation));
}

Tensor MaskedLanguageModel::transformed_at(const Tokens& ids, const std::vector<int32_t>& places,
                                           const Mode& mode) const {
    for (const int32_t place : places)
        check(place >= 0 && place < ids.batch() * ids.length(), "[MaskedLanguageModel] there is no place ",
              place, " in ", ids.batch(), " x ", ids.length(), " ids");
    const Tensor x = backbone(ids, hiding_padding(ids), mode);                           // (B, T, d_model)
    const Tensor rows = autograd::reshape(x, {ids.batch() * ids.length(), x.size(-1)});  // (B*T, d_model)
    const Tokens chosen(1, std::ssize(places), places);
    return transformed(autograd::embedding(rows, chosen));  // (1, n, d_model)
}

}  // namespace plaingrad::models
