#include "models/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace models {

using autograd::check;

namespace {

bool contains(const std::vector<int32_t>& ids, int32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The ids that may be drawn, the most probable first.
std::vector<int32_t> candidates(const Real* logits, int64_t vocabulary, const SamplingOptions& o) {
    std::vector<int32_t> ids;
    for (int64_t v = 0; v < vocabulary; ++v) {
        check(!std::isnan(logits[v]), "[sample] the logit of id ", v,
              " is not a number; the model's weights are broken");
        if (logits[v] > -std::numeric_limits<Real>::infinity() && !contains(o.never, static_cast<int32_t>(v)))
            ids.push_back(static_cast<int32_t>(v));
    }
    check(!ids.empty(), "[sample] of a vocabulary of ", vocabulary, " no token may be drawn");
    const std::size_t count =
        o.top_k > 0 ? std::min(ids.size(), static_cast<std::size_t>(o.top_k)) : ids.size();
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(o.temperature > 0 ? count : 1);
    const auto before = [&](int32_t a, int32_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    if (end != ids.end())  // far faster than sorting them all
        std::nth_element(ids.begin(), end, ids.end(), before);
    std::sort(ids.begin(), end, before);
    ids.erase(end, ids.end());
    return ids;
}

}  // namespace

int32_t sample(const Real* logits, int64_t vocabulary, double uniform, const SamplingOptions& o) {
    check(o.temperature >= 0 && o.top_k >= 0 && o.top_p > 0 && o.top_p <= 1,
          "[sample] temperature and top_k must not be negative, top_p must be in (0, 1]: got ", o.temperature,
          ", ", o.top_k, " and ", o.top_p);
    const std::vector<int32_t> ids = candidates(logits, vocabulary, o);
    if (ids.size() == 1 || logits[ids[0]] == std::numeric_limits<Real>::infinity())
        return ids[0];

    // The library's softmax, not the C library's exp: the same text on every machine.
    std::vector<Real> scaled;
    for (const int32_t id : ids)  // largest first: at most 0, whatever the temperature
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

namespace {

// Texts that grow together, one token a step. Those that have ended are gone.
struct Growing {
    explicit Growing(const Tokens& prompts) {
        for (int64_t b = 0; b < prompts.batch; ++b) {
            const auto first = prompts.ids.begin() + b * prompts.length;
            sentences.push_back(b);
            texts.emplace_back(first, first + prompts.length);
        }
    }

    Tokens newest(int64_t count) const {
        std::vector<int32_t> ids;
        for (const std::vector<int32_t>& text : texts)
            ids.insert(ids.end(), text.end() - count, text.end());
        return Tokens(static_cast<int64_t>(texts.size()), count, std::move(ids));
    }

    // Adds the next token to each text; those with a stop token end. Returns which rows go on.
    std::vector<int32_t> append(const std::vector<int32_t>& next, const std::vector<int32_t>& stop) {
        std::vector<int32_t> rows;
        for (std::size_t r = 0; r < texts.size(); ++r) {
            if (contains(stop, next[r]))
                continue;
            const std::size_t to = rows.size();
            sentences[to] = sentences[r];
            std::swap(texts[to], texts[r]);
            texts[to].push_back(next[r]);
            rows.push_back(static_cast<int32_t>(r));
        }
        sentences.resize(rows.size());
        texts.resize(rows.size());
        return rows;
    }

    std::vector<int64_t> sentences;           // of the batch
    std::vector<std::vector<int32_t>> texts;  // each prompt and what came after it
};

// How many of the newest tokens the model must read next, of `length` in all: what the cache lacks. When it is
// full it must be emptied, and the newer half of the text is read again, at the positions from 0 on.
int64_t tokens_to_read(const LanguageModel& model, const LanguageModel::Cache& cache, int64_t length) {
    if (cache.length == 0)
        return std::min(length, model.config.max_length);
    const bool full = cache.length == model.config.max_length;
    return full ? std::max<int64_t>(1, model.config.max_length / 2) : 1;
}

void check_generation(const LanguageModel& model, const Tokens& prompts, const GenerationOptions& o) {
    check(prompts.length >= 1, "[generate] a prompt needs at least one token");
    check(std::find(prompts.ids.begin(), prompts.ids.end(), prompts.pad) == prompts.ids.end(),
          "[generate] prompts must all have one length, without padding; continue others one by one");
    check(o.max_tokens >= 0, "[generate] max_tokens must not be negative: got ", o.max_tokens);
    check(o.slide || prompts.length <= model.config.max_length, "[generate] a prompt of ", prompts.length,
          " tokens is longer than the model's max_length ", model.config.max_length,
          "; shorten it, or let it slide");
}

}  // namespace

std::vector<std::vector<int32_t>> generate(const LanguageModel& model, const Tokens& prompts, const Rng& rng,
                                           const GenerationOptions& o,
                                           const std::function<void(int64_t, int32_t)>& on_token) {
    check_generation(model, prompts, o);
    std::vector<std::vector<int32_t>> results(static_cast<std::size_t>(prompts.batch));
    Growing growing(prompts);
    LanguageModel::Cache cache;
    for (int64_t i = 0; i < o.max_tokens && !growing.texts.empty(); ++i) {
        if (!o.slide && cache.length == model.config.max_length)
            break;
        const int64_t count = tokens_to_read(model, cache, prompts.length + i);
        if (cache.length == model.config.max_length)
            cache = {};
        const Tensor logits = model.step(growing.newest(count), cache);  // (rows, count, V)
        std::vector<int32_t> next;
        for (const int64_t b : growing.sentences) {
            const auto last = (static_cast<int64_t>(next.size()) + 1) * count - 1;
            const double uniform = rng.fork(static_cast<uint64_t>(b)).uniform(static_cast<uint64_t>(i));
            next.push_back(
                sample(logits.data() + last * logits.size(2), logits.size(2), uniform, o.sampling));
        }
        const std::size_t before = growing.texts.size();
        const std::vector<int32_t> rows = growing.append(next, o.stop);
        if (!rows.empty() && rows.size() < before)
            cache.select(rows);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            results[static_cast<std::size_t>(growing.sentences[r])].push_back(growing.texts[r].back());
            if (on_token)
                on_token(growing.sentences[r], growing.texts[r].back());
        }
    }
    return results;
}

}  // namespace models
