// Everything that a tokenizer.json says: how it is read, and how ours are written.
#pragma once

#include <array>
#include <map>
#include <variant>

#include "models/text/tokenizer.h"
#include "models/text/tokenizer/learn_merges.h"
#include "models/text/tokenizer/steps.h"

namespace plaingrad::models::text::tokenizer {

// ---- tokens that are no pieces of words

// A token that was added to a model's vocabulary, such as "<|endoftext|>" and "[MASK]". The tokenizer looks
// for it before it does anything else with a text, and never splits it.
struct AddedToken {
    std::string content;
    int32_t id = 0;
    bool single_word = false;  // the token is found only where no character of a word is beside it
    bool lstrip = false;       // the token includes the white space before it,
    bool rstrip = false;       // and after it
    bool normalized = false;   // the token is normalized, and looked for in the normalized text
    bool special = false;      // decoding without special tokens leaves it out
    std::string pattern = "";  // the text to look for: the content, normalized if `normalized`

    // Reads one member of "added_tokens" in tokenizer.json, which has an "id", or of "added_tokens_decoder"
    // in tokenizer_config.json, whose key is the id.
    static AddedToken from(const Json& part);
};

const AddedToken* found(const std::vector<AddedToken>& tokens, std::string_view content);  // null: none

class AddedTokens {
public:
    void add(AddedToken token, const Normalizer& normalizer);
    const std::vector<AddedToken>& all() const { return tokens_; }

    // Cuts a text at the tokens. If several begin at the same place, the longest counts. normalized: whether
    // to look only for tokens that are normalized, or only for those that are not.
    struct TextOrToken {
        std::string_view text;              // between two tokens, never empty;
        int32_t token = Vocabulary::kNone;  // or else the id of a token
    };
    std::vector<TextOrToken> cut(std::string_view text, bool normalized) const;

private:
    const AddedToken* at_start(std::string_view text, bool normalized) const;

    std::vector<AddedToken> tokens_;
    // By the length of the pattern, the longest first.
    std::array<std::multimap<std::size_t, std::size_t, std::greater<>>, 256> by_first_byte_;
};

// What stands around the ids of one text or two: "[CLS] A [SEP] B [SEP]". A tokenizer's `post_processor`.
class Template {
public:
    struct Item {
        bool is_text;
        int32_t id;  // of a special token; of a text 0 or 1
        int32_t type_id = 0;
    };

    // From the "post_processor" of a tokenizer.json; null: the texts alone. Throws FileError for any other,
    // by name.
    static Template from(const Json& part);
    // texts: the ids of one or two. special: with the special tokens. max_length: see EncodeOptions.
    Encoding operator()(std::vector<Ids> texts, bool special, int64_t max_length = 0) const;

    std::vector<Item> single = {{true, 0, 0}}, pair = {{true, 0, 0}, {true, 1, 1}};
};

// ---- the whole

// First added tokens are taken out of a text; then it goes through these from top to bottom. Ids come back
// through the decoder. BERT's, for example:
//
//     Unaffable!         the text
//     unaffable!         after the normalizer
//     unaffable  !       words, after the splitter
//     un ##aff ##able !  pieces, after the model
//     [CLS] ... [SEP]    with what stands around a text
struct Pipeline {
    AddedTokens added;
    Normalizer normalizer;
    Splitter splitter;
    std::variant<WordLevel, WordPiece, Bpe, Features> model;
    Template around;
    Decoder decoder;

    Strings tokens;             // the piece or added token of each id, as the decoder wants it
    std::vector<bool> special;  // whether an id is left out when a text is decoded without special tokens
    int32_t unk = Vocabulary::kNone;  // the model's id of what is unknown
};

// Throws FileError naming `where`, the file, and the field for what cannot be read and for what is not
// supported.
Pipeline read_pipeline(const std::string& json, const std::string& where);

// A tokenizer.json as text, of members that are texts in JSON.
struct FileText {
    std::string model = {}, normalizer = "null", pre_tokenizer = "null", post_processor = "null",
                decoder = "null";
    std::vector<AddedToken> added_tokens = {};
};
std::string json_of(const FileText& file);

// "model": its type and options, as "type":"BPE", and pieces with the ids 0, 1, 2 and so on.
std::string model_text(const std::string& options, const Strings& pieces);
std::string bpe_text(const std::string& options, const Strings& pieces,
                     const std::vector<MergeRule>& rules = {});

// ---- files beside it, and folders without it

// tokenizer_config.json: what transformers knows about a tokenizer beside its tables; and
// special_tokens_map.json, for tokens that the first does not name. Both may be missing. Throws FileError.
struct TokenizerConfig {
    TokenizerConfig() = default;
    explicit TokenizerConfig(const std::string& folder);

    std::string folder = {};
    Json json = Json("{}", "");                                  // the first of these files
    std::map<std::string, std::string, std::less<>> named = {};  // "bos_token" and so on, and their content
    std::vector<AddedToken> special_tokens = {};                 // those, and "additional_special_tokens"
    std::multimap<int64_t, Json> numbered = {};                  // tokens by their ids
};

// GPT-2's: bytes, and what they are merged to.
FileText byte_level_text(const Strings& pieces, const std::vector<MergeRule>& rules = {},
                         bool add_prefix_space = false);
// BERT's, with its special tokens.
FileText bert_text(const Strings& pieces, const TokenizerConfig& config = {});

// Of a folder without a tokenizer.json: GPT-2's or Qwen2's vocab.json and merges.txt, or BERT's vocab.txt,
// with what tokenizer_config.json says, if there is one. What these files do not say, the models' own code
// knew. Throws FileError naming the file and the field.
Tokenizer from_older_files(TokenizerConfig config);

}  // namespace plaingrad::models::text::tokenizer
