#include "models/translator.h"

#include <algorithm>
#include <span>

#include "autograd/base/list.h"
#include "models/decoding/decoding.h"
#include "models/saved.h"

namespace plaingrad::models {

std::string to_string(const Alignment& alignment) {
    std::string text;
    for (const auto& [i, j] : alignment)
        text.append(text.empty() ? "" : " ").append(autograd::join(i, "-", j));
    return text;
}

int64_t most_attended(const Tensor& weights, int64_t b, int64_t t, int64_t length,
                      const std::vector<bool>& among) {
    check(weights.rank() == 4 && b >= 0 && b < weights.size(0) && t >= 0 && t < weights.size(2) &&
              length <= weights.size(3) && (among.empty() || std::ssize(among) >= length),
          "[alignment] weights ", weights.shape(), " must be (B, H, T, S), with a token ", t, " of sentence ",
          b, " and ", length, " positions of its source; `among` is empty, or has a value for each");
    const int64_t heads = weights.size(1), rows = weights.size(2), columns = weights.size(3);
    const auto sum_of_heads = [&](int64_t s) {
        double sum = 0;
        for (int64_t h = 0; h < heads; ++h)
            sum += static_cast<double>(weights.data()[((b * heads + h) * rows + t) * columns + s]);
        return sum;
    };
    const bool some = std::find(among.begin(), among.end(), true) != among.end();
    int64_t best = 0;
    double most = -1;
    for (int64_t s = 0; s < length; ++s)
        if (const double sum = sum_of_heads(s); sum > most && (!some || among[static_cast<std::size_t>(s)]))
            best = s, most = sum;
    return best;
}

Alignment align(const Tensor& weights, int64_t b, const std::vector<int64_t>& source,
                const std::vector<int64_t>& target) {
    Alignment alignment;
    for (std::size_t t = 0; t < target.size() && !source.empty(); ++t) {
        const int64_t s = most_attended(weights, b, static_cast<int64_t>(t), std::ssize(source));
        alignment.emplace_back(source[static_cast<std::size_t>(s)], target[t]);
    }
    std::sort(alignment.begin(), alignment.end(), [](const auto& a, const auto& c) {
        return std::pair(a.second, a.first) < std::pair(c.second, c.first);
    });
    alignment.erase(std::unique(alignment.begin(), alignment.end()), alignment.end());
    return alignment;
}

namespace {

using Ids = std::vector<int32_t>;
using Words = std::vector<std::string>;

// Whatever a model writes, the result is one line.
std::string text_of(const text::Tokenizer& tokenizer, const Ids& ids, const Words& unknown) {
    std::string text = tokenizer.decode(ids, {.invalid = text::InvalidUtf8::keep, .unknown = unknown});
    for (char& c : text)
        c = c == '\n' || c == '\r' || c == '\0' ? ' ' : c;
    return text;
}

// Which word of the text each id belongs to. Words are separated by spaces and numbered from 0.
std::vector<int64_t> words_of(const text::Tokenizer& tokenizer, const Ids& ids, const Words& unknown) {
    std::vector<int64_t> words;
    for (auto end = ids.begin(); end != ids.end(); ++end) {
        const std::string text = text_of(tokenizer, Ids(ids.begin(), end + 1), unknown);
        words.push_back(std::max<int64_t>(std::ssize(text::split_words(text)) - 1, 0));
    }
    return words;
}

struct Source {
    std::size_t line;
    Ids ids = {};       // with an end
    Words pieces = {};  // empty if all are known
};

// For each unknown token of a translation, the piece of the source that it is aligned with: an unknown one if
// the source has any.
Words copies_for(const text::Tokenizer& tokenizer, const Source& source, const Ids& ids,
                 const Tensor& attention, int64_t row) {
    Words copies(ids.size());
    const int64_t length = std::ssize(source.ids) - 1;
    std::vector<bool> unknown;
    for (int64_t s = 0; s < length; ++s)
        unknown.push_back(source.ids[static_cast<std::size_t>(s)] == kUnk);
    for (std::size_t t = 0; t < ids.size(); ++t) {
        if (ids[t] != kUnk || length == 0)
            continue;
        const auto s =
            static_cast<std::size_t>(most_attended(attention, row, static_cast<int64_t>(t), length, unknown));
        copies[t] = source.pieces.empty() ? tokenizer.piece(source.ids[s]) : source.pieces[s];
    }
    return copies;
}

// The hypotheses of each sentence of the batch, best first.
std::vector<std::vector<Hypothesis>> search(const Transformer& model, std::span<const Source> batch,
                                            const TranslationOptions& options) {
    BeamOptions beam = {.beam = options.beam,
                        .n_best = options.n_best,
                        .alpha = options.alpha,
                        .k = 0,
                        .max_tokens = model.config.max_length};
    for (const Source& source : batch)
        beam.max_tokens_of.push_back(2 * std::ssize(source.ids) + 20);  // not of the batch's longest
    const auto stepper =
        model.start(Tokens::padded(autograd::mapped(batch, &Source::ids), model.config.specials.pad));
    return beam_search(*stepper, beam);
}

// Adds the translations of a batch to those of all lines.
void translate_batch(const Transformer& model, const text::Tokenizer& tokenizer,
                     std::span<const Source> batch, const TranslationOptions& options,
                     std::vector<Translation>& all) {
    const std::vector<std::vector<Hypothesis>> found = search(model, batch, options);
    const auto copies_some = [&](const Hypothesis& h) {
        return options.copy_unknown && contains(h.ids, kUnk);
    };
    std::vector<Ids> sources, translations;  // whose attention is needed
    for (std::size_t b = 0; b < batch.size(); ++b)
        for (const Hypothesis& h : found[b])
            if (options.align || copies_some(h)) {
                sources.push_back(batch[b].ids);
                translations.push_back(h.ids);
            }
    Tensor attention;  // (a row for each of these, H, T, S)
    if (!sources.empty())
        attention = attention_to_source(model, sources, translations);
    int64_t row = 0;
    for (std::size_t b = 0; b < batch.size(); ++b)
        for (const Hypothesis& h : found[b]) {
            const Source& source = batch[b];
            Words copies;
            if (copies_some(h))
                copies = copies_for(tokenizer, source, h.ids, attention, row);
            auto& candidate = all[source.line].best.emplace_back();
            candidate.text = text_of(tokenizer, h.ids, copies);
            candidate.score = h.score;
            if (options.align) {
                const Ids read(source.ids.begin(), source.ids.end() - 1);
                candidate.alignment = align(attention, row, words_of(tokenizer, read, source.pieces),
                                            words_of(tokenizer, h.ids, copies));
            }
            row += options.align || copies_some(h);
        }
}

// Records in `translation` how much of the line is read, and which of its pieces are unknown.
Source encode(const Transformer& model, const text::Tokenizer& tokenizer, const std::string& line,
              std::size_t number, Translation& translation) {
    Source source = {number, tokenizer.encode(line)};
    const auto longest = static_cast<std::size_t>(model.config.max_length);
    translation.cut = source.ids.size() >= longest;
    if (translation.cut)
        source.ids.resize(longest - 1);
    translation.pieces = std::ssize(source.ids);
    if (contains(source.ids, kUnk))
        source.pieces = tokenizer.pieces(line);
    for (std::size_t i = 0; i < source.ids.size(); ++i)
        if (source.ids[i] == kUnk)
            translation.unknown.push_back(text_of(tokenizer, {kUnk}, {source.pieces[i]}));
    source.ids.push_back(model.config.specials.end());
    return source;
}

}  // namespace

Tensor attention_to_source(const Transformer& model, const std::vector<Ids>& sources,
                           const std::vector<Ids>& translations) {
    const autograd::NoGrad no_grad;
    const Specials& specials = model.config.specials;
    std::vector<Ids> read = translations;
    for (Ids& ids : read) {  // the last token is predicted, but not read
        ids.insert(ids.begin(), specials.start);
        ids.resize(std::max<std::size_t>(1, ids.size() - 1));
    }
    const std::vector<DecoderLayer>& layers = model.decoder.layers;
    check(!layers.empty(), "[translate] a decoder without layers attends to nothing");
    nn::Probe seen;
    const UsePrecision precision(model.config.block.precision);
    const Tokens src = Tokens::padded(sources, specials.pad), tgt = Tokens::padded(read, specials.pad);
    const Tensor memory = model.encode(src, Mode::eval());    // (B, S, d_model)
    const Tensor x = model.tgt_embedding(tgt, Mode::eval());  // (B, T, d_model)
    model.decoder(x, memory, {.mask = Mask::padding(tgt).and_causal(), .mode = Mode::eval()},
                  {.mask = Mask::padding(src), .mode = Mode::eval(&seen)});  // no logits: they would be large
    return seen.of(layers[layers.size() < 2 ? 0 : layers.size() - 2].cross_attention);
}

std::vector<Translation> translate(const Transformer& model, const text::Tokenizer& tokenizer,
                                   const Words& lines, const TranslationOptions& options) {
    check(options.batch >= 1, "[translate] batch must be at least 1: got ", options.batch);
    std::vector<Translation> all(lines.size());
    std::vector<Source> sources;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (text::has_text(lines[i]))
            sources.push_back(encode(model, tokenizer, lines[i], i, all[i]));
        else
            all[i].best.emplace_back();
    std::stable_sort(sources.begin(), sources.end(),
                     [](const Source& a, const Source& b) { return a.ids.size() < b.ids.size(); });
    const auto batch = static_cast<std::size_t>(options.batch);
    for (std::size_t begin = 0; begin < sources.size(); begin += batch)
        translate_batch(model, tokenizer,
                        std::span(sources).subspan(begin, std::min(batch, sources.size() - begin)), options,
                        all);
    return all;
}

Translator Translator::load(const std::string& path, const OpenOptions& options) {
    const SavedModel saved(path);
    return {load_model<Transformer>(saved, options), saved.tokenizer(), saved.config.notes};
}

std::string Translator::operator()(const std::string& line) const {
    return translate({line})[0].best[0].text;
}

}  // namespace plaingrad::models
