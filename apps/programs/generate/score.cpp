#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include "apps/programs/generate/write.h"

namespace plaingrad::generate {

using autograd::Tokens;
using kit::Sequence;

Score score(const models::LanguageModel& model, const Sequence& text, int64_t context, int64_t stride) {
    const autograd::NoGrad no_grad;
    const auto ignored = static_cast<int32_t>(model.config.vocabulary);
    const int64_t all = std::ssize(text) - 1;  // predictions: number i is of token i + 1
    Score sum;
    for (int64_t done = 0, end; done < all; done = end) {
        end = std::min(all, done == 0 ? context : done + stride);
        const int64_t begin = std::max<int64_t>(0, end - context);
        const auto first = text.begin() + begin, last = text.begin() + end;
        Sequence targets(first + 1, last + 1);
        std::fill(targets.begin(), targets.begin() + (done - begin), ignored);
        const double mean = static_cast<double>(model
                                                    .loss(Tokens(1, end - begin, {first, last}),
                                                          Tokens(1, end - begin, targets), nn::Mode::eval(),
                                                          {.ignore = ignored})
                                                    .item());
        sum.nats += mean * static_cast<double>(end - done);
        sum.tokens += end - done;
    }
    return sum;
}

// bytes: of the text that was predicted; 0 if that is not known, as some of it was left out.
static void print(const std::string& name, const Score& s, int64_t bytes) {
    const double of_token = s.nats / static_cast<double>(s.tokens),
                 of_byte = s.nats / static_cast<double>(bytes);
    const auto bits = [](double nats) { return kit::number(nats / std::numbers::ln2, 4) + " bits"; };
    std::cout << name << ": perplexity " << kit::number(std::exp(of_token), 3) << " = e^"
              << kit::number(of_token, 4) << " nats per token (" << bits(of_token) << "), over "
              << kit::grouped(s.tokens) << " tokens";
    if (bytes > 0)
        std::cout << "; per byte " << kit::number(of_byte, 4) << " nats = " << bits(of_byte) << ", over "
                  << kit::grouped(bytes);
    std::cout << '\n';
    kit::flush_output();
}

void print_scores(const models::Writer& w, const std::vector<kit::File>& files, int64_t stride) {
    Score sum;
    int64_t bytes = 0, unknown = 0;
    for (const kit::File& file : files) {
        std::vector<Sequence> texts;
        const int64_t unknown_before = unknown;
        for (const kit::Text& text : kit::texts_of({&file, 1}, w.lines)) {
            texts.push_back({w.encode("").front()});
            for (const int32_t id : w.tokenizer.encode(text.text, {.add_special_tokens = false}))
                if (id == w.tokenizer.unknown())
                    ++unknown;
                else
                    texts.back().push_back(id);
            if (w.lines)
                texts.back().push_back(w.model.config.specials.end());
        }
        autograd::check(!texts.empty() && texts[0].size() > 1, file.name,
                        ": there is no text in this file that the model knows");
        const int64_t context = w.model.config.max_length, size = std::ssize(file.text);
        Score one;
        if (w.lines) {  // many short ones: some at once
            const auto pad = static_cast<int32_t>(w.model.config.vocabulary);
            const kit::Measured all =
                kit::measure(kit::objective_of(w.model), kit::batches_of(kit::cut(texts, context), pad));
            one = {all.nats * static_cast<double>(all.predictions), all.predictions};
        } else {
            one = score(w.model, texts[0], context, stride);
        }
        autograd::check(std::isfinite(one.nats), file.name, ": the model predicts this text with ", one.nats,
                        " nats; its weights are broken");
        print(file.name, one, unknown > unknown_before ? 0 : size);
        sum.nats += one.nats, sum.tokens += one.tokens, bytes += size;
    }
    if (files.size() > 1)
        print("together", sum, unknown > 0 ? 0 : bytes);
    if (unknown > 0)
        kit::say(kit::name() +
                 ": characters that the model does not know, left out: " + kit::grouped(unknown));
}

}  // namespace plaingrad::generate
