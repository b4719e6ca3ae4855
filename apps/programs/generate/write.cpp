#include "apps/programs/generate/write.h"

#include <chrono>
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/kit/prompt.h"

namespace plaingrad::generate {

using autograd::join;
using autograd::Rng;
using autograd::Tokens;
using models::Writer;

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

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
    models::WritingOptions options = s.writing;
    Clock::time_point before = Clock::now();
    const bool reads = prompt.known == 0;
    pace.read += reads ? std::min(prompt.prompts.length(), prompt.max_length) : 0;
    bool first = true;
    options.done = [&] {
        const Clock::time_point now = Clock::now();
        (first && reads ? pace.reading : pace.writing) += seconds(now - before);
        pace.written += first && reads ? 0 : 1;
        before = now;
        first = false;
        return false;
    };
    std::cout << s.prompt;
    kit::flush_output();
    const std::string text = w(prompt, options, rng, [](const std::string& piece) {
        std::cout << piece;
        kit::flush_output();
    });
    if (first)  // nothing but the end was drawn
        (reads ? pace.reading : pace.writing) += seconds(Clock::now() - before);
    std::cout << '\n';
    return s.prompt + text;
}

}  // namespace

Writer open_model(const std::string& path, const std::string& precision, bool packed) {
    Writer w = kit::open_model<Writer>(path, precision, packed);
    kit::say_opened(path, w);
    return w;
}

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
    kit::Prompt prompt;
    prompt.answer = [&](const std::string& text, const std::string&) {
        s.prompt = text;
        write(w, s);
        ++s.seed;
    };
    kit::add_commands(prompt, w, kit::token_names(w.tokenizer, w.model.config.vocabulary));
    kit::converse(prompt);
}

}  // namespace plaingrad::generate
