#include "models/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "autograd/kernels/kernels.h"
#include "models/rows.h"

namespace plaingrad::models {

namespace {

constexpr Real kLowest = std::numeric_limits<Real>::lowest();

// A bound that at least `count` logits reach, or kLowest. The maxima of 256 sets of logits are 256 of them,
// and the bound is the count-th largest of these. Few others reach it. With 40 of a vocabulary of 10,000,
// the heap below takes some 43 logits; without a bound to begin with it would take 260.
Real bound_of_best(const Real* logits, int64_t vocabulary, int64_t count) {
    constexpr int64_t kSets = 256;
    if (count > kSets)
        return kLowest;
    Real most[kSets];
    std::fill(most, most + kSets, kLowest);
    for (int64_t v = 0; v + kSets <= vocabulary; v += kSets)
        for (int64_t i = 0; i < kSets; ++i)
            most[i] = logits[v + i] > most[i] ? logits[v + i] : most[i];
    std::nth_element(most, most + count - 1, most + kSets, std::greater<>());
    return most[count - 1];
}

// Sorts by the logits, the largest first, and ids of equal logits as they are. Comparisons would take 4 ms
// for 50,000 ids, an eighth of the step of a model of that vocabulary; digits, the last one first, take 0.5.
void sort_by_digits(const Real* logits, std::vector<int32_t>& ids) {
    using Key = std::conditional_t<autograd::kRealIsDouble, uint64_t, uint32_t>;
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    constexpr std::size_t kDigitBits = 11, kDigits = 1 << kDigitBits;
    std::vector<int32_t> sorted(ids.size());
    for (std::size_t shift = 0; shift < 8 * sizeof(Key); shift += kDigitBits) {
        const auto digit = [&](int32_t id) {
            const Key bits = std::bit_cast<Key>(logits[id] + Real(0));  // of -0: those of 0
            // Ascending, for descending logits: of negative numbers, the bits grow with their size.
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

// The ids that may be drawn, the most probable first.
std::vector<int32_t> candidates(const Real* logits, int64_t vocabulary, const SamplingOptions& o) {
    const auto before = [&](int32_t a, int32_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    const int64_t count = std::min(vocabulary, o.temperature == 0 ? 1 : o.top_k > 0 ? o.top_k : vocabulary);
    std::vector<int32_t> ids;  // a heap: the worst of the best so far is in front
    // Of the logits that may be among them; some of the best may never be drawn.
    Real bound = bound_of_best(logits, vocabulary, count + std::ssize(o.never));
    const auto from = [&](int64_t v) {
        if (count < vocabulary)
            return v + autograd::kernels::cpu().first_from(vocabulary - v, logits + v, bound);
        while (v < vocabulary && logits[v] < bound)
            ++v;
        return v;
    };
    for (int64_t v = from(0); v < vocabulary; v = from(v + 1)) {
        check(!std::isnan(logits[v]), "[sample] the logit of id ", v,
              " is not a number; the model's weights are broken");
        if (contains(o.never, static_cast<int32_t>(v)))
            continue;
        ids.push_back(static_cast<int32_t>(v));
        if (count >= vocabulary)  // all are sorted at the end
            continue;
        std::push_heap(ids.begin(), ids.end(), before);
        if (std::ssize(ids) > count) {
            std::pop_heap(ids.begin(), ids.end(), before);
            ids.pop_back();
        }
        if (std::ssize(ids) == count)
            bound = logits[ids.front()];
    }
    check(!ids.empty(), "[sample] of a vocabulary of ", vocabulary, " no token may be drawn");
    if (count < vocabulary)
        std::sort_heap(ids.begin(), ids.end(), before);
    else if (vocabulary < 2000)  // below, counters would take longer than comparisons
        std::sort(ids.begin(), ids.end(), before);
    else
        sort_by_digits(logits, ids);
    return ids;
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

int32_t sample(const Real* logits, int64_t vocabulary, double uniform, const SamplingOptions& o,
               const std::vector<int32_t>& text) {
    check(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty),
          "[sample] repetition_penalty must be positive: got ", o.repetition_penalty);
    if (o.repetition_penalty != 1) {
        SamplingOptions rest = o;
        rest.repetition_penalty = 1;
        return sample(penalized(logits, vocabulary, text, o.repetition_penalty).data(), vocabulary, uniform,
                      rest);
    }
    check(o.temperature >= 0 && o.top_k >= 0 && o.top_p > 0 && o.top_p <= 1,
          "[sample] temperature and top_k must not be negative, top_p must be in (0, 1]: got ", o.temperature,
          ", ", o.top_k, " and ", o.top_p);
    const std::vector<int32_t> ids = candidates(logits, vocabulary, o);
    if (ids.size() == 1 || logits[ids[0]] == std::numeric_limits<Real>::infinity())
        return ids[0];

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
                                           const std::function<void(int64_t, int32_t)>& on_token) {
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
            if (on_token)
                on_token(static_cast<int64_t>(b), token);
            if (!o.done || !o.done(static_cast<int64_t>(b)))
                rows.keep(r, token);
        }
    }
    for (std::vector<int32_t>& text : texts)
        text.erase(text.begin(), text.begin() + prompt);
    return texts;
}

}  // namespace plaingrad::models
