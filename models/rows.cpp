#include "models/rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "autograd/base/mapped.h"

namespace plaingrad::models {

Rows::Rows(Stepper& stepper) : stepper_(stepper) {
    check(stepper.prompts.length() >= 1, "[decoding] a prompt needs at least one token");
    sentences_.resize(static_cast<std::size_t>(stepper.prompts.batch()));
    std::iota(sentences_.begin(), sentences_.end(), std::size_t{0});
    kept_.resize(sentences_.size());
    std::iota(kept_.begin(), kept_.end(), 0);
}

std::size_t Rows::sentence(int32_t row) const {
    check(row >= 0 && row < std::ssize(sentences_), "[decoding] there is no row ", row, " of ",
          sentences_.size());
    return sentences_[static_cast<std::size_t>(row)];
}

int32_t Rows::keep(int32_t row, int32_t token) {
    sentence(row);  // throws if there is none
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
    stepper_.known = 0;
    stepper_.select(kept_);
    sentences_ = autograd::mapped(kept_, [this](int32_t row) { return sentence(row); });
}

Tensor Rows::step() {
    select();
    if (!std::exchange(prompts_are_next_, false))
        return read(Tokens(static_cast<int64_t>(kept_.size()), 1, tokens_));
    const Tokens& prompts = stepper_.prompts;
    stepper_.rewind(stepper_.known);
    Tensor logits = read(prompts.slice(stepper_.known, prompts.length()));  // (rows, V)
    stepper_.known = prompts.length() - 1;  // the last token is read each time, for its logits
    return logits;
}

Tensor Rows::step_anew(const std::vector<std::vector<int32_t>>& texts, int64_t count) {
    for (const int32_t row : kept_)
        check(sentence(row) < texts.size() && count >= 1 && count <= std::ssize(texts[sentence(row)]),
              "[decoding] sentence ", sentence(row), " needs a text of at least ", count,
              " tokens, and at least one token is read");
    select();
    stepper_.rewind(stepper_.known = 0);
    prompts_are_next_ = false;
    std::vector<int32_t> ids;
    for (const std::size_t s : sentences_)
        ids.insert(ids.end(), texts[s].end() - count, texts[s].end());
    return read(Tokens(static_cast<int64_t>(sentences_.size()), count, std::move(ids)));
}

Tensor Rows::read(const Tokens& tokens) {
    const Tensor logits = stepper_.step(tokens, Logits::last);  // (rows, 1, V)
    for (const int32_t end : stepper_.specials.ends)
        check(end >= 0 && end < logits.size(2), "[decoding] the end ", end,
              " is not an id of a vocabulary of ", logits.size(2), "; set the specials of the configuration");
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
