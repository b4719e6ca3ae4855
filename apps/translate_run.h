// Translating with a model that has learned.
#pragma once

#include <istream>

#include "apps/translate_text.h"
#include "models/decoding.h"
#include "models/text/lines.h"
#include "models/transformer.h"

namespace translate {

struct DecodingOptions {
    int64_t beam = 5, n_best = 1, batch = 64;
    double alpha = 1;
};

struct Translation {
    struct Candidate {
        std::string text;
        double score;
    };
    std::vector<Candidate> best;
    bool cut = false;  // the line was longer than the model can read
};

struct Translator {
    const models::Transformer& model;
    const TextCodec& codec;
    DecodingOptions options;

    // In their order, but computed in batches of about the same length.
    std::vector<Translation> operator()(const std::vector<std::string>& lines) const {
        std::vector<Sequence> ids;
        std::vector<Translation> all(lines.size());
        const auto longest = static_cast<std::size_t>(model.config.max_length);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            ids.push_back(codec.encode(lines[i]));
            all[i].cut = ids[i].size() >= longest;
            if (all[i].cut)
                ids[i].resize(longest - 1);
            ids[i].push_back(models::kEos);
        }
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < lines.size(); ++i)
            if (models::text::has_text(lines[i]))
                order.push_back(i);
            else
                all[i].best.push_back({"", 0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return ids[a].size() < ids[b].size(); });
        for (std::size_t begin = 0; begin < order.size(); begin += static_cast<std::size_t>(options.batch)) {
            const std::size_t end = std::min(begin + static_cast<std::size_t>(options.batch), order.size());
            translate_batch({order.begin() + static_cast<std::ptrdiff_t>(begin),
                             order.begin() + static_cast<std::ptrdiff_t>(end)},
                            ids, all);
        }
        return all;
    }

private:
    void translate_batch(const std::vector<std::size_t>& lines, const std::vector<Sequence>& ids,
                         std::vector<Translation>& all) const {
        std::vector<Sequence> batch;
        for (const std::size_t line : lines)
            batch.push_back(ids[line]);
        const autograd::Tokens src = autograd::Tokens::padded(batch, models::kPad);
        const auto stepper = model.start(src);
        const auto found = models::beam_search(
            *stepper, src.batch,
            {.beam = options.beam,
             .n_best = options.n_best,
             .alpha = options.alpha,
             .max_tokens = std::min<int64_t>(model.config.max_length, 2 * src.length + 20)});
        for (std::size_t b = 0; b < lines.size(); ++b)
            for (const models::Hypothesis& h : found[b])
                all[lines[b]].best.push_back({codec.decode(h.ids), h.score});
    }
};

// Line after line to standard output. Lines are taken together as they come: at a terminal, or from a program that
// waits for the answer, none has to wait for the next.
inline void translate_lines(const Translator& translator, std::istream& in, const std::string& name,
                            bool scores) {
    int64_t number = 0;
    std::vector<std::string> lines;
    const auto write = [&] {
        const int64_t first = number - static_cast<int64_t>(lines.size());
        const std::vector<Translation> all = translator(lines);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].cut)
                std::cerr << name << ':' << first + static_cast<int64_t>(i) + 1 << ": longer than "
                          << translator.model.config.max_length << " tokens: the rest is left out\n";
            for (const Translation::Candidate& c : all[i].best) {
                if (translator.options.n_best > 1)
                    std::cout << first + static_cast<int64_t>(i) << " ||| " << c.text << " ||| " << c.score
                              << '\n';
                else if (scores)
                    std::cout << c.score << '\t' << c.text << '\n';
                else
                    std::cout << c.text << '\n';
            }
        }
        std::cout.flush();
        check(std::cout.good(), "the output could not be written");
        lines.clear();
    };
    int64_t replaced = 0;
    std::string line;
    while (std::getline(in, line)) {
        if (++number == 1 && line.starts_with("\xef\xbb\xbf"))
            line.erase(0, 3);
        if (line.ends_with('\r'))
            line.pop_back();
        lines.push_back(models::text::replace_invalid_utf8(line, replaced));
        if (in.rdbuf()->in_avail() <= 0 || static_cast<int64_t>(lines.size()) >= 8 * translator.options.batch)
            write();
    }
    write();
    if (replaced > 0)
        std::cerr << name << ": " << replaced << " bytes that are not UTF-8 were read as U+FFFD\n";
}

}  // namespace translate
