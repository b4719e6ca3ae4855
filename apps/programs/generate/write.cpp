#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numbers>

#include "apps/kit/model.h"
#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/kit/prompt.h"
#include "apps/programs/generate/generate.h"

namespace plaingrad::generate {

using autograd::join;
using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;
using kit::Sequence;
using models::Writer;

namespace {

std::string rate(int64_t tokens, double time) {
    return join(
        kit::counted(tokens, "token"), " in ", kit::number(time, time < 1 ? 3 : 1), " s",
        tokens > 0 && time > 0 ? ": " + kit::number(static_cast<double>(tokens) / time) + " tokens/s" : "");
}

// The time until the first token, in which the prompt is read, and that of the others.
struct Pace {
    int64_t read = 0, written = 0;
    double reading = 0, writing = 0;
};

// Of several texts, the first one reads the prompt; and one after a text that was longer than the context.
std::string write_one(const Writer& w, models::Stepper& prompt, const WriteSettings& s, const Rng& rng,
                      Pace& pace) {
    using Clock = std::chrono::steady_clock;
    models::WritingOptions options = s.writing;
    bool reads = prompt.known == 0;
    pace.read += reads ? std::min(prompt.prompts.length(), prompt.max_length) : 0;
    Clock::time_point before = Clock::now();
    const auto take_time = [&] {
        const Clock::time_point now = Clock::now();
        (reads ? pace.reading : pace.writing) += std::chrono::duration<double>(now - before).count();
        before = now;
    };
    options.done = [&] {
        take_time();
        pace.written += reads ? 0 : 1;
        return reads = false;
    };
    std::cout << s.prompt;
    kit::flush_output();
    const std::string text = w(prompt, options, rng, [](const std::string& piece) {
        std::cout << piece;
        kit::flush_output();
    });
    take_time();
    std::cout << '\n';
    return s.prompt + text;
}

}  // namespace

std::string described(const models::SamplingOptions& o) {
    std::string text = o.temperature == 0 ? "the most probable token" : join("temperature ", o.temperature);
    if (o.temperature != 0 && o.top_k > 0)
        text += join(", top-k ", o.top_k);
    if (o.temperature != 0 && o.top_p < 1)
        text += join(", top-p ", o.top_p);
    if (o.repetition_penalty != 1)
        text += join(", repetition penalty ", o.repetition_penalty);
    return text;
}

void write(const Writer& w, const WriteSettings& s, const std::set<std::string>& known) {
    const std::vector<int32_t> ids = w.encode(s.prompt);
    const int64_t context = w.model.config.max_length;
    if (std::ssize(ids) > context)
        kit::say(join("the prompt has ", kit::counted(std::ssize(ids), "token"), "; the model sees the last ",
                      context));
    Pace pace;
    const auto prompt = w.start(ids);
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork("sample");
    int64_t fresh = 0;
    for (int64_t i = 0; i < s.n; ++i) {
        std::cout << (i == 0 || w.lines ? "" : "---\n");
        fresh += known.contains(write_one(w, *prompt, s, rng.fork(static_cast<uint64_t>(i)), pace)) ? 0 : 1;
    }
    if (!known.empty())
        std::cout << "new, not in the data: " << fresh << "/" << s.n << '\n';
    kit::flush_output();
    kit::say(join("prompt: ", rate(pace.read, pace.reading), "; then ", rate(pace.written, pace.writing)));
}

void talk(const Writer& w, WriteSettings s) {
    kit::Prompt prompt = {.answer = [&](const std::string& text, const std::string&) {
        s.prompt = text;
        write(w, s);
        ++s.seed;
    }};
    kit::add_commands(prompt, w, kit::token_names(w.tokenizer, w.model.config.vocabulary));
    kit::converse(prompt);
}

kit::Measured score(const models::LanguageModel& model, const Sequence& text, int64_t context,
                    int64_t stride) {
    const autograd::NoGrad no_grad;
    const auto ignored = static_cast<int32_t>(model.config.vocabulary);
    const int64_t all = std::ssize(text) - 1;  // predictions: number i is of token i + 1
    double nats = 0;
    for (int64_t done = 0, end; done < all; done = end) {
        end = std::min(all, done == 0 ? context : done + stride);
        const int64_t begin = std::max<int64_t>(0, end - context);
        const auto first = text.begin() + begin, last = text.begin() + end;
        Sequence targets(first + 1, last + 1);
        std::fill(targets.begin(), targets.begin() + (done - begin), ignored);
        const Tensor mean = model.loss(Tokens(1, end - begin, {first, last}), Tokens(1, end - begin, targets),
                                       nn::Mode::eval(), {.ignore = ignored});
        nats += static_cast<double>(mean.item()) * static_cast<double>(end - done);
    }
    return {nats / static_cast<double>(all), all};
}

// bytes: of the text that was predicted; 0 if that is not known, as some of it was left out.
static void print(const std::string& name, const kit::Measured& s, int64_t bytes) {
    const double of_byte = s.nats * static_cast<double>(s.predictions) / static_cast<double>(bytes);
    const auto bits = [](double nats) { return kit::number(nats / std::numbers::ln2, 4) + " bits"; };
    std::cout << name << ": perplexity " << kit::number(std::exp(s.nats), 3) << " = e^"
              << kit::number(s.nats, 4) << " nats per token (" << bits(s.nats) << "), over "
              << kit::grouped(s.predictions) << " tokens";
    if (bytes > 0)
        std::cout << "; per byte " << kit::number(of_byte, 4) << " nats = " << bits(of_byte) << ", over "
                  << kit::grouped(bytes);
    std::cout << '\n';
    kit::flush_output();
}

void print_scores(const models::Writer& w, const std::vector<kit::File>& files, int64_t stride) {
    const int64_t context = w.model.config.max_length;
    kit::Measured sum;
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
        if (w.lines)
            report_long_lines(texts, context);
        const kit::Measured one =
            w.lines  // many short ones: some at once
                ? kit::measure(kit::objective_of(w.model),
                               kit::batches_of(kit::cut(texts, context),
                                               static_cast<int32_t>(w.model.config.vocabulary)))
                : score(w.model, texts[0], context, stride);
        autograd::check(std::isfinite(one.nats), file.name, ": the model predicts this text with ", one.nats,
                        " nats; its weights are broken");
        print(file.name, one, unknown > unknown_before ? 0 : std::ssize(file.text));
        sum.nats += one.nats * static_cast<double>(one.predictions);
        sum.predictions += one.predictions, bytes += std::ssize(file.text);
    }
    sum.nats /= static_cast<double>(sum.predictions);
    if (files.size() > 1)
        print("together", sum, unknown > 0 ? 0 : bytes);
    if (unknown > 0)
        kit::say(kit::name() +
                 ": characters that the model does not know, left out: " + kit::grouped(unknown));
}

}  // namespace plaingrad::generate
