// How a normalized text is cut into words, which a model encodes one by one: a tokenizer's `pre_tokenizer`.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "models/text/tokenizer/normalizer.h"

namespace plaingrad::models::text::tokenizer {

class Splitter {
public:
    using Word = std::function<void(std::string_view)>;
    // Calls word() for each word of a text; neither is ever empty. is_first: nothing comes before the text.
    using Step = std::function<void(std::string_view text, bool is_first, const Word& word)>;

    // From the "pre_tokenizer" of a tokenizer.json; null: the whole text is one word. Throws FileError for
    // any other step and for any other regular expression, by name.
    static Splitter from(const Json& part);

    void operator()(std::string_view text, bool is_first, const Word& word) const {
        if (!text.empty())
            cut(text, is_first, 0, word);
    }

    // From now on a word also begins at each mark that follows something else.
    void cut_before(const std::string& mark);

    bool byte_level = false;  // the model reads bytes
    bool at_marks = false;    // words are what stands between marks, such as spaces
    bool cuts = false;        // else each text is one word

private:
    void add(const Json& part);
    void cut(std::string_view text, bool is_first, std::size_t step, const Word& word) const;

    std::vector<Step> steps_;
};

// Byte-level BPE cuts a text by a regular expression: no merge crosses from one word to the next. These are
// the three expressions in use, written out by hand. A byte that is not UTF-8 counts as a sign.
enum class PreTokens {
    gpt2,    // a word with the space before it; signs; digits as long as they come
    llama3,  // as GPT-4: a word with any one sign before it; up to three digits; line breaks end a token
    qwen2    // the same, each digit alone
};
// The expression, exactly as it stands in the `tokenizer.json` of the model.
std::string_view expression(PreTokens kind);
std::optional<PreTokens> pre_tokens_of(std::string_view expression);

// The first pre-token of a text, which must not be empty.
std::string_view first_pre_token(std::string_view text, PreTokens kind = PreTokens::gpt2);

}  // namespace plaingrad::models::text::tokenizer
