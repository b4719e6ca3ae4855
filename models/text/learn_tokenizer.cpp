#include "models/text/learn_tokenizer.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "autograd/base/list.h"
#include "models/text/tokenizer/pipeline.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::models::text {

using namespace tokenizer;  // NOLINT
using nn::checkpoint::JsonText;
using Views = std::vector<std::string_view>;

// The vocabulary: the reserved names, which no piece may have, then the pieces.
static Strings behind_reserved(const Strings& pieces) {
    Strings all = kReserved;
    std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(all), [&](const std::string& piece) {
        return std::find(all.begin(), all.begin() + kFirstFreeId, piece) == all.begin() + kFirstFreeId;
    });
    return all;
}

// <sos> before a text, but not before two.
static std::string sos_before(bool wanted) {
    return !wanted ? "null"
                   : R"({"type":"TemplateProcessing",)"
                     R"("single":[{"SpecialToken":{"id":"<sos>","type_id":0}},)"
                     R"({"Sequence":{"id":"A","type_id":0}}],)"
                     R"("pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],)"
                     R"("special_tokens":{"<sos>":{"id":"<sos>","ids":[1],"tokens":["<sos>"]}}})";
}

// ---- characters, bytes, words

Tokenizer learn_characters(const Views& texts, bool lines) {
    std::set<std::string> characters;  // ascending: in UTF-8 the order of bytes is that of code points
    for (const std::string_view text : texts)
        for (const Character& c : Characters(text))
            characters.emplace(c.bytes);
    const Strings pieces = behind_reserved({characters.begin(), characters.end()});
    const std::string options = R"("type":"BPE","unk_token":"<unk>","fuse_unk":false)";
    return Tokenizer(json_of({.model = bpe_text(options, pieces),
                              .post_processor = sos_before(lines),
                              .decoder = R"({"type":"Fuse"})"}));
}

Tokenizer bytes(bool lines) {
    const auto& of_byte = byte_alphabet().character;
    const Strings pieces = behind_reserved({of_byte.begin(), of_byte.end()});
    FileText file = byte_level_text(pieces);
    file.post_processor = sos_before(lines);
    return Tokenizer(json_of(file));
}

// The words of texts, as a tokenizer of this kind splits them.
static WordCounts words_of(const Views& texts, const Tokenizer& tokenizer) {
    WordCounts counts;
    for (const std::string_view text : texts)
        for (const std::string& word : tokenizer.words(text))
            counts.add(word);
    return counts;
}

Tokenizer learn_words(const Views& texts) {
    const auto with = [](const Strings& words) {
        const Strings pieces = behind_reserved(words);
        autograd::check(pieces.size() == words.size() + kFirstFreeId,
                        "[learn_words] no word may be <pad>, <sos>, <eos> or <unk>, which are reserved");
        return Tokenizer(json_of({.model = model_text(R"("type":"WordLevel","unk_token":"<unk>")", pieces),
                                  .pre_tokenizer = R"({"type":"WhitespaceSplit"})"}));
    };
    return with(words_of(texts, with({})).words());
}

// ---- pieces of words

static Tokenizer of_pieces(const PieceOptions& o, Strings pieces, const std::vector<MergeRule>& rules) {
    pieces = behind_reserved(pieces);
    FileText file;
    if (o.bytes) {
        pieces.emplace_back("<|endoftext|>");
        file = byte_level_text(pieces, rules);
    } else {
        const std::string joiners = R"({"type":"Joiners"})",
                          ends = R"({"type":"BPEDecoder","suffix":"</w>"})";
        file.model =
            bpe_text(R"("type":"SubwordNMT","unk_token":"<unk>","end_of_word_suffix":"</w>")", pieces, rules);
        file.pre_tokenizer =
            o.tokenized ? R"({"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":false})"
                        : joiners;
        file.decoder =
            o.tokenized ? ends : R"({"type":"Sequence","decoders":[)" + ends + "," + joiners + "]}";
    }
    if (o.lower_case)
        file.normalizer = R"({"type":"Lowercase"})";
    return Tokenizer(json_of(file), o.codes_file.empty() ? "tokenizer.json" : o.codes_file);
}

// The rules of a file, and all symbols: those that words begin with, then those that rules make.
static Merges merges_of(const PieceOptions& o, WordCounts symbols) {
    std::vector<MergeRule> rules = read_codes(o.codes, o.codes_file);
    for (const auto& [left, right] : rules)
        for (const std::string& symbol : {left, right, left + right})
            symbols.add(symbol);
    return {symbols.words(), std::move(rules)};
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

Tokenizer learn_pieces(const Views& texts, const PieceOptions& o) {
    const WordCounts words = words_of(texts, of_pieces(o, {}, {}));
    const auto characters = [&] { return learn_word_merges(words, 0).symbols; };
    const Merges merges = o.bytes           ? learn_byte_merges(words, o.merges)
                          : o.codes.empty() ? learn_word_merges(words, o.merges)
                                            : merges_of(o, WordCounts(characters()));
    if (o.bytes)
        return of_pieces(o, merges.symbols, merges.rules);
    // The vocabulary has the pieces that the texts are split into. With dropout, also those that they may be
    // split into: characters, and all that a merge can make.
    const Tokenizer all = of_pieces(o, merges.symbols, merges.rules);
    WordCounts counts = pieces_in(texts, all);
    if (o.min_count > 1) {  // what is split further, down to characters, may be frequent
        WordCounts kept(counts.words(o.min_count));
        for (const std::string& character : characters())
            kept.add(character);
        counts = pieces_in(texts, of_pieces(o, kept.words(), merges.rules));
    }
    if (o.dropout) {
        const WordCounts dropped = pieces_in(texts, all, 1);
        for (const auto& [piece, count] : dropped.all())
            counts.add(piece, count);
        for (const std::string& symbol : merges.symbols)
            counts.add(symbol);
    }
    return of_pieces(o, counts.words(o.min_count), merges.rules);
}

// ---- a classifier's features

Tokenizer learn_features(const Strings& texts, const FeatureLearning& o) {
    FileText file = {.normalizer =
                         R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"PlainSigns"},)"
                         R"({"type":"BertNormalizer","clean_text":true,)"
                         R"("handle_chinese_chars":true,"strip_accents":false,"lowercase":false}]})",
                     .pre_tokenizer = R"({"type":"BertPreTokenizer"})",
                     .post_processor = sos_before(o.first)};
    const auto with = [&](const Strings& features) {
        file.model = model_text(join(R"("type":"Features","unk_token":"<unk>","keep_case":)",
                                     o.keep_case ? "true" : "false", R"(,"max_words":)", o.max_words),
                                behind_reserved(features));
        return Tokenizer(json_of(file));
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
    for (const Character& c : Characters(word))
        all.push_back((all.empty() ? "" : "##") + std::string(c.bytes));
    return all;
}

// The characters of the words, at most `most` of them, the most frequent ones, in the order of their first
// occurrence.
static Strings frequent_characters(const WordCounts& words, int64_t most, int64_t* left_out) {
    WordCounts counts;
    for (const auto& [word, count] : words.all())
        for (const std::string& character : characters_of(word))
            counts.add(character, count);
    std::vector<std::size_t> order(counts.all().size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return counts.all()[a].second > counts.all()[b].second;
    });
    const int64_t kept = std::min<int64_t>(most, std::ssize(order));
    if (left_out != nullptr)
        *left_out = std::ssize(order) - kept;
    order.resize(static_cast<std::size_t>(kept));
    std::sort(order.begin(), order.end());
    return autograd::mapped(order, [&](std::size_t i) { return counts.all()[i].first; });
}

Tokenizer learn_word_piece(std::string_view text, int64_t size, int64_t* left_out) {
    Strings pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    FileText splits = bert_text(pieces);
    splits.added_tokens.clear();  // in this text they are words
    const WordCounts words = words_of({text}, Tokenizer(json_of(splits)));
    const Strings characters = frequent_characters(words, size - std::ssize(pieces), left_out);
    const std::set<std::string> kept(characters.begin(), characters.end());
    WordCounts known;  // words that have another character are left out
    for (const auto& [word, count] : words.all()) {
        const Strings all = characters_of(word);
        if (std::all_of(all.begin(), all.end(), [&](const auto& c) { return kept.contains(c); }))
            known.add(word, count);
    }
    const int64_t merges = size - std::ssize(pieces) - std::ssize(characters);
    for (std::string& piece : learn_merges(known, characters_of, merges, characters).symbols) {
        // Joined, "lig" and "##ht" are "lig##ht". The mark # is a word of its own: it is in no other.
        for (std::size_t at = 0; (at = piece.find("##", at + 1)) != piece.npos;)
            piece.erase(at, 2);
        pieces.push_back(piece);
    }
    return Tokenizer(json_of(bert_text(pieces)));
}

Tokenizer learn_byte_pairs(std::string_view text, int64_t merges) {
    Merges all = learn_byte_merges(words_of({text}, bytes()), merges);
    all.symbols.emplace_back("<|endoftext|>");
    const auto end = static_cast<int32_t>(all.symbols.size()) - 1;
    FileText file = byte_level_text(all.symbols, all.rules);
    file.added_tokens = {{.content = all.symbols.back(), .id = end, .special = true}};
    return Tokenizer(json_of(file));
}

void save_tokenizer_config(const std::string& folder, const std::string& tokenizer_class, int64_t max_length,
                           const std::vector<std::pair<std::string, std::string>>& tokens) {
    std::vector<JsonText::Member> members = {{"tokenizer_class", tokenizer_class},
                                             {"model_max_length", max_length}};
    members.insert(members.end(), tokens.begin(), tokens.end());
    nn::checkpoint::replace_file(nn::checkpoint::in_folder(folder, "tokenizer_config.json"),
                                 JsonText::object(members, true).text + "\n");
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
                        line, ": character ", column, " of this line is ", nn::checkpoint::quote(pieces[i]),
                        ", which is not among the ", tokenizer.size() - kFirstFreeId,
                        " that the model knows");
        ++column;
        if (pieces[i] == "\n")
            ++line, column = 1;
    }
}

}  // namespace plaingrad::models::text
