// Continues a text: a LanguageModel with its tokenizer.
//
//     const auto write = models::Writer::load("run");  // of `generate train ... --save run`
//     const auto write = models::Writer::load("gpt2"); // a folder from Hugging Face: GPT-2, Llama, ...
//     std::cout << "The" << write("The");
//
//     models::WritingOptions options = write.usual;    // else what the folder asks for is forgotten
//     options.sampling.temperature = 0.5;
//     std::cout << "The" << write("The", options, Rng(1));
//
// A prompt for GPT-2 should not end with a space: its tokens begin with one.
//
// It computes in the precision of the saved model. To choose another, the object must not be const:
//
//     write.model.config.block.precision = models::Precision::float32;
#pragma once

#include <functional>

#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/hugging_face/config.h"
#include "models/text/tokenizer.h"

namespace plaingrad::models {

struct WritingOptions {
    SamplingOptions sampling = {};
    int64_t max_tokens = 200;            // new ones, the end not counted
    int64_t max_length = 0;              // of prompt and text together; 0: any
    std::vector<std::string> stop = {};  // the text ends before the first of these strings
    // Asked after each token that was drawn: whether the text ends here.
    std::function<bool()> done = {};
};

struct Writer {
    // A saved model that writes (models/saved.h): what `generate train` has saved, or a folder from Hugging
    // Face. Throws FileError naming the file for any other.
    static Writer load(const std::string& path, const OpenOptions& options = {});
    // For a model that was trained here: what its config.json says.
    hugging_face::ConfigJson config() const;

    // What the model reads before it continues this text. Throws Error for a prompt with a character that the
    // model does not know, and, with `lines`, for one that is longer than a line.
    std::vector<int32_t> encode(const std::string& prompt) const;

    // Returns a Stepper that has these ids as its prompt, which may be longer than max_length, and that knows
    // which ids are never drawn and which end the text.
    std::unique_ptr<Stepper> start(const std::vector<int32_t>& ids) const;

    using OnText = std::function<void(const std::string& piece)>;
    // Returns the continuation of the prompt; with `lines`, the rest of its line. on_text is called with each
    // piece of it as soon as it is certain. When the text reaches max_length, writing goes on with its newer
    // half as context. Of a longer prompt only the end is read. With `lines`, the text ends there instead.
    // Throws Error as `encode` does.
    std::string operator()(const std::string& prompt, const WritingOptions& options, const Rng& rng = Rng(1),
                           const OnText& on_text = {}) const;
    std::string operator()(const std::string& prompt) const { return (*this)(prompt, usual); }
    // For several continuations of one prompt, which this object's `start` returned, each with an Rng of its
    // own. The model reads the prompt once:
    //     const auto prompt = write.start(write.encode("The"));
    //     for (uint64_t seed = 1; seed <= 3; ++seed)
    //         std::cout << "The" << write(*prompt, options, Rng(seed)) << "\n---\n";
    // It is read again only if a text was longer than max_length.
    std::string operator()(Stepper& prompt, const WritingOptions& options, const Rng& rng,
                           const OnText& on_text = {}) const;

    // Without a folder that says otherwise. (The most probable 50 are found in no time; to draw from all
    // tokens, all of them are sorted, which takes 0.5 ms if there are 50,000.)
    static inline const WritingOptions kUsual = {.sampling = {.temperature = 0.8, .top_k = 50}};

    LanguageModel model;
    text::Tokenizer tokenizer;
    bool lines = false;  // whether it learned lines, each between <sos> and <eos>, or one long text
    // What the folder's generation_config.json asks for, if it has one (models/hugging_face/generation.h).
    WritingOptions usual = kUsual;
    std::vector<std::string> notes = {};  // a line each: what was ignored in the folder, and why
};

}  // namespace plaingrad::models
