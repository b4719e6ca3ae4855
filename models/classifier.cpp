#include "models/classifier.h"

namespace plaingrad::models {

const ClassifierConfig& check_config(const ClassifierConfig& c) {
    check_config(c.stack);
    check(c.classes >= 2, "[config] a classifier needs at least two classes: got ", c.classes);
    return c;
}

Classifier::Classifier(const ClassifierConfig& c, const Rng& rng_)
    : config(check_config(c)),
      rng(rng_),
      backbone(c.stack, rng_.fork("backbone")),
      dropout(c.stack.block.dropout.sublayers, rng_.fork("dropout")),
      output(c.stack.block.d_model, c.classes, rng_.fork("output"), {.init = c.stack.block.init}) {}

Tensor mean_of_tokens(const Tensor& x, const std::vector<int32_t>& lengths) {
    check(x.rank() == 3 && std::ssize(lengths) == x.size(0), "[mean_of_tokens] a length for each text: got ",
          lengths.size(), " for x ", x.shape());
    const int64_t batch = x.size(0), length = x.size(1);
    std::vector<Real> shares;  // (B, T)
    for (const int32_t n : lengths) {
        check(n >= 1 && n <= length, "[mean_of_tokens] a length must be from 1 to ", length, ": got ", n);
        for (int64_t t = 0; t < length; ++t)
            shares.push_back(t < n ? Real(1) / static_cast<Real>(n) : Real(0));
    }
    // As a product, so that the order of summing, and with it each bit, does not depend on the padding.
    const Tensor mean = autograd::matmul(Tensor::from({batch, 1, length}, shares), x);  // (B, 1, d)
    return autograd::reshape(mean, {batch, x.size(2)});                                 // (B, d)
}

Tensor Classifier::operator()(const Tokens& ids, const Mode& mode, AttentionWeights* weights) const {
    const Tensor x = backbone(ids, hiding_padding(ids), mode, weights);  // (B, T, d_model)
    const Tensor pooled =
        config.pooling == Pooling::mean
            ? mean_of_tokens(x, ids.lengths())
            : autograd::reshape(autograd::slice(x, 1, 0, 1), {ids.batch(), x.size(2)});  // (B, d_model)
    return output(dropout(pooled, mode));                                                // (B, classes)
}

}  // namespace plaingrad::models
