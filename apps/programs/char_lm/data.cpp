#include "apps/programs/char_lm/data.h"

#include <algorithm>
#include <iostream>

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/base/text_stream.h"
#include "models/text/lines.h"

namespace plaingrad::char_lm {

using autograd::check;

// f(text, number of its first line), for the whole file, or for each of its lines that is not empty.
template <class F>
static void for_each_text(const File& file, bool lines, F f) {
    if (!lines)
        return f(file.text, 1);
    autograd::TextReader stream(file.text);
    std::string line;
    for (int64_t number = 1; std::getline(stream, line); ++number)
        if (!line.empty())
            f(line, number);
}

std::vector<Sequence> encode(const std::vector<File>& files, const Tokenizer& tokenizer, bool lines,
                             int64_t* unknown) {
    const bool utf8 = !tokenizer.is_byte_level();
    std::vector<Sequence> items(lines ? 0 : 1);
    for (const File& file : files)
        for_each_text(file, lines, [&](const std::string& text, int64_t number) {
            if (utf8)
                models::text::check_utf8(text, file.name, number);
            Sequence ids = tokenizer.encode(text);  // with `lines` from <sos> on
            if (unknown != nullptr)
                *unknown += static_cast<int64_t>(std::erase(ids, models::text::kUnk));
            else
                models::text::check_known(tokenizer, text, ids, file.name, number);
            if (lines)
                items.emplace_back();
            items.back().insert(items.back().end(), ids.begin(), ids.end());
            if (lines)
                items.back().push_back(models::text::kEos);
        });
    return items;
}

Corpus make_corpus(const std::vector<File>& files, bool bytes, bool lines) {
    std::vector<std::string> texts;
    for (const File& file : files)
        if (!bytes)
            for_each_text(file, lines, [&](const std::string& text, int64_t number) {
                models::text::check_utf8(text, file.name, number);
                texts.push_back(text);
            });
    Corpus corpus = {bytes ? models::text::bytes(lines)
                           : models::text::learn_characters({texts.begin(), texts.end()}, lines),
                     lines,
                     {},
                     {}};
    check(corpus.tokenizer.size() > models::text::kFirstFreeId + 1, kit::name_of(files),
          ": this text consists of one character only; there is nothing to learn");
    std::vector<Sequence> items = encode(files, corpus.tokenizer, lines);
    const std::size_t n = lines ? items.size() : items[0].size();
    check(n >= 20, kit::name_of(files), ": a text of ",
          kit::counted(static_cast<int64_t>(n), lines ? "line" : "character"),
          "; at least 20 are needed, because a tenth is held out");
    if (lines) {
        const std::size_t training = n - std::min<std::size_t>(1000, n / 10);
        for (const int64_t i : Rng(0).fork("held out").permutation(static_cast<int64_t>(n)))
            (corpus.training.size() < training ? corpus.training : corpus.held_out)
                .push_back(std::move(items[static_cast<std::size_t>(i)]));
    } else {
        const auto end = items[0].begin() + static_cast<std::ptrdiff_t>(n * 9 / 10);
        corpus.training.emplace_back(items[0].begin(), end);
        corpus.held_out.emplace_back(end, items[0].end());
    }
    return corpus;
}

void describe(const Corpus& corpus) {
    const auto count = [&](const std::vector<Sequence>& items) {
        return kit::grouped(static_cast<int64_t>(corpus.lines ? items.size() : items[0].size()));
    };
    const std::string unit = corpus.tokenizer.is_byte_level() ? "bytes" : "characters";
    std::cerr << autograd::join(count(corpus.training), " ", corpus.lines ? "lines" : unit,
                                " to learn from, ", count(corpus.held_out), " held out; ",
                                corpus.tokenizer.size() - models::text::kFirstFreeId, " different ", unit,
                                "\n");
}

int64_t context_of_longest(const std::vector<Sequence>& lines) {
    std::size_t longest = 0;
    for (const Sequence& line : lines)
        longest = std::max(longest, line.size() - 1);
    return static_cast<int64_t>(longest);
}

}  // namespace plaingrad::char_lm
