#include "models/text/learn_tokenizer.h"

#include <algorithm>
#include <map>
#include <set>

#include "autograd/base/mapped.h"
#include "models/text/tokenizer/byte_alphabet.h"
#include "models/text/tokenizer/features.h"
#include "models/text/tokenizer/file_text.h"
#include "models/text/tokenizer/normalizer.h"
#include "models/text/tokenizer/splitter.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/json.h"
#include "nn/utf8.h"

namespace plaingrad::models::text {

using namespace tokenizer;  // NOLINT
using nn::checkpoint::JsonText;
using nn::checkpoint::quote;
using Strings = std::vector<std::string>;
using Views = std::vector<std::string_view>;

// The vocabulary: the reserved names, which no piece may have, then the pieces.
static Strings behind_reserved(const Strings& pieces) {
    Strings all = {"<pad>", "<sos>", "<eos>", "<unk>"};
    std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(all), [&](const std::string& piece) {
        return std::find(all.begin(), all.begin() + kFirstFreeId, piece) == all.begin() + kFirstFreeId;
    });
    return all;
}

static JsonText of_type(const std::string& type, Members members = {}) {
    members.insert(members.begin(), {"type", type});
    return JsonText::object(members);
}

// <sos> before a line, or before each of two.
static JsonText sos_before(bool wanted) {
    if (!wanted)
        return nullptr;
    const auto item = [](const char* what, const char* id, int type) {
        return JsonText::object({{what, JsonText::object({{"id", id}, {"type_id", type}})}});
    };
    const JsonText sos = JsonText::object(
        {{"id", "<sos>"}, {"ids", JsonText::array({int32_t{kSos}})}, {"tokens", JsonText::array({"<sos>"})}});
    return of_type("TemplateProcessing",
                   {{"single", JsonText::array({item("SpecialToken", "<sos>", 0), item("Sequence", "A", 0)})},
                    {"pair", JsonText::array({item("Sequence", "A", 0), item("Sequence", "B", 1)})},
                    {"special_tokens", JsonText::object({{"<sos>", sos}})}});
}

static JsonText byte_level() {
    return of_type("ByteLevel", {{"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", true}});
}

// ---- characters, bytes, words

Tokenizer learn_characters(const Views& texts, bool lines) {
    std::set<std::string_view> characters;  // ascending: in UTF-8 the order of bytes is that of code points
    for (std::string_view text : texts)
        while (!text.empty()) {
            const std::size_t length = nn::first_code_point(text).length;
            characters.insert(text.substr(0, length));
            text.remove_prefix(length);
        }
    const Strings pieces = behind_reserved({characters.begin(), characters.end()});
    return Tokenizer(
        FileText{.model = bpe_text("BPE", pieces, {}, {{"unk_token", "<unk>"}, {"fuse_unk", false}}),
                 .post_processor = sos_before(lines),
                 .decoder = of_type("Fuse")}
            .json());
}

Tokenizer bytes(bool lines) {
    const auto& of_byte = byte_alphabet().character;
    const Strings pieces = behind_reserved({of_byte.begin(), of_byte.end()});
    return Tokenizer(FileText{.model = bpe_text("BPE", pieces, {}),
                              .pre_tokenizer = byte_level(),
                              .post_processor = sos_before(lines),
                              .decoder = byte_level()}
                         .json());
}

Tokenizer learn_words(const Views& texts) {
    WordCounts counts;
    for (const std::string_view text : texts)
        Splitter{{WhitespaceSplit{}}}(text, true, [&](std::string_view word) { counts.add(word); });
    Strings words;
    for (int64_t i = 0; i < counts.size(); ++i)
        words.push_back(counts.word(i));
    const Strings pieces = behind_reserved(words);
    autograd::check(pieces.size() == words.size() + kFirstFreeId,
                    "[learn_words] no word may be <pad>, <sos>, <eos> or <unk>, which are reserved");
    return Tokenizer(FileText{.model = model_text("WordLevel", pieces, {{"unk_token", "<unk>"}}),
                              .pre_tokenizer = of_type("WhitespaceSplit")}
                         .json());
}

// ---- pieces of words

// The file of a tokenizer of pieces, without its model.
static FileText file_of(const PieceOptions& o) {
    FileText file;
    if (o.lower_case)
        file.normalizer = of_type("Lowercase");
    if (o.bytes) {
        file.pre_tokenizer = file.decoder = byte_level();
        return file;
    }
    const JsonText ends = of_type("BPEDecoder", {{"suffix", "</w>"}}), joiners = of_type("Joiners");
    file.pre_tokenizer = joiners;
    file.decoder = of_type("Sequence", {{"decoders", JsonText::array({ends, joiners})}});
    if (o.tokenized) {
        const JsonText space = JsonText::object({{"String", " "}});
        file.pre_tokenizer =
            of_type("Split", {{"pattern", space}, {"behavior", "Removed"}, {"invert", false}});
        file.decoder = ends;
    }
    return file;
}

static Tokenizer of_pieces(const PieceOptions& o, Strings pieces, const std::vector<MergeRule>& rules) {
    pieces = behind_reserved(pieces);
    FileText file = file_of(o);
    if (o.bytes) {
        pieces.emplace_back("<|endoftext|>");
        file.model = bpe_text("BPE", pieces, rules);
    } else {
        file.model =
            bpe_text("SubwordNMT", pieces, rules, {{"unk_token", "<unk>"}, {"end_of_word_suffix", "</w>"}});
    }
    return Tokenizer(file.json(), o.codes_file.empty() ? "tokenizer.json" : o.codes_file);
}

// The words of the texts, as the model will see them.
static WordCounts words_of(const Views& texts, const PieceOptions& o) {
    Normalizer normalizer;
    if (o.lower_case)
        normalizer.steps = {Lowercase{}};
    Splitter splitter;
    if (o.bytes)
        splitter.steps = {Split{PreTokens::gpt2}};
    else if (o.tokenized)
        splitter.steps = {SplitAt{" "}};
    else
        splitter.steps = {Joiners{}};
    WordCounts counts;
    for (const std::string_view text : texts)
        splitter(normalizer(text), true, [&](std::string_view word) { counts.add(word); });
    return counts;
}

// The rules of a file, and all symbols: those that words begin with, then those that rules make.
static Merges merges_of(const PieceOptions& o, Strings symbols) {
    Merges all = {std::move(symbols), read_codes(o.codes, o.codes_file)};
    std::set<std::string> known(all.symbols.begin(), all.symbols.end());
    for (const auto& [left, right] : all.rules) {
        for (const std::string& symbol : {left, right})
            nn::checkpoint::check_file(!o.bytes || known.contains(symbol), o.codes_file, ": '", symbol,
                                       "' is neither a byte nor made by a line above");
        for (const std::string& symbol : {left, right, left + right})
            if (known.insert(symbol).second)
                all.symbols.push_back(symbol);
    }
    return all;
}

// The pieces that the texts are split into, in the order of their first occurrence, and how often each
// occurs.
static WordCounts pieces_in(const Views& texts, const Tokenizer& tokenizer, double dropout = 0) {
    WordCounts counts;
    for (const std::string_view text : texts)
        for (const int32_t id : tokenizer.encode(text, {.dropout = dropout}))
            if (id != tokenizer.unknown())
                counts.add(tokenizer.piece(id));
    return counts;
}
static void add(const WordCounts& from, WordCounts& to) {
    for (int64_t i = 0; i < from.size(); ++i)
        to.add(from.word(i), from.count(i));
}
static Strings frequent(const WordCounts& counts, int64_t least) {
    Strings pieces;
    for (int64_t i = 0; i < counts.size(); ++i)
        if (counts.count(i) >= least)
            pieces.push_back(counts.word(i));
    return pieces;
}

Tokenizer learn_pieces(const Views& texts, const PieceOptions& o, int64_t* how_many) {
    const WordCounts words = words_of(texts, o);
    Merges merges;
    if (o.codes.empty())
        merges = o.bytes ? learn_byte_merges(words, o.merges) : learn_word_merges(words, o.merges);
    else
        merges =
            merges_of(o, o.bytes ? learn_byte_merges({}, 0).symbols : learn_word_merges(words, 0).symbols);
    if (how_many != nullptr)
        *how_many = std::ssize(merges.rules);
    if (o.bytes)
        return of_pieces(o, merges.symbols, merges.rules);
    // The vocabulary has the pieces that the texts are split into. With dropout, also those that they may be
    // split into: characters, and all that a merge can make.
    const Tokenizer all = of_pieces(o, merges.symbols, merges.rules);
    WordCounts counts = pieces_in(texts, all);
    if (o.min_count > 1) {  // what is split further, down to characters, may be frequent
        Strings kept = frequent(counts, o.min_count);
        for (const std::string& character : learn_word_merges(words, 0).symbols)
            if (std::find(kept.begin(), kept.end(), character) == kept.end())
                kept.push_back(character);
        counts = pieces_in(texts, of_pieces(o, kept, merges.rules));
    }
    if (o.dropout) {
        add(pieces_in(texts, all, 1), counts);
        for (const std::string& symbol : merges.symbols)
            counts.add(symbol);
    }
    return of_pieces(o, frequent(counts, o.min_count), merges.rules);
}

// ---- a classifier's features

Tokenizer learn_features(const Strings& texts, const FeatureLearning& o) {
    const JsonText bert = of_type("BertNormalizer", {{"clean_text", true},
                                                     {"handle_chinese_chars", true},
                                                     {"strip_accents", false},
                                                     {"lowercase", false}});
    const JsonText normalizers = JsonText::array({of_type("NFC"), of_type("PlainSigns"), bert});
    FileText file = {.normalizer = of_type("Sequence", {{"normalizers", normalizers}}),
                     .pre_tokenizer = of_type("BertPreTokenizer"),
                     .post_processor = sos_before(o.first)};
    const auto with = [&](const Strings& features) {
        file.model =
            model_text("Features", behind_reserved(features),
                       {{"unk_token", "<unk>"}, {"keep_case", o.keep_case}, {"max_words", o.max_words}});
        return Tokenizer(file.json());
    };
    const Tokenizer splitter = with({});
    std::vector<Strings> words;
    for (const std::string& text : texts) {
        words.push_back(splitter.words(text));
        words.back().resize(std::min(words.back().size(), static_cast<std::size_t>(o.max_words)));
    }
    return with(Features::learn(words, o.min_count, o.pairs, o.keep_case));
}

// ---- for models of others

// A word's characters, all but the first with ## before them.
static Strings characters_of(std::string_view word) {
    Strings all;
    while (!word.empty()) {
        const std::size_t bytes = nn::first_code_point(word).length;
        all.push_back((all.empty() ? "" : "##") + std::string(word.substr(0, bytes)));
        word.remove_prefix(bytes);
    }
    return all;
}

// The characters of the words, at most `most` of them, the most frequent ones, in the order of their first
// occurrence.
static Strings frequent_characters(const WordCounts& words, int64_t most, int64_t* left_out) {
    WordCounts counts;
    for (int64_t i = 0; i < words.size(); ++i)
        for (const std::string& character : characters_of(words.word(i)))
            counts.add(character, words.count(i));
    std::vector<int64_t> order;
    for (int64_t i = 0; i < counts.size(); ++i)
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return counts.count(a) > counts.count(b); });
    const int64_t kept = std::min(most, counts.size());
    if (left_out != nullptr)
        *left_out = counts.size() - kept;
    order.resize(static_cast<std::size_t>(kept));
    std::sort(order.begin(), order.end());
    return autograd::mapped(order, [&](int64_t i) { return counts.word(i); });
}

Tokenizer learn_word_piece(std::string_view text, int64_t size, int64_t* left_out) {
    Strings pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    const std::string normal = Normalizer{{BertNormalizer{}}}(text);
    WordCounts words;
    Splitter{{BertWords{}}}(normal, true, [&](std::string_view word) { words.add(word); });
    Strings characters = frequent_characters(words, size - std::ssize(pieces), left_out);
    std::map<std::string, int32_t> places;
    for (const std::string& character : characters)
        places.emplace(character, static_cast<int32_t>(places.size()));
    std::vector<SymbolWord> known;  // words that have another character are left out
    for (int64_t i = 0; i < words.size(); ++i) {
        const Strings all = characters_of(words.word(i));
        if (std::all_of(all.begin(), all.end(), [&](const auto& c) { return places.contains(c); }))
            known.push_back(
                {autograd::mapped(all, [&](const auto& c) { return places.at(c); }), words.count(i)});
    }
    const int64_t merges = size - std::ssize(pieces) - std::ssize(characters);
    for (std::string& piece : learn_merges(std::move(characters), std::move(known), merges).symbols) {
        // Joined, "lig" and "##ht" are "lig##ht". The mark # is a word of its own: it is in no other.
        for (std::size_t at = 0; (at = piece.find("##", at + 1)) != piece.npos;)
            piece.erase(at, 2);
        pieces.push_back(piece);
    }
    FileText file = bert_text(pieces, {});
    std::vector<JsonText> added;
    for (int32_t id = 0; id < 5; ++id)
        added.push_back(
            text_of(AddedToken{.content = pieces[static_cast<std::size_t>(id)], .id = id, .special = true}));
    file.added_tokens = added;
    return Tokenizer(file.json());
}

Tokenizer learn_byte_pairs(std::string_view text, int64_t merges) {
    Merges all = learn_byte_merges(words_of({text}, {.bytes = true}), merges);
    all.symbols.emplace_back("<|endoftext|>");
    const AddedToken end = {
        .content = all.symbols.back(), .id = static_cast<int32_t>(all.symbols.size()) - 1, .special = true};
    return Tokenizer(FileText{.model = bpe_text("BPE", all.symbols, all.rules),
                              .pre_tokenizer = byte_level(),
                              .decoder = byte_level(),
                              .added_tokens = JsonText::array({text_of(end)})}
                         .json());
}

void save_tokenizer_config(const std::string& folder, const std::string& tokenizer_class, int64_t max_length,
                           const std::vector<std::pair<std::string, std::string>>& tokens) {
    Members members = {{"tokenizer_class", tokenizer_class}, {"model_max_length", max_length}};
    members.insert(members.end(), tokens.begin(), tokens.end());
    nn::checkpoint::replace_file(nn::checkpoint::in_folder(folder, "tokenizer_config.json"),
                                 {JsonText::object(members, true).text + "\n"});
}

void check_known(const Tokenizer& tokenizer, std::string_view text, const std::vector<int32_t>& ids,
                 const std::string& where, int64_t line) {
    if (std::find(ids.begin(), ids.end(), tokenizer.unknown().value_or(-1)) == ids.end())
        return;
    check_utf8(text, where, line);
    const std::vector<int32_t> own = tokenizer.encode(text, {.add_special_tokens = false});
    const Strings pieces = tokenizer.pieces(text);
    int64_t column = 1;
    for (std::size_t i = 0; i < own.size(); ++i) {
        // A text may name the unknown token itself.
        autograd::check(own[i] != tokenizer.unknown() || pieces[i] == tokenizer.piece(own[i]), where, ":",
                        line, ": character ", column, " of this line is ", quote(pieces[i]),
                        ", which is not among the ", tokenizer.size() - kFirstFreeId,
                        " that the model knows");
        ++column;
        if (pieces[i] == "\n")
            ++line, column = 1;
    }
}

}  // namespace plaingrad::models::text
