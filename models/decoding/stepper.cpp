#include "models/decoding/decoding.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "autograd/base/list.h"
#include "autograd/weight.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"

namespace plaingrad::models {
namespace {

// A model whose layers have a cache each.
template <class Model>
class CachedStepper final : public Stepper {
public:
    CachedStepper(const Model& model, Tokens prompts_, std::vector<LayerCache> caches,
                  std::vector<int32_t> source_lengths = {})
        : Stepper(std::move(prompts_), model.config.specials, model.config.max_length),
          model_(model),
          caches_(std::move(caches)),
          source_lengths_(std::move(source_lengths)),
          batch_(prompts.batch()) {}

    Tensor step(const Tokens& tokens, Logits which) override {
        const autograd::NoGrad no_grad;
        const UsePrecision precision(model_.config.block.precision);
        const autograd::KeepPacked keep_packed;
        check(tokens.batch() == batch_, "[Stepper] tokens for ", tokens.batch(), " sentences, the batch has ",
              batch_);
        for (const int32_t length : tokens.lengths())
            check(length == tokens.length() && length > 0,
                  "[Stepper] a step takes at least one token of each sentence, and no padding");
        const Tensor y = read(model_, tokens, Mode::eval());  // (B, T, d_model)
        length_ += tokens.length();
        const bool all = which == Logits::all || y.size(1) == 1;
        return model_.output(all ? y : autograd::slice(y, 1, y.size(1) - 1, y.size(1)));  // (B, T or 1, V)
    }

    void select(const std::vector<int32_t>& rows) override {
        for (const int32_t row : rows)
            check(row >= 0 && row < batch_, "[Stepper] there is no row ", row, " in a batch of ", batch_);
        for (LayerCache& cache : caches_) {
            cache.self.select(rows);
            cache.memory.select(rows);
        }
        if (!source_lengths_.empty())
            source_lengths_ = autograd::mapped(
                rows, [this](int32_t row) { return source_lengths_[static_cast<std::size_t>(row)]; });
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
    // The embedding and all layers: tokens (B, T), behind those that were read -> (B, T, d_model)
    Tensor read(const LanguageModel& model, const Tokens& tokens, const Mode& mode) {
        const Tensor x = model.backbone.embedding(tokens, mode, length_);  // (B, T, d_model)
        return model.backbone.encoder(x, {.mode = mode}, &caches_);
    }
    Tensor read(const Transformer& model, const Tokens& tokens, const Mode& mode) {
        const Tensor x = model.tgt_embedding(tokens, mode, length_);  // (B, T, d_model)
        const Pass self = {.mode = mode}, cross = {.mask = Mask::key_counts(source_lengths_), .mode = mode};
        return model.decoder(x, Tensor(), self, cross, &caches_);
    }

    const Model& model_;
    std::vector<LayerCache> caches_;
    std::vector<int32_t> source_lengths_;  // of a Transformer
    int64_t batch_, length_ = 0;           // sentences; positions read
};

}  // namespace

std::unique_ptr<Stepper> LanguageModel::start(const Tokens& prompts) const {
    return std::make_unique<CachedStepper<LanguageModel>>(
        *this, prompts, std::vector<LayerCache>(backbone.encoder.layers.size()));
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
    return std::make_unique<CachedStepper<Transformer>>(
        *this, prompts, decoder.start(encode(src, Mode::eval())), src.lengths());
}

// ---- what every search does

Rows::Rows(Stepper& stepper) : stepper_(stepper) {
    check(stepper.prompts.length() >= 1, "[decoding] a prompt needs at least one token");
    sentences_.resize(static_cast<std::size_t>(stepper.prompts.batch()));
    std::iota(sentences_.begin(), sentences_.end(), std::size_t{0});
    kept_.resize(sentences_.size());
    std::iota(kept_.begin(), kept_.end(), 0);
}

int32_t Rows::keep(int32_t row, int32_t token) {
    kept_.push_back(row);
    tokens_.push_back(token);
    return static_cast<int32_t>(kept_.size()) - 1;
}

// Tells the stepper which rows were kept: the batch shrinks as sentences end.
void Rows::select() {
    std::vector<int32_t> all(sentences_.size());
    std::iota(all.begin(), all.end(), 0);
    if (kept_ == all)
        return;
    stepper_.known = 0;  // the rows are not those of the prompts any more
    stepper_.select(kept_);
    sentences_ = autograd::mapped(kept_, [this](int32_t row) { return sentence(row); });
}

Tensor Rows::step() {
    select();
    if (!tokens_.empty())
        return read(Tokens(std::ssize(tokens_), 1, tokens_));
    const Tokens& prompts = stepper_.prompts;
    stepper_.rewind(stepper_.known);
    Tensor logits = read(prompts.slice(stepper_.known, prompts.length()));  // (rows, V)
    stepper_.known = prompts.length() - 1;  // the last token is read each time, for its logits
    return logits;
}

Tensor Rows::step_anew(const std::vector<std::vector<int32_t>>& texts, int64_t count) {
    select();
    stepper_.rewind(stepper_.known = 0);
    std::vector<int32_t> ids;
    for (const std::size_t s : sentences_)
        ids.insert(ids.end(), texts[s].end() - count, texts[s].end());
    return read(Tokens(static_cast<int64_t>(sentences_.size()), count, std::move(ids)));
}

Tensor Rows::read(const Tokens& tokens) {
    const Tensor logits = stepper_.step(tokens, Logits::last);  // (rows, 1, V)
    kept_.clear();
    tokens_.clear();
    return autograd::reshape(logits, {logits.size(0), logits.size(2)});  // (rows, V)
}

int64_t room_for(const Stepper& stepper, int64_t max_tokens) {
    check(max_tokens >= 0, "[decoding] max_tokens must not be negative: got ", max_tokens);
    check(stepper.prompts.length() <= stepper.max_length, "[decoding] a prompt of ", stepper.prompts.length(),
          " tokens is longer than the model's max_length ", stepper.max_length, "; shorten it");
    return std::min(max_tokens, stepper.max_length - stepper.prompts.length() + 1);
}

}  // namespace plaingrad::models
