#include "models/families/text_encoder.h"

#include "nn/pooling.h"

namespace plaingrad::models {

TextEncoder::TextEncoder(const Config& c, const Rng& rng_)
    : config(check_config(c.as(kKind))),
      rng(rng_),
      backbone(c, rng_.fork("backbone")),
      pooler(c.block.d_model, c.block.d_model, rng_.fork("pooler"), {.init = c.block.init}) {}

Tensor TextEncoder::operator()(const Tokens& ids, const Mode& mode, const Tokens& types) const {
    const UsePrecision precision(config.block.precision);
    return backbone(ids, hiding_padding(ids), mode, types);  // (B, T, d_model)
}

Tensor TextEncoder::pooled(const Tensor& x) const {
    const UsePrecision precision(config.block.precision);
    return autograd::tanh(pooler(nn::first_token(x)));  // (B, d_model)
}

}  // namespace plaingrad::models
