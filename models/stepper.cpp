#include "models/stepper.h"

#include <algorithm>

#include "autograd/base/mapped.h"
#include "autograd/weight.h"
#include "models/language_model.h"
#include "models/transformer.h"

namespace plaingrad::models {
namespace {

// Ids to vectors, layers with a cache each, vectors to logits. The models differ only in the layers.
class CachedStepper : public Stepper {
public:
    CachedStepper(Tokens prompts_, const Config& c, const InputEmbedding& embedding,
                  const OutputLayer& output, std::vector<LayerCache> caches)
        : Stepper(std::move(prompts_), c.specials, c.max_length),
          caches_(std::move(caches)),
          precision_(c.block.precision),
          batch_(prompts.batch()),
          embedding_(embedding),
          output_(output) {}

    Tensor step(const Tokens& tokens, Logits which) override {
        const autograd::NoGrad no_grad;
        const UsePrecision precision(precision_);
        const autograd::KeepPacked keep_packed;
        check(tokens.batch() == batch_, "[Stepper] tokens for ", tokens.batch(), " sentences, the batch has ",
              batch_);
        for (const int32_t length : tokens.lengths())
            check(length == tokens.length() && length > 0,
                  "[Stepper] a step takes at least one token of each sentence, and no padding");
        const Tensor x = embedding_(tokens, Mode::eval(), length_);            // (B, T, d_model)
        const Tensor y = layers(x, {.mode = Mode::eval(), .first = length_});  // (B, T, d_model)
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

protected:
    // x (B, T, d_model), of the positions from pass.first on -> (B, T, d_model)
    virtual Tensor layers(const Tensor& x, const Pass& pass) = 0;

    std::vector<LayerCache> caches_;

private:
    const Precision precision_;
    int64_t batch_, length_ = 0;  // sentences; positions read
    const InputEmbedding& embedding_;
    const OutputLayer& output_;
};

class LanguageModelStepper final : public CachedStepper {
public:
    LanguageModelStepper(const LanguageModel& model, const Tokens& prompts_)
        : CachedStepper(prompts_, model.config, model.backbone.embedding, model.output,
                        std::vector<LayerCache>(model.backbone.encoder.layers.size())),
          model_(model) {}

private:
    Tensor layers(const Tensor& x, const Pass& pass) override {
        return model_.backbone.encoder(x, pass, &caches_);
    }

    const LanguageModel& model_;
};

class TransformerStepper final : public CachedStepper {
public:
    TransformerStepper(const Transformer& model, const Tokens& src, const Tokens& prompts_)
        : CachedStepper(prompts_, model.config, model.tgt_embedding, model.output,
                        model.decoder.start(model.encode(src, Mode::eval()))),
          model_(model),
          source_lengths_(src.lengths()) {}

    void select(const std::vector<int32_t>& rows) override {
        CachedStepper::select(rows);
        source_lengths_ = autograd::mapped(
            rows, [this](int32_t row) { return source_lengths_[static_cast<std::size_t>(row)]; });
    }

private:
    Tensor layers(const Tensor& x, const Pass& pass) override {
        const Pass of_memory = {.mask = Mask::key_counts(source_lengths_), .mode = pass.mode};
        return model_.decoder(x, Tensor(), pass, of_memory, &caches_);
    }

    const Transformer& model_;
    std::vector<int32_t> source_lengths_;
};

}  // namespace

std::unique_ptr<Stepper> LanguageModel::start(const Tokens& prompts) const {
    return std::make_unique<LanguageModelStepper>(*this, prompts);
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
    return std::make_unique<TransformerStepper>(*this, src, prompts);
}

}  // namespace plaingrad::models
