#include "models/batch.h"

#include <algorithm>
#include <numeric>

#include "models/text/learn_tokenizer.h"

namespace plaingrad::models {

Batch make_batch(const std::vector<Pair>& pairs, const Specials& specials) {
    std::vector<std::vector<int32_t>> src, tgt;
    for (const Pair& pair : pairs) {
        src.push_back(pair.src);
        tgt.push_back({specials.start});
        tgt.back().insert(tgt.back().end(), pair.tgt.begin(), pair.tgt.end());
        tgt.back().push_back(specials.end());
    }
    return {Tokens::padded(src, specials.pad), Tokens::padded(tgt, specials.pad)};
}

static text::Tokenizer learn_words(const std::vector<text::SentencePair>& sentences, bool sources,
                                   bool targets) {
    std::vector<std::string_view> texts;
    for (const text::SentencePair& s : sentences) {
        texts.insert(texts.end(), sources ? 1 : 0, s.source);
        texts.insert(texts.end(), targets ? 1 : 0, s.target);
    }
    return text::learn_words(texts);
}

WordPairs::WordPairs(const std::vector<text::SentencePair>& sentences, bool shared, const std::string& path)
    : src(learn_words(sentences, true, shared)), tgt(learn_words(sentences, shared, true)) {
    for (const text::SentencePair& s : sentences) {
        const Pair& pair = pairs.emplace_back(Pair{src.encode(s.source), tgt.encode(s.target)});
        const int64_t length = std::max(std::ssize(pair.src), std::ssize(pair.tgt));
        autograd::check(length <= kLongest, path, ":", s.line, ": a sentence of ", length, " words; at most ",
                        kLongest, " are possible; each line is one sentence");
        longest = std::max(longest, length);
    }
}

// Without the last position, the longest sentences lose their end, and the others only padding. For the
// latter the decoder also reads the end and predicts padding, which the loss ignores.
int64_t Batch::tokens() const {
    const std::vector<int32_t> ids = said().ids();
    return std::ssize(ids) - std::count(ids.begin(), ids.end(), tgt.pad());
}

nn::StepLoss teacher_forcing(const Transformer& model, const Batch& batch, const Mode& mode,
                             Real label_smoothing) {
    return {model.loss(batch.src, batch.read(), batch.said(), mode, {.label_smoothing = label_smoothing}),
            batch.tokens()};
}

// ---- parts

// These rows, without the columns that are only padding there. lengths: of all rows.
static Tokens chosen(const Tokens& from, const std::vector<int32_t>& lengths,
                     const std::vector<int64_t>& rows) {
    int64_t length = 0;
    for (const int64_t row : rows)
        length = std::max<int64_t>(length, lengths[static_cast<std::size_t>(row)]);
    length = std::min(length, from.length());
    std::vector<int32_t> ids;
    for (const int64_t row : rows) {
        const auto begin = from.ids().begin() + row * from.length();
        ids.insert(ids.end(), begin, begin + length);
    }
    return Tokens(std::ssize(rows), length, std::move(ids), from.pad());
}

// Computing takes as long as a part is large with its padding: rows * its longest row. So rows are taken in
// order of length, which leaves little padding, and cut where no part gets larger than it must.
std::vector<int64_t> rows_of_part(const std::vector<int32_t>& lengths, int64_t part, int64_t parts) {
    check(part >= 0 && part < parts, "[parts] there is no part ", part, " of ", parts);
    std::vector<int64_t> order(lengths.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto length = [&](int64_t row) { return int64_t{lengths[static_cast<std::size_t>(row)]}; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) < length(b); });
    // Where the parts begin in this order, if none is larger than that, and none is empty without need.
    const auto begins = [&](int64_t largest) {
        std::vector<int64_t> all = {0};
        for (int64_t i = 1; i < std::ssize(order); ++i)
            if ((i + 1 - all.back()) * length(order[static_cast<std::size_t>(i)]) > largest ||
                std::ssize(order) - i <= parts - std::ssize(all))
                all.push_back(i);
        return all;
    };
    const int64_t longest_row = order.empty() ? 0 : length(order.back());
    int64_t too_small = longest_row - 1, enough = std::ssize(order) * longest_row;
    while (enough - too_small > 1) {
        const int64_t middle = too_small + (enough - too_small) / 2;
        (std::ssize(begins(middle)) <= parts ? enough : too_small) = middle;
    }
    std::vector<int64_t> all = begins(enough);
    all.resize(static_cast<std::size_t>(parts) + 1, std::ssize(order));
    std::vector<int64_t> rows(order.begin() + all[static_cast<std::size_t>(part)],
                              order.begin() + all[static_cast<std::size_t>(part) + 1]);
    std::sort(rows.begin(), rows.end());
    return rows;
}

Tokens part_of(const Tokens& tokens, const std::vector<int32_t>& lengths, const nn::StepPart& at) {
    return chosen(tokens, lengths, rows_of_part(lengths, at.part, at.parts));
}

Tokens part_of(const Tokens& texts, const nn::StepPart& at) { return part_of(texts, texts.lengths(), at); }

Batch part_of(const Batch& batch, const nn::StepPart& at) {
    const std::vector<int32_t> src = batch.src.lengths(), tgt = batch.tgt.lengths();
    std::vector<int32_t> both(src.size());
    std::transform(src.begin(), src.end(), tgt.begin(), both.begin(), std::plus<>());
    const std::vector<int64_t> rows = rows_of_part(both, at.part, at.parts);
    return {chosen(batch.src, src, rows), chosen(batch.tgt, tgt, rows)};
}

}  // namespace plaingrad::models
