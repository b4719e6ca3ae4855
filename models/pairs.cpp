#include "models/pairs.h"

#include <algorithm>

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

std::string WordPairs::fingerprint() const {
    std::vector<std::string> lines;
    for (const Pair& pair : pairs)
        lines.push_back(src.decode(pair.src) + '\t' + tgt.decode(pair.tgt));
    return text::fingerprint(lines);
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

}  // namespace plaingrad::models
