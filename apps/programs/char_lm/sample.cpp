#include "apps/programs/char_lm/sample.h"

#include <iostream>
#include <set>

#include "apps/kit/insight.h"
#include "apps/kit/pretrained.h"
#include "apps/kit/program.h"

namespace plaingrad::char_lm {

using models::Writer;

namespace {

// Each character as it is drawn.
void write_text(const Writer& w, const SampleSettings& s, const models::WritingOptions& options,
                const Rng& rng) {
    std::string before = s.prompt;
    w(s.prompt, options, rng, [&](const std::string& character) {
        std::cout << std::exchange(before, "") << character;
        kit::flush_output();
    });
    std::cout << before << '\n';
}

void write_lines(const Writer& w, const SampleSettings& s, const models::WritingOptions& options,
                 const Rng& rng, const std::vector<Sequence>& known) {
    std::set<std::string> old;
    for (const Sequence& line : known)
        old.insert(w.tokenizer.decode(Sequence(line.begin() + 1, line.end() - 1)));
    int64_t fresh = 0;
    for (int64_t i = 0; i < s.count; ++i) {
        const std::string line = s.prompt + w(s.prompt, options, rng.fork(static_cast<uint64_t>(i)));
        fresh += old.contains(line) ? 0 : 1;
        std::cout << line << '\n';
        kit::flush_output();
    }
    if (!old.empty())
        std::cout << "new, not in the data: " << fresh << "/" << s.count << '\n';
}

}  // namespace

void write(const Writer& w, const SampleSettings& s, const std::vector<Sequence>& known) {
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork("sample");
    const models::WritingOptions options = {.sampling = s.sampling, .max_tokens = s.tokens};
    if (w.lines)
        write_lines(w, s, options, rng, known);
    else
        write_text(w, s, options, rng);
}

void talk(const Writer& w, SampleSettings s) {
    const models::text::Tokenizer& known = w.tokenizer;
    kit::Prompt prompt = {.noun = known.is_byte_level() ? "byte" : "character",
                          .names = kit::token_names(known),
                          .read = [&](const std::string& line) { return kit::read_characters(known, line); },
                          .answer =
                              [&](const std::string& text, const std::string&) {
                                  s.prompt = text;
                                  write(w, s, {});
                                  ++s.seed;
                              }};
    kit::add_commands(prompt, w, prompt.names);
    kit::converse(prompt);
}

}  // namespace plaingrad::char_lm
