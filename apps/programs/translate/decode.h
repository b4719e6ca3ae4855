// Translating with a model that has learned.
#pragma once

#include <iostream>
#include <optional>
#include <span>

#include "apps/kit/program.h"
#include "apps/programs/translate/align.h"
#include "models/decoding.h"
#include "models/text/lines.h"

namespace plaingrad::translate {

struct DecodingOptions {
    int64_t beam = 5, n_best = 1, batch = 64;
    bool list = false;   // n-best lists, also of one
    double alpha = 1;    // score = log p / length^alpha
    bool align = false;  // with alignments
    // What becomes of a word that is unknown. copy: the one of the source that it is aligned with. mark:
    // "<unk>".
    std::string unknown = "copy";
};

struct Translation {
    struct Candidate {
        std::string text;
        double score = 0;
        Alignment alignment = {};
    };
    std::vector<Candidate> best;
    bool cut = false;                  // the line was longer than the model can read
    int64_t pieces = 0;                // of the line
    std::vector<std::string> unknown;  // of them: those that the model has never seen
};

struct Translator {
    const models::Transformer& model;
    const TextCodec& codec;
    DecodingOptions options;

    // In their order, but computed in batches of about the same length.
    std::vector<Translation> operator()(const std::vector<std::string>& lines) const {
        std::vector<Source> sources;
        std::vector<Translation> all(lines.size());
        for (std::size_t i = 0; i < lines.size(); ++i)
            if (!models::text::has_text(lines[i]))
                all[i].best.emplace_back();
            else
                sources.push_back(source(lines[i], i, all[i]));
        std::stable_sort(sources.begin(), sources.end(),
                         [](const Source& a, const Source& b) { return a.ids.size() < b.ids.size(); });
        const auto batch = static_cast<std::size_t>(options.batch);
        for (std::size_t begin = 0; begin < sources.size(); begin += batch)
            translate_batch({sources.data() + begin, std::min(batch, sources.size() - begin)}, all);
        return all;
    }

private:
    struct Source {
        std::size_t line;
        Sequence ids;                          // <eos> last
        std::vector<std::string> pieces = {};  // if some are unknown
    };

    Source source(const std::string& line, std::size_t number, Translation& translation) const {
        Source source = {number, codec.encode(line)};
        const auto longest = static_cast<std::size_t>(model.config.max_length);
        translation.cut = source.ids.size() >= longest;
        if (translation.cut)
            source.ids.resize(longest - 1);
        translation.pieces = static_cast<int64_t>(source.ids.size());
        if (std::find(source.ids.begin(), source.ids.end(), models::kUnk) != source.ids.end())
            source.pieces = codec.pieces(line);
        for (std::size_t i = 0; i < source.ids.size(); ++i)
            if (source.ids[i] == models::kUnk)
                translation.unknown.push_back(codec.decode({models::kUnk}, {source.pieces[i]}));
        source.ids.push_back(models::kEos);
        return source;
    }

    void translate_batch(std::span<const Source> sources, std::vector<Translation>& all) const {
        models::BeamOptions beam = {.beam = options.beam,
                                    .n_best = options.n_best,
                                    .alpha = options.alpha,
                                    .k = 0,
                                    .max_tokens = model.config.max_length};
        std::vector<Sequence> batch;
        for (const Source& source : sources) {
            batch.push_back(source.ids);
            beam.max_tokens_of.push_back(2 * std::ssize(source.ids) + 20);  // not of the batch's longest
        }
        const autograd::Tokens src = autograd::Tokens::padded(batch, models::kPad);
        const auto stepper = model.start(src);
        const auto found = models::beam_search(*stepper, beam);
        for (int64_t rank = 0; rank < options.n_best; ++rank)
            add_candidates(sources, found, static_cast<std::size_t>(rank), all);
    }

    // The candidates of one rank; of some sentences there may be fewer.
    void add_candidates(std::span<const Source> sources,
                        const std::vector<std::vector<models::Hypothesis>>& found, std::size_t rank,
                        std::vector<Translation>& all) const {
        std::vector<std::size_t> places;
        std::vector<Sequence> source_ids, target_ids;
        bool unknown = false;
        for (std::size_t b = 0; b < sources.size(); ++b)
            if (rank < found[b].size()) {
                const Sequence& ids = found[b][rank].ids;
                places.push_back(b);
                source_ids.push_back(sources[b].ids);
                target_ids.push_back(ids);
                unknown = unknown || std::find(ids.begin(), ids.end(), models::kUnk) != ids.end();
            }
        std::optional<CrossAttention> attention;
        if (options.align || (unknown && options.unknown == "copy"))
            attention.emplace(model, source_ids, target_ids);
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Source& source = sources[places[i]];
            const auto row = static_cast<int64_t>(i);
            std::vector<std::string> copies;
            if (attention && options.unknown == "copy")
                copies = copies_for(source, target_ids[i], *attention, row);
            Translation::Candidate candidate = {codec.decode(target_ids[i], copies),
                                                found[places[i]][rank].score};
            if (options.align) {
                const Sequence words(source.ids.begin(), source.ids.end() - 1);
                candidate.alignment = align(*attention, row, codec.words_of(words, source.pieces),
                                            codec.words_of(target_ids[i], copies));
            }
            all[source.line].best.push_back(std::move(candidate));
        }
    }

    // For every <unk> of a translation the piece of the source that it is aligned with: an unknown one, if
    // there is.
    std::vector<std::string> copies_for(const Source& source, const Sequence& ids,
                                        const CrossAttention& attention, int64_t row) const {
        std::vector<std::string> copies(ids.size());
        const auto length = static_cast<int64_t>(source.ids.size()) - 1;
        std::vector<bool> unknown;
        for (int64_t s = 0; s < length; ++s)
            unknown.push_back(source.ids[static_cast<std::size_t>(s)] == models::kUnk);
        for (std::size_t t = 0; t < ids.size(); ++t) {
            if (ids[t] != models::kUnk || length == 0)
                continue;
            const auto s =
                static_cast<std::size_t>(attention.most(row, static_cast<int64_t>(t), length, unknown));
            copies[t] = source.pieces.empty() ? codec.decode({source.ids[s]}) : source.pieces[s];
        }
        return copies;
    }
};

// What has no meaning for a model: characters that it has never seen.
class UnknownPieces {
public:
    void add(const Translation& translation, int64_t line) {
        pieces_ += translation.pieces;
        if (count_ == 0 && !translation.unknown.empty())
            first_ = translation.unknown[0], line_ = line;
        count_ += static_cast<int64_t>(translation.unknown.size());
    }
    // Some unknown characters are usual. Throws Error if all are: the input is in no language that the model
    // knows.
    void report(const std::string& name) const {
        check(
            count_ == 0 || count_ < pieces_, name,
            ": the model has never seen any of these characters; is this the language that it learned from?");
        if (count_ > 0)
            std::cerr << name << ": the model has never seen " << count_ << " of " << pieces_
                      << " words or pieces of words, first '" << first_ << "' in line " << line_ << '\n';
    }

private:
    int64_t pieces_ = 0, count_ = 0, line_ = 0;
    std::string first_;
};

// `line ||| translation ||| score` for n-best lists, lines counted from 0 as the field does; behind that, or
// behind the translation alone, ` ||| 0-0 1-2`, the alignment.
inline void print_translation(const Translation& translation, int64_t line, const DecodingOptions& options,
                              bool scores) {
    for (const Translation::Candidate& c : translation.best) {
        if (options.list)
            std::cout << line << " ||| " << c.text << " ||| " << c.score;
        else if (scores)
            std::cout << c.score << '\t' << c.text;
        else
            std::cout << c.text;
        if (options.align)
            std::cout << " ||| " << to_string(c.alignment);
        std::cout << '\n';
    }
}

// The next line, or as much of it as shows that it is too long for a sentence. Throws Error for what cannot
// be read.
inline bool next_line(std::istream& in, std::string& line, const std::string& name) {
    line.clear();
    try {
        int c = in.rdbuf()->sbumpc();
        if (c == EOF)
            return false;
        for (; c != EOF && c != '\n' && line.size() <= models::text::kLongestLine; c = in.rdbuf()->sbumpc())
            line.push_back(static_cast<char>(c));
    } catch (const std::ios_base::failure&) {
        throw autograd::Error(join(name, ": cannot be read"));
    }
    return true;
}

// Line after line to standard output. Lines are taken together as they come: at a terminal, or from a program
// that waits for the answer, none has to wait for the next.
inline void translate_lines(const Translator& translator, std::istream& in, const std::string& name,
                            bool scores) {
    int64_t number = 0, replaced = 0;
    std::vector<std::string> lines;
    UnknownPieces unknown;
    const auto write = [&] {
        int64_t line = number - static_cast<int64_t>(lines.size());
        for (const Translation& translation : translator(lines)) {
            print_translation(translation, line, translator.options, scores);
            unknown.add(translation, ++line);
            if (translation.cut)
                std::cerr << name << ':' << line << ": longer than " << translator.model.config.max_length - 1
                          << " pieces: the rest is left out\n";
        }
        std::cout.flush();
        check(std::cout.good(), "the output could not be written");
        lines.clear();
    };
    std::string line;
    while (next_line(in, line, name)) {
        if (number == 0 && line.starts_with("\xef\xbb\xbf"))
            line.erase(0, 3);
        try {
            const std::string where = join(name, ":", number + 1);
            models::text::check_length(line, where);
            line = models::text::clean_line_of_bytes(std::move(line), where);
        } catch (const autograd::Error&) {
            write();  // what came before it
            throw;
        }
        ++number;
        lines.push_back(translator.codec.is_bytes() ? line
                                                    : models::text::replace_invalid_utf8(line, replaced));
        if (in.rdbuf()->in_avail() <= 0 || static_cast<int64_t>(lines.size()) >= 8 * translator.options.batch)
            write();
    }
    write();
    if (replaced > 0)
        std::cerr << name << ": " << kit::counted(replaced, "byte")
                  << " that cannot be UTF-8, read as U+FFFD\n";
    unknown.report(name);
}

}  // namespace plaingrad::translate
