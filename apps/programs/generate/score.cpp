#include "apps/programs/generate/score.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include "apps/kit/program.h"
#include "models/text/learn_tokenizer.h"

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

Sequence ids_of(const models::Writer& w, const kit::File& file) {
    Sequence ids = w.tokenizer.encode(file.text, {.add_special_tokens = false});
    models::text::check_known(w.tokenizer, file.text, ids, file.name);
    return ids;
}

static void print(const std::string& name, const Score& s, int64_t bytes) {
    const double of_token = s.nats / static_cast<double>(s.tokens),
                 of_byte = s.nats / static_cast<double>(bytes);
    std::cout << name << ": perplexity " << kit::number(std::exp(of_token), 3) << " = e^"
              << kit::number(of_token, 4) << " nats per token, over " << kit::grouped(s.tokens)
              << " tokens; per byte " << kit::number(of_byte, 4)
              << " nats = " << kit::number(of_byte / std::numbers::ln2, 4) << " bits, over "
              << kit::grouped(bytes) << '\n';
    kit::flush_output();
}

void print_scores(const models::Writer& w, const std::vector<kit::File>& files, int64_t stride) {
    Score sum;
    int64_t bytes = 0;
    for (const kit::File& file : files) {
        Sequence text = {w.encode("").front()};
        const Sequence ids = ids_of(w, file);
        autograd::check(!ids.empty(), file.name, ": there is no text in this file");
        text.insert(text.end(), ids.begin(), ids.end());
        const Score one = score(w.model, text, w.model.config.max_length, stride);
        autograd::check(std::isfinite(one.nats), file.name, ": the model predicts this text with ", one.nats,
                        " nats; its weights are broken");
        const int64_t size = std::ssize(file.text);
        print(file.name, one, size);
        sum.nats += one.nats, sum.tokens += one.tokens, bytes += size;
    }
    if (files.size() > 1)
        print("together", sum, bytes);
}

}  // namespace plaingrad::generate
