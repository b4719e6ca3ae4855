#include "models/transformer.h"

namespace plaingrad::models {

Transformer::Transformer(const TransformerConfig& c, const Rng& rng_)
    : config(check_config(c)),
      rng(rng_),
      src_embedding(encoder_stack(c), rng_.fork("src_embedding")),
      tgt_embedding(decoder_stack(c), rng_.fork("tgt_embedding")),
      encoder(encoder_stack(c), rng_.fork("encoder")),
      decoder(decoder_stack(c), rng_.fork("decoder")),
      output(decoder_stack(c), rng_.fork("output")) {
    if (c.tying == Tying::source_target || c.tying == Tying::all)
        tgt_embedding.tokens.table = src_embedding.tokens.table.share();
    if (c.tying == Tying::target_output || c.tying == Tying::all)
        output.table = tgt_embedding.tokens.table.share();
}

Tensor Transformer::encode(const Tokens& src, const Mask& mask, const Mode& mode,
                           AttentionWeights* weights) const {
    const Tensor x = src_embedding(src, mode);  // (B, S, d_model)
    return encoder(x, mask, mode, weights);     // (B, S, d_model)
}

Tensor Transformer::decode(const Tokens& tgt, const Tensor& memory, const Mask& self_mask,
                           const Mask& memory_mask, const Mode& mode, AttentionWeights* weights) const {
    const Tensor x = tgt_embedding(tgt, mode);                                         // (B, T, d_model)
    const Tensor decoded = decoder(x, memory, self_mask, memory_mask, mode, weights);  // (B, T, d_model)
    return output(decoded);                                                            // (B, T, V)
}

Tensor Transformer::operator()(const Tokens& src, const Tokens& tgt, const Mode& mode,
                               AttentionWeights* weights) const {
    const Tensor memory = encode(src, mode, weights);               // (B, S, d_model)
    return decode(tgt, memory, Mask::padding(src), mode, weights);  // (B, T, V)
}

Tensor Transformer::loss(const Tokens& src, const Tokens& tgt, const Tokens& targets, const Mode& mode,
                         const CrossEntropyOptions& options) const {
    const Tensor memory = encode(src, mode);    // (B, S, d_model)
    const Tensor x = tgt_embedding(tgt, mode);  // (B, T, d_model)
    const Tensor decoded = decoder(x, memory, Mask::padding(tgt).and_causal(), Mask::padding(src), mode);
    return output.loss(decoded, targets, options);
}

namespace {

class TransformerStepper final : public Stepper {
public:
    TransformerStepper(const Transformer& model, const Tokens& src)
        : model_(model), key_counts_(src.lengths()) {
        const autograd::NoGrad no_grad;
        caches_ = model.decoder.start(model.encode(src, Mode::eval()));
        table_ = model.output.turned();
    }

    Tensor step(const std::vector<int32_t>& tokens) override {
        const autograd::NoGrad no_grad;
        const int64_t batch = static_cast<int64_t>(tokens.size());
        check(tokens.size() == key_counts_.size(), "[decode] ", tokens.size(), " tokens for a batch of ",
              key_counts_.size());
        const Tokens newest(batch, 1, tokens);
        const Tensor x = model_.tgt_embedding(newest, Mode::eval(), position_);  // (B, 1, d_model)
        const Tensor decoded = model_.decoder.step(x, caches_, Mask::key_counts(key_counts_));
        ++position_;
        return autograd::reshape(model_.output(decoded, table_), {batch, -1});  // (B, V)
    }

    void select(const std::vector<int32_t>& rows) override {
        const autograd::NoGrad no_grad;
        std::vector<int32_t> counts;
        for (const int32_t row : rows) {
            check(row >= 0 && row < static_cast<int32_t>(key_counts_.size()), "[decode] there is no row ",
                  row, " in a batch of ", key_counts_.size());
            counts.push_back(key_counts_[static_cast<std::size_t>(row)]);
        }
        key_counts_ = std::move(counts);
        for (LayerCache& cache : caches_) {
            cache.self.select(rows);
            cache.memory = select_rows(cache.memory, rows);
        }
    }

    int64_t max_length() const override { return model_.config.max_length; }

private:
    const Transformer& model_;
    std::vector<int32_t> key_counts_;
    std::vector<LayerCache> caches_;
    Tensor table_;  // of the output, turned around
    int64_t position_ = 0;
};

}  // namespace

std::unique_ptr<Stepper> Transformer::start(const Tokens& src) const {
    return std::make_unique<TransformerStepper>(*this, src);
}

}  // namespace plaingrad::models
