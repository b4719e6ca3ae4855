// What happens to a text before and after the model: a tokenizer's `normalizer`, `pre_tokenizer` and
// `decoder`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/lines.h"
#include "models/text/tokenizer/model.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::Json;

// Each of a normalizer, a pre_tokenizer and a decoder has steps, one after the other. In a file they are a
// "Sequence" with a `list`, which may have such among its items; or one step; or a null, which is none.
template <class Function>
using Steps = std::vector<std::function<Function>>;
std::vector<Json> steps_of(const Json& part, const char* list);

// ---- before it is cut

class Normalizer {
public:
    // From the "normalizer" of a tokenizer.json; null: no step. Throws FileError for any other step, by name.
    static Normalizer from(const Json& part);

    // A byte that is not UTF-8 is kept. BERT's normalizer removes it, as it removes the U+FFFD that Python
    // makes of it.
    std::string operator()(std::string_view text) const;

    Steps<std::string(std::string text)> steps;
    bool lower_case = false;  // whether "Lowercase" is a step
};

// "Replace", a normalizer and a decoder.
struct Replace {
    explicit Replace(const Json& part);
    std::string operator()(std::string_view text) const { return replace_all(text, from, to); }

    std::string from, to;
};

// ---- into words, which a model encodes one by one

class Splitter {
public:
    using Word = std::function<void(std::string_view)>;

    // From the "pre_tokenizer" of a tokenizer.json; null: the whole text is one word. Throws FileError for
    // any other step and for any other regular expression, by name.
    static Splitter from(const Json& part);

    // Calls word() for each word of a text, which must not be empty. is_first: nothing comes before the text.
    // step: the first one that is still to be done.
    void operator()(std::string_view text, bool is_first, const Word& word, std::size_t step = 0) const;

    // From now on a word also begins at each mark that follows something else.
    void cut_before(const std::string& mark);

    bool byte_level = false;  // the model reads bytes
    bool at_marks = false;    // words are what stands between marks, such as spaces
    bool cuts = false;        // else each text is one word

private:
    void add(const Json& part);

    // Neither a text nor a word is ever empty.
    Steps<void(std::string_view text, bool is_first, const Word& word)> steps_;
};

// Byte-level BPE cuts a text by a regular expression: no merge crosses from one word to the next. These are
// the three expressions in use, as they stand in the models' files, and each written out by hand. A byte that
// is not UTF-8 counts as a sign.
struct PreTokens {
    std::string_view expression;
    std::size_t (*first)(std::string_view text);  // how many bytes the first word has; there must be one
};
extern const PreTokens kGpt2;    // a word with the space before it; signs; digits as long as they come
extern const PreTokens kLlama3;  // a word with any one sign before it; up to three digits; line breaks end
extern const PreTokens kQwen2;   // the same, each digit alone

// ---- from the pieces of some ids back to their text

class Decoder {
public:
    // From the "decoder" of a tokenizer.json; null: pieces with spaces between. Throws FileError for any
    // other step, by name.
    static Decoder from(const Json& part);

    // invalid: what becomes of bytes that are not UTF-8. They are replaced as `tokenizers` does it. In
    // byte-level pieces, each beginning of a character that is cut off becomes a U+FFFD, and so does each
    // other bad byte. Of pieces from <0x00> to <0xFF>, each does if a run of them is not UTF-8 as a whole.
    std::string operator()(Strings pieces, InvalidUtf8 invalid) const;

private:
    Steps<void(Strings& pieces, InvalidUtf8 invalid)> steps_;
};

// "do n't ." becomes "don't.". transformers' clean_up_tokenization_spaces; the decoder of WordPiece also
// turns " do not" into " don't".
std::string clean_up(std::string text);

// How many bytes at the end of a text are the beginning of a character.
std::size_t unfinished(std::string_view text);
// Each run of bytes that is not UTF-8, but may begin a character, as U+FFFD.
std::string replace_invalid_runs(std::string_view text);

// ---- joiners: raw text to words and symbols, and back to exactly the same text
//
//     He said, "It's 3.14"  ->  He said ￭, "￭ It ￭'￭ s 3 ￭.￭ 14 ￭"
//
// A space between two tokens is a space in the text. Where the text has none, one of the two tokens gets a
// joiner, U+FFED: the lesser one, where a symbol is less than a number, and a number less than a word. So a
// word is the same token everywhere, and a model needs to learn it only once. (The joiner is OpenNMT's.
// SentencePiece marks the spaces instead; there a word after a bracket is another token.)

// Tokens are runs of letters with their combining marks, runs of digits, and all other characters one by one.
// They contain no white space: except for one space between two tokens, it is written as U+FF05 and its code
// in hexadecimal (％9, ％a0), and so are U+FFED and U+FF05. The line must not contain a line feed.
std::string tokenize(std::string_view line);

// Restores the line. In tokens that a model has written, joiners may be anywhere: they join, and are removed.
// What looks like a code but is none stays as it is.
std::string detokenize(std::string_view tokens);

}  // namespace plaingrad::models::text::tokenizer
