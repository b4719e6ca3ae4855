#include "models/decoding/decoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "autograd/kernels/kernels.h"

namespace plaingrad::models {

namespace {

constexpr Real kLowest = std::numeric_limits<Real>::lowest();

// The scores are dealt out to 128 sets. The count-th of the sets' largest scores is a bound: at least `count`
// scores reach it, and not many more. Any part of the scores gives such a bound, so every other 128 are
// skipped, which saves half of the time. kLowest if there are fewer scores, or if `count` is above 128.
Real reached_by(int64_t count, const Real* scores, int64_t vocabulary) {
    constexpr int64_t kSets = 128;
    Real largest[kSets];
    std::fill_n(largest, kSets, kLowest);
    for (int64_t v = 0; v + kSets <= vocabulary; v += 2 * kSets)
        for (int64_t i = 0; i < kSets; ++i)
            largest[i] = scores[v + i] > largest[i] ? scores[v + i] : largest[i];
    std::nth_element(largest, largest + std::min(count, kSets) - 1, largest + kSets, std::greater<>());
    return count > kSets ? kLowest : largest[count - 1];
}

// Sorts by the scores, the largest first, and ids of equal scores as they are. Comparisons would take 4 ms
// for 50,000 ids, an eighth of the step of a model of that vocabulary; digits, the last one first, take 0.5.
void sort_by_digits(const Real* scores, std::vector<int32_t>& ids) {
    using Key = std::conditional_t<autograd::kRealIsDouble, uint64_t, uint32_t>;
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    constexpr std::size_t kDigitBits = 11, kBase = 1 << kDigitBits;
    std::vector<int32_t> sorted(ids.size());
    for (std::size_t shift = 0; shift < 8 * sizeof(Key); shift += kDigitBits) {
        const auto digit = [&](int32_t id) {
            const Key bits = std::bit_cast<Key>(scores[id] + Real(0));  // of -0: those of 0
            // Ascending, for descending scores: of negative numbers, the bits grow with their size.
            return static_cast<std::size_t>((bits & kSign ? bits : ~bits ^ kSign) >> shift) % kBase;
        };
        std::vector<std::size_t> place(kBase + 1);  // of the next id with this digit
        for (const int32_t id : ids)
            ++place[digit(id) + 1];
        std::partial_sum(place.begin(), place.end(), place.begin());
        for (const int32_t id : ids)
            sorted[place[digit(id)]++] = id;
        ids.swap(sorted);
    }
}

// The logits of the tokens of `text` divided, or multiplied, by the penalty: once, however often they occur.
std::vector<Real> penalized(const Real* logits, int64_t vocabulary, const std::vector<int32_t>& text,
                            double penalty) {
    std::vector<Real> all(logits, logits + vocabulary);
    for (const int32_t id : text) {
        check(id >= 0 && id < vocabulary, "[sample] the text has id ", id, ", outside of a vocabulary of ",
              vocabulary);
        const auto logit = static_cast<double>(logits[id]);
        all[static_cast<std::size_t>(id)] = static_cast<Real>(logit > 0 ? logit / penalty : logit * penalty);
    }
    return all;
}

}  // namespace

std::vector<int32_t> best_ids(const Real* scores, int64_t vocabulary, int64_t count,
                              const std::vector<int32_t>& never, Real least) {
    if (!(least > kLowest))  // no bound is known
        least = reached_by(std::min(count, vocabulary) + std::ssize(never), scores, vocabulary);
    std::vector<int32_t> best;
    for (int64_t v = 0;
         (v += autograd::kernels::cpu().first_from(vocabulary - v, scores + v, least)) < vocabulary; ++v) {
        check(!std::isnan(scores[v]), "[decoding] the score of id ", v,
              " is not a number; the model's weights are broken");
        if (!contains(never, static_cast<int32_t>(v)))
            best.push_back(static_cast<int32_t>(v));
    }
    if (best.size() < 2000)  // counting digits would take longer than comparisons
        std::stable_sort(best.begin(), best.end(),
                         [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    else
        sort_by_digits(scores, best);
    best.resize(static_cast<std::size_t>(std::min(std::ssize(best), count)));
    return best;
}

int32_t sample(const Real* given, int64_t vocabulary, double uniform, const SamplingOptions& o,
               const std::vector<int32_t>& text) {
    check(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty),
          "[sample] repetition_penalty must be positive: got ", o.repetition_penalty);
    std::vector<Real> changed;
    if (o.repetition_penalty != 1)
        changed = penalized(given, vocabulary, text, o.repetition_penalty);
    const Real* const logits = changed.empty() ? given : changed.data();
    check(o.temperature >= 0 && o.top_k >= 0 && o.top_p > 0 && o.top_p <= 1,
          "[sample] temperature and top_k must not be negative, top_p must be in (0, 1]: got ", o.temperature,
          ", ", o.top_k, " and ", o.top_p);
    const int64_t top = o.temperature == 0 ? 1 : o.top_k > 0 ? o.top_k : vocabulary;
    const std::vector<int32_t> ids = best_ids(logits, vocabulary, top, o.never);
    check(!ids.empty(), "[sample] of a vocabulary of ", vocabulary, " no token may be drawn");
    if (ids.size() == 1 || logits[ids[0]] == std::numeric_limits<Real>::infinity())
        return ids[0];  // infinity - infinity would be NaN

    // Our own softmax, not the C library's exp: it gives the same text on every machine.
    std::vector<Real> scaled;
    for (const int32_t id : ids)  // minus the largest logit: at most 0, whatever the temperature
        scaled.push_back(static_cast<Real>(
            (static_cast<double>(logits[id]) - static_cast<double>(logits[ids[0]])) / o.temperature));
    const Tensor p = autograd::softmax(Tensor::from({static_cast<int64_t>(scaled.size())}, scaled));

    double kept = 0;
    std::size_t count = 0;
    while (count < ids.size() && (count == 0 || kept < o.top_p))
        kept += static_cast<double>(p.data()[count++]);
    double above = uniform * kept;
    for (std::size_t i = 0; i + 1 < count; ++i) {
        above -= static_cast<double>(p.data()[i]);
        if (above < 0)
            return ids[i];
    }
    return ids[count - 1];
}

std::vector<std::vector<int32_t>> generate(Stepper& stepper, const Rng& rng, const GenerationOptions& o,
                                           const std::function<bool(int64_t, int32_t)>& on_token) {
    const int64_t prompt = stepper.prompts.length(), max_length = stepper.max_length;
    const int64_t max_tokens = o.slide ? o.max_tokens : room_for(stepper, o.max_tokens);
    check(max_tokens >= 0, "[generate] max_tokens must not be negative: got ", max_tokens);
    SamplingOptions sampling = o.sampling;
    sampling.never.insert(sampling.never.end(), stepper.specials.never.begin(), stepper.specials.never.end());
    std::vector<std::vector<int32_t>> texts;  // each prompt and its continuation
    for (int64_t b = 0; b < stepper.prompts.batch(); ++b)
        for (int64_t t = 0; t < prompt; ++t)
            (t == 0 ? texts.emplace_back() : texts.back()).push_back(stepper.prompts.at(b, t));

    Rows rows(stepper);
    int64_t positions = prompt;  // how many have been read after this step
    for (int64_t i = 0; i < max_tokens && !rows.empty(); ++i, ++positions) {
        const bool full = positions > max_length;
        if (full)  // reads the newer half again, from position 0 on; or as much of a prompt as fits
            positions = i == 0 ? max_length : std::max<int64_t>(1, max_length / 2);
        const Tensor logits = full ? rows.step_anew(texts, positions) : rows.step();  // (rows, V)
        for (int32_t r = 0; r < logits.size(0); ++r) {
            const std::size_t b = rows.sentence(r);
            const double uniform = rng.fork(b).uniform(static_cast<uint64_t>(i));
            const int32_t token =
                sample(logits.data() + r * logits.size(1), logits.size(1), uniform, sampling, texts[b]);
            if (stepper.specials.is_end(token))
                continue;
            texts[b].push_back(token);
            if (!on_token || on_token(static_cast<int64_t>(b), token))
                rows.keep(r, token);
        }
    }
    for (std::vector<int32_t>& text : texts)
        text.erase(text.begin(), text.begin() + prompt);
    return texts;
}

}  // namespace plaingrad::models
