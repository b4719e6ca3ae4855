// BLEU. The numbers are sacreBLEU's (2.6.0, and from its own tests) unless stated otherwise.
#include "models/text/bleu.h"

#include <cmath>

#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using Lines = std::vector<std::string>;

namespace {

std::string words(const std::string& text) {
    std::string all;
    for (const std::string& word : tokenize_13a(text))
        all += all.empty() ? word : " " + word;
    return all;
}

Approx near(double value) { return Approx(value).epsilon(1e-12); }

const Lines kHypotheses = {"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."};
const Lines kReferences = {"The dog had bit the man.", "No one was surprised.",
                           "The man had bitten the dog."};

}  // namespace

TEST_CASE("13a splits a line as mteval-v13a does", "[text][bleu]") {
    const std::pair<const char*, const char*> table[] = {
        {"Hello, world! It's 3.14, or 1,000.50 (approx.) - 5-6 a-b 7-x &quot;q&quot; &amp; <b> €5.",
         "Hello , world ! It's 3.14 , or 1,000.50 ( approx . ) - 5 - 6 a-b 7 - x \" q \" & < b > €5 ."},
        {"A.B.C. 1.a a.1 ,5 5, --- '90s don't", "A . B . C . 1 . a a . 1 , 5 5 , --- '90s don't"},
        {"«Bonjour» — c’est l’été; 50%@x.com/y_z^w`~",
         "«Bonjour» — c’est l’été ; 50 % @ x . com / y _ z ^ w ` ~"},
        {"-5 a1-2b <skipped>x &lt;i&gt; &apos;", "-5 a1 - 2b x < i > & apos ;"},
        {"!\"#$%&'()*+,-./0:;<=>?@A[\\]^_`a{|}~",
         "! \" # $ % & ' ( ) * + , - . / 0 : ; < = > ? @ A [ \\ ] ^ _ ` a { | } ~"},
        {"&amp;lt; &amp;quot;", "< & quot ;"},            // one after the other, each once
        {"hyphen-\nated, a\nb-\n", "hyphenated , a b-"},  // line ends are treated first
        {"a..b ...", "a . . b . . ."},
        // Unicode's white space, and Python's; U+200B is none.
        {" \t a\u00a0b\u3000c\u0085d\x1cz\x1fy\u200bg  ", "a b c d z y\u200bg"},
        {"", ""},
        {" \u00a0\n", ""},
        {"\xff. \xc3", "\xff . \xc3"}};  // bytes that are not UTF-8 are words, too
    for (const auto& [line, tokens] : table)
        CHECK(words(line) == tokens);
}

TEST_CASE("BLEU of sacreBLEU's example", "[text][bleu]") {
    const BleuScore score = bleu(kHypotheses, kReferences);
    CHECK(score.score == near(28.330553664429278));
    CHECK(score.matches == std::array<int64_t, 4>{12, 6, 3, 1});
    CHECK(score.totals == std::array<int64_t, 4>{17, 14, 11, 8});
    CHECK(score.bp == near(0.8890097654027757));
    CHECK(to_string(score) ==
          "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = "
          "28.3 70.6/42.9/27.3/12.5 (BP = 0.889 ratio = 0.895 hyp_len = 17 ref_len = 19)");

    const Lines others = {"The dog bit the man.", "It was not unexpected.", "The man bit him first."};
    CHECK(bleu(kHypotheses, others).score == near(45.06750632106114));
    const BleuScore tokens = bleu(kHypotheses, others, {.tokenized = true});
    CHECK(tokens.score == near(44.428088917702794));
    CHECK(tokens.matches == std::array<int64_t, 4>{8, 5, 3, 2});
    CHECK(tokens.totals == std::array<int64_t, 4>{14, 11, 8, 5});

    CHECK(bleu(kReferences, kReferences).score == near(100));
    CHECK(bleu({"", "", ""}, kReferences).score == 0);
    CHECK(bleu({"", "", ""}, kReferences).bp == 0);
    CHECK(bleu({}, {}).score == 0);
    CHECK_THROWS_WITH(bleu({"a", "b"}, {"a"}),
                      "[bleu] each translation needs its reference: got 2 translations and 1 references");
}

TEST_CASE("BLEU of one sentence: smoothed, clipped, too short, in lower case", "[text][bleu]") {
    struct Row {
        const char *hypothesis, *reference;
        double score;
        BleuOptions options = {};
    };
    const char* const long_one = "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;";
    const char *const brut = "producţia de zahăr brut se exprimă în zahăr alb;",
                      *const upper = "ÄRGER ÜBER ΚΑΙ ЖУК ist gross",
                      *const mixed = "Ärger über και жук ist groß";
    const Row table[] = {
        {long_one, brut, 8.493098745313148},
        {long_one, brut, 0, {.tokenized = true}},  // tokens are not smoothed
        {"this is a cat", "okay thanks", 0},       // nothing to smooth
        {"this is a cat", "okay thanks", 0, {.tokenized = true}},
        {"a b c d e", "", 0},
        {"the cat", "the cat is on the mat", 0},  // too short for 4-grams
        {"the cat sat on a mat today", "the cat is on the mat", 15.619699684601283},
        {upper, mixed, 75.98356856515926, {.lower_case = true}},
        // 16.0 and 66.9 with simple mappings.
        {"Ο ΔΡΟΜΟΣ ΤΗΣ ΠΟΛΗΣ", "ο δρομος της πολης", 100, {.lower_case = true}},
        {"İSTANBUL ne güzel bir şehir", "i̇stanbul ne güzel bir şehir", 100, {.lower_case = true}}};
    for (const auto& [hypothesis, reference, score, options] : table) {
        CAPTURE(hypothesis);
        CHECK(bleu({hypothesis}, {reference}, options).score == near(score));
    }
    const BleuScore cat = bleu({"the cat sat on a mat today"}, {"the cat is on the mat"});
    for (std::size_t n = 0; n < 4; ++n)
        CHECK(cat.precisions[n] == near(std::array{100 * 4 / 7.0, 100 / 6.0, 10.0, 6.25}[n]));
    CHECK(bleu({upper}, {mixed}).matches[0] == 1);
    CHECK(to_string(bleu({"the cat"}, {"the cat is on the mat"}))
              .ends_with(" = 0.0 100.0/100.0/0.0/0.0 (BP = 0.135 ratio = 0.333 hyp_len = 2 ref_len = 6)"));
    // An n-gram counts as often as its reference has it.
    CHECK(bleu({"a a a a"}, {"a c a a"}).matches == std::array<int64_t, 4>{3, 1, 0, 0});
}

TEST_CASE("BLEU from counts", "[text][bleu]") {
    const BleuScore score =
        bleu_from_counts({.matches = {9, 7, 5, 3}, .totals = {10, 8, 6, 4}, .hyp_len = 11, .ref_len = 11});
    CHECK(score.score == Approx(83.75922397).epsilon(1e-9));
    // A translation of Multi30k's test set; the line is multi-bleu.perl's.
    const BleuScore moses = bleu_from_counts({.matches = {8395, 5093, 3293, 2115},
                                              .totals = {11936, 10936, 9936, 8936},
                                              .hyp_len = 11936,
                                              .ref_len = 12103},
                                             {.tokenized = true});
    CHECK(moses.score == near(39.480238486781744));
    CHECK(to_string(moses, {.tokenized = true}) ==
          "BLEU4 = 39.48, 70.3/46.6/33.1/23.7 (BP=0.986, ratio=0.986, syslen=11936, reflen=12103)");
    CHECK(to_string(bleu_from_counts(BleuScore{}), {.lower_case = true}) ==
          "BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0 = "
          "0.0 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)");
}
