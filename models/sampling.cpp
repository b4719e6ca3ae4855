#include "models/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plaingrad::models {

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

static void check_generation(const LanguageModel& model, const Tokens& prompts, const GenerationOptions& o) {
    check(prompts.length() >= 1, "[generate] a prompt needs at least one token");
    check(!contains(prompts.ids(), prompts.pad()),
          "[generate] prompts must all have one length, without padding; continue others one by one");
    check(o.max_tokens >= 0, "[generate] max_tokens must not be negative: got ", o.max_tokens);
    check(o.slide || prompts.length() <= model.config.max_length, "[generate] a prompt of ", prompts.length(),
          " tokens is longer than the model's max_length ", model.config.max_length,
          "; shorten it, or let it slide");
}

// The last `count` tokens of the sentences that go on.
static Tokens newest(const std::vector<std::vector<int32_t>>& texts, const std::vector<std::size_t>& live,
                     int64_t count) {
    std::vector<int32_t> ids;
    for (const std::size_t b : live)
        ids.insert(ids.end(), texts[b].end() - count, texts[b].end());
    return Tokens(static_cast<int64_t>(live.size()), count, std::move(ids));
}

std::vector<std::vector<int32_t>> generate(const LanguageModel& model, const Tokens& prompts, const Rng& rng,
                                           const GenerationOptions& o,
                                           const std::function<void(int64_t, int32_t)>& on_token) {
    check_generation(model, prompts, o);
    const int64_t max_length = model.config.max_length;
    std::vector<std::vector<int32_t>> texts;  // each prompt and what came after it
    std::vector<std::size_t> live;            // the sentences that go on: row r of the cache is live[r]
    for (auto at = prompts.ids().begin(); at != prompts.ids().end(); at += prompts.length()) {
        live.push_back(texts.size());
        texts.emplace_back(at, at + prompts.length());
    }
    LanguageModel::Cache cache;
    int64_t count = std::min(prompts.length(), max_length);  // of the newest tokens: those the cache lacks
    for (int64_t i = 0; i < o.max_tokens && !live.empty(); ++i, count = 1) {
        if (cache.length == max_length) {  // full: the newer half is read again, at the positions from 0 on
            if (!o.slide)
                break;
            cache = {};
            count = std::max<int64_t>(1, max_length / 2);
        }
        const Tensor logits = model.step(newest(texts, live, count), cache);  // (rows, count, V)
        const int64_t vocabulary = logits.size(2);
        const Real* last = logits.data() + (count - 1) * vocabulary;
        std::vector<int32_t> rows;
        for (std::size_t r = 0; r < live.size(); ++r, last += count * vocabulary) {
            const double uniform = rng.fork(live[r]).uniform(static_cast<uint64_t>(i));
            const int32_t token = sample(last, vocabulary, uniform, o.sampling);
            if (contains(o.stop, token))
                continue;
            texts[live[r]].push_back(token);
            if (on_token)
                on_token(static_cast<int64_t>(live[r]), token);
            live[rows.size()] = live[r];
            rows.push_back(static_cast<int32_t>(r));
        }
        if (!rows.empty() && rows.size() < live.size())
            cache.select(rows);
        live.resize(rows.size());
    }
    for (std::vector<int32_t>& text : texts)
        text.erase(text.begin(), text.begin() + prompts.length());
    return texts;
}

}  // namespace plaingrad::models
