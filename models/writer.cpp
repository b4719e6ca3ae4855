#include "models/writer.h"

#include "models/hugging_face/generation.h"
#include "models/saved.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::models {

Writer Writer::load(const std::string& path, const OpenOptions& options) {
    const SavedModel saved(path);
    Writer w = {load_model<LanguageModel>(saved, options), saved.tokenizer(), saved.config.lines};
    w.notes = saved.config.notes;
    if (!saved.is_ours())
        hugging_face::read_generation(saved.folder, w);
    return w;
}

hugging_face::ConfigJson Writer::config() const {
    auto c = hugging_face::config_of(model.config);
    c.lines = lines;
    return c;
}

std::vector<int32_t> Writer::encode(const std::string& prompt) const {
    std::vector<int32_t> ids = tokenizer.encode(prompt);
    text::check_known(tokenizer, prompt, ids, "the prompt");
    if (ids.empty())
        ids.push_back(model.config.specials.start);
    autograd::check(!lines || std::ssize(ids) <= model.config.max_length, "the prompt has ", ids.size() - 1,
                    " characters; the model takes ", model.config.max_length - 1);
    return ids;
}

std::unique_ptr<Stepper> Writer::start(const std::vector<int32_t>& ids) const {
    return model.start(Tokens(1, std::ssize(ids), ids));
}

std::string Writer::operator()(const std::string& prompt, const WritingOptions& options, const Rng& rng,
                               const OnText& on_text) const {
    return (*this)(*start(encode(prompt)), options, rng, on_text);
}

std::string Writer::operator()(Stepper& prompt, const WritingOptions& options, const Rng& rng,
                               const OnText& on_text) const {
    autograd::check(prompt.prompts.batch() == 1, "[Writer] continues one prompt, not ",
                    prompt.prompts.batch());
    const int64_t longest = options.max_length, room = longest - prompt.prompts.length();
    autograd::check(
        longest == 0 || room > 0, "the prompt has ", prompt.prompts.length(),
        " tokens, and max_length allows ", longest,
        " with what is written; a number of new tokens instead of it (--tokens) has no such limit");
    text::Tokenizer::Stream stream(tokenizer);
    // An embedding may have more rows than there are tokens: those beyond stand for no text.
    const auto text_of = [&](int32_t id) { return id < tokenizer.size() ? stream.add(id) : ""; };
    for (int64_t t = 0; t < prompt.prompts.length(); ++t)  // a space may depend on what is before it
        text_of(prompt.prompts.at(0, t));
    text::Stops stops(options.stop);
    std::string text;
    const auto pass_on = [&](const std::string& piece) {
        text += piece;
        if (on_text && !piece.empty())
            on_text(piece);
    };
    const GenerationOptions of_ids = {
        .sampling = options.sampling,
        .max_tokens = longest > 0 ? std::min(room, options.max_tokens) : options.max_tokens,
        .slide = !lines};
    generate(prompt, rng, of_ids, [&](int64_t, int32_t id) {
        pass_on(stops.add(text_of(id)));
        return !stops.found() && !(options.done && options.done());
    });
    pass_on(stops.add(stream.finish()));
    pass_on(stops.finish());
    return text;
}

}  // namespace plaingrad::models
