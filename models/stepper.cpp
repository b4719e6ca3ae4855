#include "models/stepper.h"

#include <algorithm>
#include <functional>

#include "autograd/packed_weights.h"
#include "models/language_model.h"
#include "models/transformer.h"

namespace plaingrad::models {
namespace {

// Ids to vectors, layers with a cache each, vectors to logits. The models differ only in the layers.
class CachedStepper final : public Stepper {
public:
    // x (B, T, d_model), beginning at position `first` -> (B, T, d_model). source_lengths: (B), or empty.
    using Layers = std::function<Tensor(const Tensor& x, int64_t first, std::vector<LayerCache>& caches,
                                        const std::vector<int32_t>& source_lengths)>;

    CachedStepper(Tokens prompts_, const StackConfig& c, const InputEmbedding& embedding,
                  const OutputLayer& output, Layers layers, std::vector<LayerCache> caches,
                  std::vector<int32_t> source_lengths = {})
        : Stepper(std::move(prompts_), c.specials, c.max_length),
          precision_(c.block.precision),
          batch_(prompts.batch()),
          embedding_(embedding),
          output_(output),
          layers_(std::move(layers)),
          caches_(std::move(caches)),
          source_lengths_(std::move(source_lengths)) {}

    Tensor step(const Tokens& tokens, Logits which) override {
        const autograd::NoGrad no_grad;
        const UsePrecision precision(precision_);
        const autograd::PackedWeights::Use use(packed_);
        check(tokens.batch() == batch_, "[Stepper] tokens for ", tokens.batch(), " sentences, the batch has ",
              batch_);
        for (const int32_t length : tokens.lengths())
            check(length == tokens.length() && length > 0,
                  "[Stepper] a step takes at least one token of each sentence, and no padding");
        const Tensor x = embedding_(tokens, Mode::eval(), length_);      // (B, T, d_model)
        const Tensor y = layers_(x, length_, caches_, source_lengths_);  // (B, T, d_model)
        length_ += tokens.length();
        const bool all = which == Logits::all || y.size(1) == 1;
        return output_(all ? y : autograd::slice(y, 1, y.size(1) - 1, y.size(1)));  // (B, T or 1, V)
    }

    void select(const std::vector<int32_t>& rows) override {
        const autograd::NoGrad no_grad;
        for (const int32_t row : rows)
            check(row >= 0 && row < batch_, "[Stepper] there is no row ", row, " in a batch of ", batch_);
        for (LayerCache& cache : caches_) {
            cache.self.select(rows);
            cache.memory.select(rows);
        }
        std::vector<int32_t> lengths;
        for (const int32_t row : rows)
            if (!source_lengths_.empty())
                lengths.push_back(source_lengths_[static_cast<std::size_t>(row)]);
        source_lengths_ = std::move(lengths);
        batch_ = static_cast<int64_t>(rows.size());
    }

    void rewind(int64_t length) override {
        check(length >= 0 && length <= length_, "[Stepper] cannot rewind to ", length, " tokens: ", length_,
              " were read");
        for (LayerCache& cache : caches_)
            cache.self.rewind(length);
        length_ = length;
        known = std::min(known, length);
    }

private:
    const Precision precision_;
    int64_t batch_, length_ = 0;  // sentences; positions read
    const InputEmbedding& embedding_;
    const OutputLayer& output_;
    autograd::PackedWeights packed_;
    Layers layers_;
    std::vector<LayerCache> caches_;
    std::vector<int32_t> source_lengths_;
};

}  // namespace

std::unique_ptr<Stepper> LanguageModel::start(const Tokens& prompts) const {
    const autograd::NoGrad no_grad;
    const auto layers = [this](const Tensor& x, int64_t first, std::vector<LayerCache>& caches, const auto&) {
        return backbone.encoder(x, {.mode = Mode::eval(), .first = first}, &caches);
    };
    return std::make_unique<CachedStepper>(prompts, config, backbone.embedding, output, layers,
                                           std::vector<LayerCache>(backbone.encoder.layers.size()));
}

std::unique_ptr<Stepper> Transformer::start(const Tokens& src) const {
    const std::vector<int32_t> first(static_cast<std::size_t>(src.batch()), config.specials.start);
    return start(src, Tokens(src.batch(), 1, first));
}

std::unique_ptr<Stepper> Transformer::start(const Tokens& src, const Tokens& prompts) const {
    check(src.batch() == prompts.batch(), "[Transformer] ", prompts.batch(), " prompts for ", src.batch(),
          " sources");
    const autograd::NoGrad no_grad;
    const UsePrecision precision(config.block.precision);
    const auto layers = [this](const Tensor& x, int64_t first, std::vector<LayerCache>& caches,
                               const std::vector<int32_t>& source_lengths) {
        return decoder(x, Tensor(), {.mode = Mode::eval(), .first = first},
                       {.mask = Mask::key_counts(source_lengths), .mode = Mode::eval()}, &caches);
    };
    return std::make_unique<CachedStepper>(prompts, decoder_stack(config), tgt_embedding, output, layers,
                                           decoder.start(encode(src, Mode::eval())), src.lengths());
}

}  // namespace plaingrad::models
