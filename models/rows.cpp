#include "models/rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
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

namespace {

// Sorts by the scores, the largest first, and ids of equal scores as they are. Comparisons would take 4 ms
// for 50,000 ids, an eighth of the step of a model of that vocabulary; digits, the last one first, take 0.5.
void sort_by_digits(const Real* scores, std::vector<int32_t>& ids) {
    using Key = std::conditional_t<autograd::kRealIsDouble, uint64_t, uint32_t>;
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    constexpr std::size_t kDigitBits = 11, kDigits = 1 << kDigitBits;
    std::vector<int32_t> sorted(ids.size());
    for (std::size_t shift = 0; shift < 8 * sizeof(Key); shift += kDigitBits) {
        const auto digit = [&](int32_t id) {
            const Key bits = std::bit_cast<Key>(scores[id] + Real(0));  // of -0: those of 0
            // Ascending, for descending scores: of negative numbers, the bits grow with their size.
            return static_cast<std::size_t>((bits & kSign ? bits : ~bits ^ kSign) >> shift) % kDigits;
        };
        std::vector<std::size_t> place(kDigits + 1);  // of the next id with this digit
        for (const int32_t id : ids)
            ++place[digit(id) + 1];
        std::partial_sum(place.begin(), place.end(), place.begin());
        for (const int32_t id : ids)
            sorted[place[digit(id)]++] = id;
        ids.swap(sorted);
    }
}

}  // namespace

std::vector<int32_t> best_ids(const Real* scores, int64_t vocabulary, int64_t count,
                              const std::vector<int32_t>& never) {
    const auto before = [&](int32_t a, int32_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    const bool all = count >= vocabulary;
    std::vector<int32_t> best;  // a heap, unless all: the worst of them is in front
    for (int32_t v = 0; v < vocabulary; ++v) {
        if (!all && std::ssize(best) == count && scores[v] <= scores[best.front()])
            continue;  // nearly all of a large vocabulary
        check(!std::isnan(scores[v]), "[decoding] the score of id ", v,
              " is not a number; the model's weights are broken");
        if (scores[v] == -std::numeric_limits<Real>::infinity() || contains(never, v))
            continue;
        best.push_back(v);
        if (all)
            continue;
        std::push_heap(best.begin(), best.end(), before);
        if (std::ssize(best) > count) {
            std::pop_heap(best.begin(), best.end(), before);
            best.pop_back();
        }
    }
    if (!all)
        std::sort_heap(best.begin(), best.end(), before);
    else if (vocabulary < 2000)  // below, counting digits would take longer than comparisons
        std::sort(best.begin(), best.end(), before);
    else
        sort_by_digits(scores, best);
    return best;
}

int64_t room_for(const Stepper& stepper, int64_t max_tokens) {
    check(max_tokens >= 0, "[decoding] max_tokens must not be negative: got ", max_tokens);
    check(stepper.prompts.length() <= stepper.max_length, "[decoding] a prompt of ", stepper.prompts.length(),
          " tokens is longer than the model's max_length ", stepper.max_length, "; shorten it");
    return std::min(max_tokens, stepper.max_length - stepper.prompts.length() + 1);
}

}  // namespace plaingrad::models
