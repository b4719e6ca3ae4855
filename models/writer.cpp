#include "models/writer.h"

#include "models/saved.h"

namespace plaingrad::models {

using nn::checkpoint::check_file;

// In the metadata.
static constexpr const char *kVocabulary = "char_lm.vocabulary", *kItems = "char_lm.items";

Writer Writer::load(const std::string& path) {
    const std::string file = model_file(path);
    Metadata metadata;
    LanguageModel model = load_model<LanguageModel>(file, &metadata);
    check_file(metadata.contains(kVocabulary) && metadata.contains(kItems), file,
               ": this language model was not trained by char_lm: it has no characters");
    const std::string& items = metadata[kItems];
    check_file(items == "lines" || items == "text", file, ": ", kItems, " is neither text nor lines");
    text::Characters characters = text::Characters::from_description(metadata[kVocabulary], file);
    check_file(characters.size() == model.config.vocabulary, file, ": the model has ",
               model.config.vocabulary, " ids, its characters have ", characters.size());
    return {std::move(model), std::move(characters), items == "lines"};
}

Metadata Writer::metadata() const {
    return {{kVocabulary, characters.description()}, {kItems, lines ? "lines" : "text"}};
}

std::string Writer::operator()(const std::string& prompt, const GenerationOptions& options, const Rng& rng,
                               const std::function<void(const std::string&)>& on_character) const {
    const std::string line_break = characters.contains("\n") ? "\n" : characters.decode(kFirstFreeId);
    const bool begins = prompt.empty() && !lines;  // the start of a text is like the start of a line
    std::vector<int32_t> ids = characters.encode(begins ? line_break : prompt, "the prompt");
    autograd::check(!lines || std::ssize(ids) < model.config.max_length, "the prompt has ", ids.size(),
                    " characters; the model takes ", model.config.max_length - 1);
    if (lines)
        ids.insert(ids.begin(), model.config.specials.start);
    const auto stepper = model.start(Tokens(1, std::ssize(ids), ids));
    stepper->specials.never.push_back(kUnk);  // no character has this id
    if (!lines)                               // the model has seen no end of a text
        stepper->specials.never.insert(stepper->specials.never.end(), model.config.specials.ends.begin(),
                                       model.config.specials.ends.end());
    GenerationOptions of_items = options;
    of_items.slide = !lines;
    return characters.decode(generate(*stepper, rng, of_items, [&](int64_t, int32_t id) {
        if (on_character)
            on_character(characters.decode(id));
    })[0]);
}

}  // namespace plaingrad::models
