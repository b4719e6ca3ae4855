// Tokenizers that are learned here: their vocabularies and ids, which saved models rely on. Recorded, or
// worked out by hand; pieces of words are subword-nmt's.
#include "models/text/learn_tokenizer.h"

#include <algorithm>
#include <cmath>

#include "models/text/tokenizer/pipeline.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"

using namespace plaingrad;     // NOLINT
using namespace models::text;  // NOLINT
using autograd::Rng;
using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

namespace {

// What a tokenizer has behind its reserved ids.
Strings learned(const Tokenizer& t, int32_t first = kFirstFreeId) {
    Strings all;
    for (int32_t id = first; id < t.size(); ++id)
        all.push_back(t.piece(id));
    return all;
}

Strings names(const Tokenizer& t, const std::string& text, const EncodeOptions& options = {}) {
    Strings all;
    for (const int32_t id : t.encode(text, options))
        all.push_back(t.piece(id));
    return all;
}

// "ir" is written "ir@@", and "on</w>" "on".
std::string written(const Strings& pieces) {
    std::string line;
    for (const std::string& piece : pieces) {
        const bool ends = piece.ends_with("</w>");
        line += (line.empty() ? "" : " ") + (ends ? piece.substr(0, piece.size() - 4) : piece + "@@");
    }
    return line;
}

// Codes applied to text in tokens, with all pieces that they make; or only with these, separated by spaces,
// "x@@" or "x", and with all letters.
Tokenizer with_codes(const std::string& codes, const std::string& vocabulary = "") {
    const auto rules = tokenizer::read_codes("#version: 0.2\n" + codes, "codes");
    Strings pieces = {"<pad>", "<sos>", "<eos>", "<unk>"};
    const auto add = [&](const std::string& piece) {
        if (std::find(pieces.begin(), pieces.end(), piece) == pieces.end())
            pieces.push_back(piece);
    };
    for (const auto& [left, right] : rules)
        if (vocabulary.empty())
            add(left + right);
    for (const std::string& piece : split_words(vocabulary))
        add(piece.ends_with("@@") ? piece.substr(0, piece.size() - 2) : piece + "</w>");
    for (char letter = 'a'; letter <= 'z'; ++letter) {
        add({letter});
        add(std::string{letter} + "</w>");
    }
    const std::string options = R"("type":"SubwordNMT","unk_token":"<unk>","end_of_word_suffix":"</w>")";
    return Tokenizer(tokenizer::json_of({.model = tokenizer::bpe_text(options, pieces, rules),
                                         .pre_tokenizer = R"({"type":"WhitespaceSplit"})",
                                         .decoder = R"({"type":"BPEDecoder","suffix":"</w>"})"}));
}
std::string dropped(const Tokenizer& t, const std::string& line, double p, const Rng& rng) {
    return written(names(t, line, {.dropout = p, .rng = rng}));
}

// How often a word is split like this, in 10,000 calls with dropout.
double share(const Tokenizer& t, const std::string& word, double p, const std::string& pieces) {
    int count = 0;
    for (uint64_t i = 0; i < 10000; ++i)
        count += dropped(t, word, p, Rng(3).fork(i)) == pieces;
    return count / 10000.0;
}

const Strings kLow = {"low low lower", "newest newest", "lower low", "newest widest", "low", "widest x"};
const std::vector<std::string_view> kLowViews(kLow.begin(), kLow.end());

}  // namespace

TEST_CASE("learned characters have ids in the order of their code points, and bytes from 4 on",
          "[text][tokenizer]") {
    // One of each length in UTF-8, the first and the last of some: U+007F, U+0080, U+07FF, U+0800, U+FFFF,
    // U+10FFFF.
    const std::string text =
        "b\xf4\x8f\xbf\xbf"
        "a\xef\xbf\xbf\xe0\xa0\x80\xdf\xbf\xc2\x80\x7f"
        "a\n";
    const Tokenizer t = learn_characters({text}), all = bytes();
    CHECK(t.size() == 4 + 9);
    CHECK(t.encode(text) == Ids{6, 12, 5, 11, 10, 9, 8, 7, 5, 4});
    CHECK(t.encode("cac") == Ids{kUnk, 5, kUnk});
    CHECK(learn_characters({"ca", "ba"}, true).encode("abc") == Ids{kSos, 4, 5, 6});
    CHECK((all.size() == 260 && !all.unknown().has_value()));
    for (int32_t b = 0; b < 256; ++b)
        CHECK(all.encode(std::string(1, static_cast<char>(b))) == Ids{4 + b});
    CHECK(bytes(true).encode("\n") == Ids{kSos, 14});
    CHECK(all.decode({kPad, kSos, kEos}, {.skip_special_tokens = true}) ==
          "<pad><sos><eos>");  // names, not special
}

TEST_CASE("learned: an error names the first one that is unknown, and its place", "[text][tokenizer]") {
    const Tokenizer letters = learn_characters({"ab\nä"}), pieces = learn_word_piece("a b a b", 8);
    const auto told = [](const Tokenizer& t, const std::string& text, int64_t line = 1) {
        check_known(t, text, t.encode(text), "file", line);
    };
    told(letters, "ab\nä");
    CHECK_THROWS_WITH(told(letters, "ab\nbäöa"),
                      "file:2: character 3 of this line is \"ö\", which is not among the 4 "
                      "that the model knows");
    CHECK_THROWS_WITH(told(letters, "ab\na\xff"),
                      tests::beginning("file:2: byte 2 of this line is not UTF-8"));
    CHECK_THROWS_WITH(told(letters, "ac", 7), tests::beginning("file:7: character 2 of this line is \"c\""));
    told(pieces, "a b [UNK] b");  // which the text names
    CHECK_THROWS_WITH(told(pieces, "a b\nax"), tests::containing("character 3 of this line is \"ax\""));
}

TEST_CASE("learned words have ids in the order of their first occurrence", "[text][tokenizer]") {
    const Tokenizer t = learn_words({"le chat est", "", " noir\u00a0le"});
    CHECK(learned(t) == Strings{"le", "chat", "est", "noir"});
    CHECK(t.encode(" est\tle  chat ") == Ids{6, 4, 5});
    CHECK(t.encode("Le chien noir") == Ids{kUnk, kUnk, 7});
    CHECK(t.encode("<pad> <sos> <eos> <unk>") == Ids{kUnk, kUnk, kUnk, kUnk});
    CHECK(t.decode({6, 4, kUnk, kEos}) == "est le <unk> <eos>");
    CHECK_THROWS_WITH(learn_words({"a <eos>"}),
                      tests::containing("no word may be <pad>, <sos>, <eos> or <unk>"));
}

TEST_CASE("learned pieces have ids in the order of their first occurrence; rare ones are split, or unknown",
          "[text][tokenizer]") {
    const Tokenizer t = learn_pieces(kLowViews, {.merges = 5}), all = learn_pieces(kLowViews, {.merges = 50}),
                    some = learn_pieces(kLowViews, {.merges = 50, .min_count = 3});
    CHECK(learned(t) ==
          Strings{"low</w>", "lo", "we", "r</w>", "n", "e", "west</w>", "w", "i", "d", "st</w>", "x</w>"});
    CHECK(learned(all) == Strings{"low</w>", "lower</w>", "newest</w>", "widest</w>", "x</w>"});
    CHECK(PieceOptions().merges == 8000);
    CHECK(some.pieces("newest") == Strings{"newest</w>"});
    CHECK(some.pieces("widest").size() > 1);  // it occurs twice
    CHECK(some.encode("x") == Ids{kUnk});
    CHECK(some.decode({kUnk, kUnk}, {.unknown = {"q", "r</w>"}}) == "qr");
    CHECK(some.decode({kUnk}) == "<unk>");
    // What merges make is no reserved name.
    const std::string text = "<pad>x <pad>x <pad>y <pad>y";
    const Tokenizer odd = learn_pieces({text}, {.tokenized = true, .merges = 4});
    for (const int32_t id : odd.encode(text))
        CHECK(id >= kFirstFreeId);
    CHECK(odd.decode(odd.encode(text)) == text);
}

// GPT-2's file of merges begins so; in its vocabulary " t" is 256, "in" 259 and " the" 262.
TEST_CASE("byte pairs have GPT-2's ids; pieces of bytes stand between the reserved ids and an end of texts",
          "[text][tokenizer]") {
    const Tokenizer none = learn_byte_pairs("", 10);
    CHECK(none.size() == 257);
    CHECK(none.encode("!\n ~0") == Ids{0, 198, 220, 93, 15});
    CHECK(none.encode("\xa1\xac\xae\xff") == Ids{94, 105, 106, 187});
    CHECK(none.encode(std::string("\0\x7f\xa0\xad", 4)) == Ids{188, 221, 254, 255});
    CHECK(none.encode("a<|endoftext|>") == Ids{64, 256});
    const Tokenizer some = learn_byte_pairs("ab ab ab ab", 10);
    CHECK(learned(some, 256) == Strings{"ab", "Ġab", "<|endoftext|>"});
    CHECK(some.encode("ab abab  ab") == Ids{256, 257, 256, 220, 257});
    CHECK(learned(learn_byte_pairs("ab ab ab ab", 1), 256) == Strings{"ab", "<|endoftext|>"});
    const Tokenizer ours = learn_pieces({"ab ab ab ab"}, {.bytes = true, .merges = 10});
    CHECK(learned(ours, kFirstFreeId + 256) == Strings{"ab", "Ġab", "<|endoftext|>"});
    CHECK(ours.encode("ab abab  ab") == Ids{260, 261, 260, 224, 261});
    CHECK(ours.encode("!\n ~0") == Ids{4, 202, 224, 97, 19});
    CHECK(ours.encode("<|endoftext|>").size() == 13);  // no text has it
}

TEST_CASE("learned pieces: lower case, tokens, or a text as it is", "[text][tokenizer]") {
    for (const PieceOptions& options :
         {PieceOptions{.merges = 5}, PieceOptions{.tokenized = true, .merges = 5},
          PieceOptions{.bytes = true, .merges = 5}}) {
        PieceOptions lower = options;
        lower.lower_case = true;
        const Tokenizer a = learn_pieces(kLowViews, lower), b = learn_pieces(kLowViews, options);
        CHECK(a.encode("Low LOWER") == a.encode("low lower"));
        CHECK(a.decode(a.encode("Low LOWER")) == "low lower");
        CHECK(b.encode("Low LOWER") != b.encode("low lower"));
        CHECK((a.is_lower_case() && !b.is_lower_case()));
        CHECK(b.is_byte_level() == options.bytes);
        CHECK(b.is_tokenized() == options.tokenized);
    }
    const Tokenizer raw = learn_pieces({"He said: low, low"}, {.merges = 20});
    CHECK(raw.words("He  said: low") == Strings{"He", "said", "￭:", "low"});
    // Text in tokens is split at spaces alone, as by learn-bpe and subword-nmt: U+00A0, two spaces, a tab.
    const std::string text = "a\u00a0b  c d\te";
    const Tokenizer tokens = learn_pieces({text, ""}, {.tokenized = true, .merges = 0});
    CHECK(tokens.words(text) == Strings{"a\u00a0b", "c", "d\te"});
    CHECK(tokens.decode(tokens.encode(text)) == "a\u00a0b c d\te");
    CHECK(tokens.words("").empty());
}

TEST_CASE("word pieces: special ones, characters, joined pairs, and no more than asked for",
          "[text][tokenizer]") {
    int64_t left_out = -1;
    const Tokenizer t = learn_word_piece("light, Light night", 16, &left_out);
    CHECK(left_out == 0);
    CHECK(learned(t, 0) == Strings{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "l", "##i", "##g", "##h",
                                   "##t", ",", "n", "##ig", "##igh", "##ight", "light"});
    CHECK(t.encode("LIGHT night") == Ids{2, 15, 11, 14, 3});
    CHECK(t.encode("light x [MASK]", {.add_special_tokens = false}) == Ids{15, 1, 4});
    CHECK(learned(learn_word_piece("light, Light night", 8, &left_out), 5) == Strings{"##i", "##g", "##h"});
    CHECK(left_out == 4);
    for (const int64_t size : {11, 12}) {  // 12: all characters, and no pair
        CHECK(learn_word_piece("light, Light night", size, &left_out).size() == size);
        CHECK(left_out == 12 - size);
    }
    CHECK(learned(learn_word_piece("né né 日本 #a##b", 100), 5) ==
          Strings{"n", "##e", "日", "本", "#", "a", "b", "ne"});
    CHECK(learn_word_piece("\x01", 8).size() == 5);  // a control character, which the normalizer takes out
}

// ---- codes as subword-nmt applies them

TEST_CASE("codes: pieces are subword-nmt's", "[text][tokenizer]") {
    struct Row {
        std::string codes, line, pieces, vocabulary = "";
    };
    const std::string iron = "i r\no n</w>\no n\ne m\nem e\neme n\nemen t</w>\n",
                      some = "ir@@ on c@@ em@@ ement";
    const Row table[] = {
        {iron, "  iron cement  \n", "ir@@ on c@@ ement"},
        {iron, "", ""},
        {iron, "iron   iron", "ir@@ on ir@@ on"},
        {iron, "i n é 日", "i n é 日"},
        {iron, "né日", "n@@ é@@ 日"},
        {iron, "i\xff\xc3", "i@@ \xff@@ \xc3"},  // not UTF-8: a byte is a character
        {iron, "on</w>", "on@@ <@@ /@@ w@@ >"},
        {"", "iron é", "i@@ r@@ o@@ n é"},
        {"a a\n", "aaaa", "aa@@ a@@ a"},  // the last one is a</w>
        {"b c</w>\na b\n", "abc", "a@@ bc"},
        {"a b\nb c</w>\n", "abc", "ab@@ c"},
        {"a b\nb c</w>\na b\n", "abc", "ab@@ c"},  // of two rules for one pair the first counts
        // Pieces that the vocabulary lacks are split again.
        {iron, "iron cement", "ir@@ on c@@ ement", some},
        {iron, "on ir onc", "on i@@ r o@@ n@@ c", some},  // on@@, and ir at a word's end, are not in it
        {iron, "cement", "c@@ em@@ e@@ n@@ t", "ir@@ c@@ em@@"},  // ement</w>, emen@@, eme@@, em@@
        {iron, "iron cement", "ir@@ o@@ n c@@ e@@ m@@ e@@ n@@ t", "ir@@ c@@"},
        {iron, "iron on", "i@@ r@@ o@@ n o@@ n", "x"},  // no piece is allowed, but characters remain
        // A symbol is split by the first rule that makes it, also where a rule uses it before it is made.
        {"a b\nb c\nab c\na bc\nabc d</w>\n", "abcd", "a@@ b@@ c@@ d", "bc@@"},
        {"ab c</w>\na b\n", "abc abd", "abc a@@ b@@ d", "abc"},
        // A rule of others may join parts of the mark "</w>", which belong to no piece.
        {"a b</w>\nb< /w>\n", "ab b", "a@@ b b", "x"}};
    for (const auto& [codes, line, pieces, vocabulary] : table) {
        CAPTURE(codes, line);
        CHECK(written(with_codes(codes, vocabulary).pieces(line)) == pieces);
    }
}

TEST_CASE("codes: dropout skips rules at its rate", "[text][tokenizer]") {
    const Tokenizer t = with_codes("a b\nab c</w>\nb c</w>\n");
    CHECK(dropped(t, "abc bc ab", 0, Rng(1)) == "abc bc a@@ b");
    CHECK(dropped(t, " abc bc ", 1, Rng(1)) == "a@@ b@@ c b@@ c");
    // With 0.3, abc is whole if neither of the two rules is left out, each in its own round; 5 deviations.
    const double p = 0.3, tolerance = 5 * 0.5 / 100;
    const std::tuple<std::string, std::string, double> table[] = {{"bc", "bc", 0.7},
                                                                  {"abc", "abc", 0.7 * 0.7},
                                                                  {"abc", "ab@@ c", 0.7 * 0.3},
                                                                  {"abc", "a@@ bc", 0.3 * 0.7},
                                                                  {"abc", "a@@ b@@ c", 0.3 * 0.3}};
    for (const auto& [word, pieces, expected] : table)
        CHECK(std::abs(share(t, word, p, pieces) - expected) <= tolerance);
    // Each place is drawn separately: a rule can be skipped at one of two places.
    CHECK(std::abs(share(with_codes("a b\n"), "abxabx", p, "ab@@ x@@ a@@ b@@ x") - 0.7 * 0.3 * 0.3) <=
          tolerance);
    // Recorded: every platform and compiler must give it.
    const Tokenizer iron = with_codes("i r\no n</w>\no n\ne m\nem e\neme n\nemen t</w>\n");
    CHECK(dropped(iron, "iron iron cement iron cement on iron", 0.3, Rng(42)) ==
          "ir@@ on ir@@ o@@ n c@@ ement ir@@ on c@@ ement on ir@@ on");
}

// ---- a classifier's features

TEST_CASE("features: a word is itself, its look and its beginning; then come the pairs",
          "[text][tokenizer]") {
    const std::string text = "Who founded Oslo 1048?";
    const Tokenizer t = learn_features({text, text, text}, {}),
                    two = learn_features({text, text, text}, {.max_words = 2});
    CHECK(names(t, text) == Strings{"who", "<^-who>", "<who->", "founded", "<-ded>", "<foun->", "oslo",
                                    "<^-slo>", "<oslo->", "1048", "<0000>", "<1048->", "?", "<-?>", "<?->",
                                    "who founded", "founded oslo", "oslo 1048", "1048 ?"});
    CHECK(t.pieces(text) == names(t, text));
    CHECK(learned(learn_features({"b a", "b a", "c", ""}, {.pairs = 2})) ==
          Strings{"a", "b", "<-a>", "<-b>", "<a->", "<b->", "b a"});  // c occurs once
    CHECK(names(t, "xyz") == Strings{"<unk>"});  // the look of a word that was never seen
    CHECK(names(learn_features({text, text}, {.keep_case = true, .first = true}), "Who") ==
          Strings{"<sos>", "Who", "<^-who>", "<who->"});
    CHECK(names(two, text) ==
          Strings{"who", "<^-who>", "<who->", "founded", "<-ded>", "<foun->", "who founded"});
    CHECK((two.max_words() == 2 && two.encode_texts({text}).cut && !two.encode_texts({"Who ?"}).cut));
    // A letter of several bytes is one letter.
    for (const Strings& all : {Strings{"é", "<-é>", "<é->"},
                               {"né", "<-né>", "<né->"},
                               {"été", "<-été>", "<été->"},
                               {"élevé", "<-evé>", "<élev->"},
                               {"déjàvu", "<-àvu>", "<déjà->"},
                               {"жук", "<-жук>", "<жук->"}})
        CHECK(names(learn_features({all[0], all[0]}, {}), all[0]) == all);
}

TEST_CASE("features: each word and each pair is left out by a number of its own", "[text][tokenizer]") {
    const std::string text = "one two one";
    const Tokenizer t = learn_features({text, text, text}, {});
    for (uint64_t seed = 0; seed < 40; ++seed) {
        const Rng rng(seed);
        std::size_t draws = 0;
        Strings wanted;
        const auto add = [&](const std::string& name) {
            if (rng.uniform(draws++) >= 0.5)
                wanted.push_back(name);
        };
        for (const std::string word : {"one", "two", "one"}) {
            add(word);
            wanted.insert(wanted.end(), {"<-" + word + ">", "<" + word + "->"});  // always there
        }
        add("one two");
        add("two one");
        CHECK(names(t, text, {.dropout = 0.5, .rng = rng}) == wanted);
    }
}

TEST_CASE("features: a text is read as its plain twin", "[text][tokenizer]") {
    const Strings texts = {"we tomorrow describe orchestra in school - \"we\" don't ... 3-4 % ( a ! )",
                           "größe école"};
    Strings often;
    for (const std::string& text : texts)
        often.insert(often.end(), 3, text);
    const Tokenizer t = learn_features(often, {});
    const std::pair<const char*, const char*> same[] = {
        {"“we” “tomorrow” describe", "\"we\" \"tomorrow\" describe"},
        {"«we» „tomorrow‟ describe", "\"we\" \"tomorrow\" describe"},
        {"don’t ‘we’", "don't 'we'"},
        {"we\u00a0tomorrow\u202fdescribe\u3000orchestra\u2009in", "we tomorrow describe orchestra in"},
        {"we—tomorrow–describe‐orchestra−in", "we-tomorrow-describe-orchestra-in"},
        {"we — tomorrow", "we - tomorrow"},
        {"we … school", "we ... school"},
        {"ｗｅ ｔｏｍｏｒｒｏｗ　ｄｅｓｃｒｉｂｅ（ａ！）３-４％", "we tomorrow describe(a!)3-4%"},
        {"gro\u0308ße e\u0301cole", "größe école"},
        {"we\u200b\ufeff tomorrow", "we tomorrow"}};
    for (const auto& [text, plain] : same) {
        CAPTURE(text);
        CHECK(t.encode(text) == t.encode(plain));
        CHECK(t.encode(plain) != t.encode(""));
    }
    // A capital is told from a small letter, but the word is the same.
    const std::pair<std::string, std::string> cases[] = {{"WE", "we"},       {"ΣΟΦΟ", "σοφο"},
                                                         {"ΑΝΤΡΑ", "αντρα"}, {"МОЁ", "моё"},
                                                         {"ÉCOLE", "école"}, {"ＷＥ", "we"}};
    for (const auto& [upper, lower] : cases) {
        const Tokenizer one = learn_features({lower, lower, upper, upper}, {});
        const Strings a = names(one, upper), b = names(one, lower);
        CAPTURE(upper);
        REQUIRE(b.size() == 3);
        CHECK(a == Strings{b[0], "<^" + b[1].substr(1), b[2]});
    }
}

TEST_CASE("features: where there are no spaces, each character is a word", "[text][tokenizer]") {
    const Tokenizer t = learn_features({"x"}, {});
    const std::pair<std::string, const char*> table[] = {
        {"大家都想知道关于音乐的消息", "大 家 都 想 知 道 关 于 音 乐 的 消 息"},
        {"天气。音乐", "天 气 。 音 乐"},
        {"ひらがなカタカナ漢字", "ひ ら が な カ タ カ ナ 漢 字"},
        {"ไทย x", "ไ ท ย x"},
        {"ລາວ", "ລ າ ວ"},
        {"မြန်", "မ ြ န ်"},
        {"ខ្មែរ", "ខ ្ ម ែ រ"},
        {"a天b", "a 天 b"},
        {"한국 음악", "한국 음악"},  // written with spaces
        {"“we”—tomorrow", "\" we \" - tomorrow"},
        {"", ""}};
    for (const auto& [text, words] : table) {
        CAPTURE(text);
        CHECK(t.words(text) == split_words(words));
    }
    const Tokenizer spaced = learn_features({"大家都 音乐", "大家都 音乐"}, {});
    CHECK(spaced.encode("大家都音乐") == spaced.encode("大家都 音乐"));
    CHECK(spaced.encode("音乐") != Ids{kUnk, kUnk});
}
