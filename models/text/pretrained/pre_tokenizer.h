// How a normalized text is cut into words, which a model encodes one by one: a tokenizer's `pre_tokenizer`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/text/pre_tokens.h"
#include "models/text/pretrained/part.h"

namespace plaingrad::models::text::pretrained {

struct Split {  // see models/text/pre_tokens.h
    PreTokens kind;
};
struct Digits {  // numbers are words of their own
    bool individual_digits;
};
struct BertWords {};  // without white space; each punctuation mark is a word
struct ByteLevel {    // the model reads bytes
    bool add_prefix_space;
};
struct Metaspace {  // each space becomes `replacement`; with `split` a word begins at each
    std::string replacement;
    enum class Prepend { always, first, never } prepend;  // before what does not begin with one
    bool split;
};
struct WordsAfter {  // a word begins at each mark that follows something else
    std::string mark;
};

class PreTokenizer {
public:
    using Step = std::variant<Split, Digits, BertWords, ByteLevel, Metaspace, WordsAfter>;
    using Word = std::function<void(std::string_view)>;

    // From the "pre_tokenizer" of a tokenizer.json; null: the whole text is one word. Throws FileError for
    // any other step and for any other regular expression, by name.
    static PreTokenizer from(const Part& part);

    // Calls word() for each word; none is empty. is_first: nothing of the text comes before this.
    void operator()(std::string_view text, bool is_first, const Word& word) const {
        cut(text, is_first, 0, word);
    }
    bool is_byte_level() const;

    std::vector<Step> steps;

private:
    void cut(std::string_view text, bool is_first, std::size_t step, const Word& word) const;
};

}  // namespace plaingrad::models::text::pretrained
