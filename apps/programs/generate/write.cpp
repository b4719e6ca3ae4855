#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numbers>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "apps/programs/generate/generate.h"

namespace plaingrad::generate {

std::string described(const models::SamplingOptions& o) {
    return join("temperature ", o.temperature, ", top-k ", o.top_k, ", top-p ", o.top_p,
                ", repetition penalty ", o.repetition_penalty);
}

void write(const Writer& w, const WriteSettings& s) {
    using Clock = std::chrono::steady_clock;
    const std::vector<int32_t> ids = w.encode(s.prompt);
    const int64_t context = w.model.config.max_length;
    if (std::ssize(ids) > context)
        kit::say(join("the prompt has ", kit::counted(std::ssize(ids), "token"), "; the model sees the last ",
                      context));
    models::WritingOptions options = s.writing;
    int64_t written = 0;
    options.done = [&] { return ++written < 0; };  // never: it counts
    const auto prompt = w.start(ids);
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork("sample");
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < s.n; ++i) {
        std::cout << (i == 0 || w.lines ? "" : "---\n") << s.prompt;
        kit::flush_output();
        w(*prompt, options, rng.fork(static_cast<uint64_t>(i)), [](const std::string& piece) {
            std::cout << piece;
            kit::flush_output();
        });
        std::cout << '\n';
    }
    kit::flush_output();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    kit::say(join(kit::counted(written, "token"), " in ", kit::number(seconds, seconds < 1 ? 3 : 1), " s: ",
                  kit::number(static_cast<double>(written) / seconds), " tokens/s, the prompt included"));
}

void talk(const Writer& w, WriteSettings s) {
    kit::Prompt prompt = {.answer = [&](const std::string& text, const std::string&) {
        s.prompt = text;
        write(w, s);
        ++s.seed;
    }};
    kit::add_commands(prompt, w, kit::token_names(w.tokenizer));
    kit::converse(prompt);
}

std::vector<kit::Examples> windows_of(const Sequence& text, int64_t context, int64_t stride,
                                      int32_t ignored) {
    const int64_t all = std::ssize(text) - 1;  // predictions: number i is of token i + 1
    std::vector<kit::Examples> windows;
    for (int64_t done = 0, end = 0; done < all; done = end) {
        end = std::min(all, done == 0 ? context : done + stride);
        const int64_t begin = std::max<int64_t>(0, end - context);
        const auto first = text.begin() + begin, last = text.begin() + end;
        Sequence targets(first + 1, last + 1);
        std::fill(targets.begin(), targets.begin() + (done - begin), ignored);
        windows.push_back(
            {{Tokens(1, end - begin, {first, last})}, Tokens(1, end - begin, std::move(targets), ignored)});
    }
    return windows;
}

void print_scores(const Writer& w, const std::vector<kit::File>& files, int64_t stride) {
    const int64_t context = w.model.config.max_length;
    const auto ignored = static_cast<int32_t>(w.model.config.vocabulary);
    for (const kit::File& file : files) {
        std::vector<Sequence> texts;
        int64_t left_out = 0;
        for (const kit::Text& text : kit::texts_of({&file, 1}, w.lines)) {
            Sequence ids = w.tokenizer.encode(text.text, {.add_special_tokens = false});
            left_out += static_cast<int64_t>(std::erase(ids, w.tokenizer.unknown()));
            ids.insert(ids.begin(), w.encode("").front());
            if (w.lines)
                ids.push_back(w.model.config.specials.end());
            texts.push_back(std::move(ids));
        }
        autograd::check(!texts.empty() && texts[0].size() > 1, file.name,
                        ": there is no text in this file that the model knows");
        const auto batches = w.lines ? kit::batches_of(kit::cut(texts, context), ignored)  // many short ones
                                     : windows_of(texts[0], context, stride, ignored);
        const kit::Measured loss = kit::measure(kit::objective_of(w.model), batches);
        autograd::check(std::isfinite(loss.nats), file.name, ": the model predicts this text with ",
                        loss.nats, " nats; its weights are broken");
        const double bits = loss.nats / std::numbers::ln2 * static_cast<double>(loss.predictions);
        std::cout << file.name << ": " << kit::in_words(loss);
        if (left_out == 0)  // else it is not known of how many bytes
            std::cout << "; " << kit::number(bits / static_cast<double>(file.text.size()), 4)
                      << " bits per byte, over " << kit::grouped(std::ssize(file.text));
        std::cout << '\n';
        kit::flush_output();
        if (left_out > 0)
            kit::say(join(kit::name(), ": ", file.name,
                          ": characters that the model does not know, left out: ", kit::grouped(left_out)));
    }
}

}  // namespace plaingrad::generate
