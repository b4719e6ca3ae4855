// How a normalized text is cut into words, which a model encodes one by one: a tokenizer's `pre_tokenizer`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/text/tokenizer/normalizer.h"
#include "models/text/tokenizer/pre_tokens.h"

namespace plaingrad::models::text::tokenizer {

struct Split {  // see models/text/tokenizer/pre_tokens.h
    PreTokens kind;
};
struct SplitAt {  // words are what stands between these marks
    std::string mark;
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
struct WhitespaceSplit {};  // words are what stands between white space
struct Joiners {};          // a type of ours: see joiners.h
struct WordsAfter {         // ours, for speed: a word begins at each mark that follows something else
    std::string mark;
};

class Splitter {
public:
    using Step = std::variant<Split, SplitAt, Digits, BertWords, ByteLevel, Metaspace, WhitespaceSplit,
                              Joiners, WordsAfter>;
    using Word = std::function<void(std::string_view)>;

    // From the "pre_tokenizer" of a tokenizer.json; null: the whole text is one word. Throws FileError for
    // any other step and for any other regular expression, by name.
    static Splitter from(const Json& part);

    // Calls word() for each word; none is empty. is_first: nothing of the text comes before this.
    void operator()(std::string_view text, bool is_first, const Word& word) const {
        if (!text.empty())
            cut(text, is_first, 0, word);
    }

    std::vector<Step> steps;

private:
    void cut(std::string_view text, bool is_first, std::size_t step, const Word& word) const;
};

}  // namespace plaingrad::models::text::tokenizer
