// What every kind of Tokenizer keeps, learned here or read from others, on random texts.
#include "models/text/tokenizer.h"

#include <algorithm>
#include <limits>

#include "models/text/learn_tokenizer.h"
#include "models/text/lines.h"
#include "models/text/tokenizer/steps.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"
#include "tests/dice.h"
#include "tests/folder.h"
#include "tests/models/text/tokenizers.h"

using namespace plaingrad;  // NOLINT
using models::text::kSos;
using models::text::Tokenizer;
using tests::Dice;
using tests::streamed;
using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

namespace {

std::string joined(const Strings& words, const std::string& between) {
    std::string text;
    for (const std::string& word : words)
        text.append(&word == words.data() ? "" : between).append(word);
    return text;
}

// What a text is after encoding and decoding: in a normal form that no other kind has.
using Normal = std::string (*)(const Tokenizer& tokenizer, const std::string& text);
std::string as_it_is(const Tokenizer&, const std::string& text) { return text; }
std::string its_words(const Tokenizer& t, const std::string& text) { return joined(t.words(text), " "); }
std::string one_space(const Tokenizer& t, const std::string& text) {
    const std::string lower = t.is_lower_case() ? models::text::lower_characters(text) : text;
    return joined(models::text::split_words(lower), " ");
}
std::string composed(const Tokenizer&, const std::string& text) { return models::text::nfc(text); }
std::string space_before(const Tokenizer&, const std::string& text) {
    return text.empty() || text.starts_with(' ') ? text : " " + text;
}
std::string less_one_space(const Tokenizer&, const std::string& text) {
    return text.starts_with(' ') ? text.substr(1) : text;
}
std::string no_spaces(const Tokenizer& t, const std::string& text) { return joined(t.words(text), ""); }

struct Kind {
    std::string name;
    Tokenizer tokenizer;
    Normal normal = nullptr;      // nullptr: a text does not come back
    bool is_ours = true;          // ids 0 to 3 are reserved
    bool any_bytes = false;       // also of texts that are not UTF-8
    const char* apart = nullptr;  // two texts with this between them have the ids of the one and of the other
};

const std::string kBook =
    "He said, \"It's 3.14 o'clock\" — the low lamp, the lower lamp and the lowest lamp. Größe 日本語 Ärger "
    "Жук 😀 e\u0301 low lower lowest newer newest the the the lamp lamp Lamp said said said He He";

std::vector<Kind> kinds() {
    using namespace models::text;  // NOLINT
    const std::vector<std::string_view> book = {kBook, "the end", "a <unk> b"};
    const Strings lines = {kBook, kBook, kBook, "one two"};
    std::vector<Kind> all = {
        {"characters", learn_characters(book), as_it_is, true, true, ""},
        {"characters of lines", learn_characters(book, true), as_it_is, true, true, ""},
        {"bytes", bytes(), as_it_is, true, true},
        {"bytes of lines", bytes(true), as_it_is, true, true},
        {"words", learn_words({kBook, "the end"}), its_words, true, true, " "},
        {"pieces", learn_pieces(book, {.merges = 40}), one_space},
        {"pieces, none merged", learn_pieces(book, {.merges = 0}), one_space},
        {"pieces in lower case", learn_pieces(book, {.lower_case = true, .merges = 40}), one_space},
        {"pieces, frequent", learn_pieces(book, {.merges = 40, .min_count = 3}), one_space},
        {"pieces for dropout", learn_pieces(book, {.merges = 40, .dropout = true}), one_space},
        {"pieces of tokens", learn_pieces(book, {.tokenized = true, .merges = 40}), its_words, true, true,
         " "},
        {"pieces of tokens, frequent",
         learn_pieces(book, {.tokenized = true, .lower_case = true, .merges = 40, .min_count = 3}), its_words,
         true, true, " "},
        {"pieces of bytes", learn_pieces(book, {.bytes = true, .merges = 40}), as_it_is, true, true},
        {"pieces of bytes in lower case",
         learn_pieces(book, {.bytes = true, .lower_case = true, .merges = 40}), no_spaces, true, true},
        {"features", learn_features(lines, {})},
        {"features of cases", learn_features(lines, {.max_words = 5, .keep_case = true, .first = true})},
        {"word pieces", learn_word_piece(kBook, 90), no_spaces, false},
        {"byte pairs", learn_byte_pairs(kBook, 40), as_it_is, false, true}};
    const std::pair<Normal, const char*> others[] = {
        {as_it_is, "gpt2 llama3 smollm llama2"},
        {space_before, "roberta"},
        {composed, "qwen2"},
        {less_one_space, "mistral"},
        {nullptr,
         "metaspace llama2_unknown llama2_each_unknown bert_uncased bert_cased bert_accents "
         "added_tokens"}};
    for (const auto& [normal, names] : others)
        for (const std::string& name : split_words(names))
            all.push_back({name, Tokenizer::open("tests/golden/tokenizers/" + name), normal, false,
                           normal == as_it_is || normal == less_one_space});
    return all;
}

// Words of the book, letters of many scripts, marks, emoji, signs, odd spaces, names of special ids; and any
// other character but NUL, line breaks, and what a kind writes in place of a space.
std::string random_text(Dice& dice, bool any_bytes) {
    static const Strings parts = {
        "low",    "lower",    "lamp",  "He",     "said",   "the",    "Größe",  "GRÖSSE", "Жук",  "日本語",
        "漢",     "สวัสดี",     "한국",  "مرحبا",  "नमस्ते",   "İ",      "ΑΣ",     "ß",      "ﬁ",    "e\u0301",
        "\u0301", "👍🏽", "🇩🇪",    "\u200d", "1",      "3.14",   "½",      "٣",      ".",    ",",
        "\"",     "'s",       "“",     "”",      "—",      "-",      "@@",     "##",     "[",    "<",
        " ",      " ",        " ",     "  ",     "\t",     "\u00a0", "\u3000", "ＡＢ",   "％20", "￭",
        "<pad>",  "<sos>",    "<eos>", "<unk>",  "<0x0A>", "[MASK]", "</s>",   "cats",   "a",    "b"};
    static const Strings bad = {"\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x91", "\x80"};
    std::string text;
    for (int64_t n = dice.below(12); n > 0; --n) {
        const auto any = static_cast<char32_t>(1 + dice.below(dice.one_in(2) ? 0x3000 : 0x10ffff));
        const bool taken = any == '\n' || any == '\r' || any == 0x2581 || (any >= 0xd800 && any < 0xe000);
        if (any_bytes && dice.one_in(8))
            text += dice.one_of(bad);
        else if (dice.one_in(6) && !taken)
            nn::checkpoint::append_utf8(text, any);
        else
            text += dice.one_of(parts);
    }
    return text;
}

// Calls check(kind, text, ids without special tokens) for many texts of each kind.
template <class Check>
void for_each_text(Check check) {
    static const std::vector<Kind> all = kinds();
    for (const Kind& kind : all) {
        Dice dice(autograd::Rng(7).fork(kind.name));
        for (int i = 0; i < 150; ++i) {
            const std::string text = i == 0 ? "" : i == 1 ? kBook : random_text(dice, kind.any_bytes);
            CAPTURE(kind.name, text);
            check(kind, text, kind.tokenizer.encode(text, {.add_special_tokens = false}));
        }
    }
}
template <class Check>
void for_each_kind(Check check) {
    for_each_text([&](const Kind& kind, const std::string& text, const Ids& ids) {
        if (text == kBook)
            check(kind, ids);
    });
}

Ids operator+(Ids a, const Ids& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// The text that ids stand for, where what is unknown is written as it was; spaces left out if the kind says
// so.
std::string restored(const Kind& kind, const std::string& text, const Ids& ids) {
    const std::string back = kind.tokenizer.decode(ids, {.clean_up_tokenization_spaces = false,
                                                         .invalid = models::text::InvalidUtf8::keep,
                                                         .unknown = kind.tokenizer.pieces(text)});
    return kind.name == "word pieces" ? models::text::replace_all(back, " ", "") : back;
}

}  // namespace

TEST_CASE("tokenizer: ids are below size, and their pieces what the text has", "[text][tokenizer]") {
    for_each_text([](const Kind& kind, const std::string& text, const Ids& ids) {
        const Tokenizer& t = kind.tokenizer;
        const Ids all = t.encode(text);
        CHECK(std::all_of(all.begin(), all.end(), [&](int32_t id) { return id >= 0 && id < t.size(); }));
        CHECK((ids.empty() || std::search(all.begin(), all.end(), ids.begin(), ids.end()) != all.end()));
        const Strings pieces = t.pieces(text);
        REQUIRE(pieces.size() == ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const bool unknown = ids[i] == t.unknown();
            if (!unknown || (kind.normal != nullptr && text.find("<unk>") == text.npos))
                CHECK((pieces[i] == t.piece(ids[i])) != unknown);
            // Reserved ids stand for no text.
            CHECK((!kind.is_ours || unknown || ids[i] >= models::text::kFirstFreeId));
        }
    });
    for_each_kind([](const Kind& kind, const Ids&) {
        const Tokenizer& t = kind.tokenizer;
        const Strings reserved = {"<pad>", "<sos>", "<eos>", "<unk>"};
        for (std::size_t id = 0; kind.is_ours && id < reserved.size(); ++id)
            CHECK(t.piece(static_cast<int32_t>(id)).starts_with(reserved[id]));
        const bool is_of_lines = kind.name.ends_with(" of lines") || kind.name == "features of cases";
        CHECK(t.encode("") == (is_of_lines ? Ids{kSos} : kind.is_ours ? Ids{} : t.encode_texts({""}).ids));
    });
}

TEST_CASE("tokenizer: a text comes back in its normal form", "[text][tokenizer]") {
    for_each_text([](const Kind& kind, const std::string& text, const Ids& ids) {
        const auto has = [&](const char* part) { return text.find(part) != text.npos; };
        // A text goes on behind an added token as it begins, with a space in some kinds.
        const bool has_added = has("[MASK]") || has("</s>") || has("<pad>") || has("<unk>");
        if (kind.normal != nullptr && (kind.is_ours || !has_added) && !has("</w>"))
            CHECK(restored(kind, text, ids) == kind.normal(kind.tokenizer, text));
    });
}

TEST_CASE("tokenizer: the ids of two texts are those of each", "[text][tokenizer]") {
    std::string before;
    for_each_text([&](const Kind& kind, const std::string& text, const Ids& ids) {
        const Tokenizer& t = kind.tokenizer;
        CAPTURE(before);
        const Ids first = t.encode(before, {.add_special_tokens = false});
        const auto [both, types, cut] = t.encode_texts({before, text}, {.add_special_tokens = false});
        CHECK(both == first + ids);
        CHECK(std::count(types.begin(), types.end(), 1) == (kind.name == "roberta" ? 0 : std::ssize(ids)));
        if (kind.apart != nullptr)
            CHECK(t.encode(before + kind.apart + text, {.add_special_tokens = false}) == both);
        for (const int64_t most : {1, 3}) {
            const auto part = t.encode_texts({text}, {.add_special_tokens = false, .max_length = most});
            CHECK(part.ids == Ids(ids.begin(), ids.begin() + std::min<int64_t>(most, std::ssize(ids))));
            CHECK((part.cut || std::ssize(ids) <= most));
        }
        before = text;
    });
}

TEST_CASE("tokenizer: a stream writes what decode writes, also of a text that is cut", "[text][tokenizer]") {
    for_each_text([](const Kind& kind, const std::string& text, const Ids& ids) {
        const Tokenizer& t = kind.tokenizer;
        const auto decoded = [&](const Ids& some) {
            return t.decode(some, {.clean_up_tokenization_spaces = false});
        };
        if (nn::checkpoint::find_invalid_utf8(text) == text.npos || t.is_byte_level())
            CHECK(streamed(t, ids) == decoded(ids));
        // Where bytes are cut, those of <0x00> to <0xFF> become other signs.
        for (std::size_t n = 0; t.is_byte_level() && n < ids.size(); n += 1 + n / 8) {
            const Ids part(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
            CHECK(streamed(t, part) == decoded(part));
        }
    });
}

TEST_CASE("tokenizer: dropout is a function of the rng", "[text][tokenizer]") {
    int64_t differ = 0;
    for_each_text([&](const Kind& kind, const std::string& text, const Ids& ids) {
        const Tokenizer& t = kind.tokenizer;
        const auto dropped = [&](double p, uint64_t seed) {
            return t.encode(text, {.add_special_tokens = false, .dropout = p, .rng = autograd::Rng(seed)});
        };
        CHECK(dropped(0, 1) == ids);
        CHECK(dropped(0.5, 1) == dropped(0.5, 1));
        differ += dropped(0.5, 1) != dropped(0.5, 2);
        if (kind.name.find("pieces of bytes") == 0 || kind.name == "byte pairs") {
            const Ids all = dropped(1, 1);
            CHECK(std::ssize(all) == std::ssize(t.decode(ids, {.invalid = models::text::InvalidUtf8::keep})));
            CHECK(restored(kind, text, dropped(0.5, 1)) == restored(kind, text, ids));
        } else if (kind.name == "pieces for dropout" || kind.name == "pieces, none merged") {
            int64_t characters = 0;
            for (const std::string& word : t.words(text))
                characters += static_cast<int64_t>(nn::checkpoint::columns_of(word));
            CHECK(std::ssize(dropped(1, 1)) == characters);
        } else if (kind.name == "features") {
            for (const int32_t id : dropped(1, 1))
                CHECK((id == t.unknown() || t.piece(id).starts_with("<")));
        } else if (kind.name == "words" || kind.name == "word pieces" || kind.name.starts_with("bert")) {
            CHECK(dropped(1, 1) == ids);
        }
    });
    CHECK(differ > 200);
}

TEST_CASE("tokenizer: saved and opened, it is the same", "[text][tokenizer]") {
    const tests::Folder folder;
    std::string name;
    std::optional<Tokenizer> opened;
    for_each_text([&](const Kind& kind, const std::string& text, const Ids& ids) {
        if (name != kind.name) {
            kind.tokenizer.save(folder.path);
            CHECK(tests::content(folder / "tokenizer.json") == kind.tokenizer.json());
            opened = Tokenizer::open(folder.path);
            CHECK(opened->json() == kind.tokenizer.json());
            CHECK(opened->size() == kind.tokenizer.size());
            CHECK(opened->unknown() == kind.tokenizer.unknown());
        }
        name = kind.name;
        CHECK(opened->encode(text, {.add_special_tokens = false}) == ids);
    });
    CHECK(folder.files() == 1);
}

TEST_CASE("tokenizer: what is out of range is an error", "[text][tokenizer]") {
    for_each_kind([](const Kind& kind, const Ids& ids) {
        const Tokenizer& t = kind.tokenizer;
        for (const int32_t id : {-1, static_cast<int32_t>(t.size()), std::numeric_limits<int32_t>::max()}) {
            const std::string wanted = "[Tokenizer] id " + std::to_string(id) +
                                       " is outside the vocabulary of " + std::to_string(t.size());
            CHECK_THROWS_WITH(t.decode({ids[0], id}), wanted);
            CHECK_THROWS_WITH(t.piece(id), wanted);
            Tokenizer::Stream stream(t, false);
            std::string text = stream.add(ids[0]);
            CHECK_THROWS_WITH(stream.add(id), wanted);
            for (std::size_t i = 1; i < ids.size(); ++i)
                text += stream.add(ids[i]);  // the wrong id is forgotten
            CHECK(text + stream.finish() == streamed(t, ids));
        }
        for (const double wrong : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
            CHECK_THROWS_WITH(
                t.encode("", {.dropout = wrong}),
                tests::beginning("[Tokenizer] dropout must be a probability, from 0 to 1: got "));
        CHECK_THROWS_AS(t.encode_texts({}), autograd::Error);
        CHECK_THROWS_AS(t.encode_texts({"a", "a", "a"}), autograd::Error);
    });
}
