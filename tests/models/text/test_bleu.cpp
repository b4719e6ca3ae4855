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

double sentence(const std::string& hypothesis, const std::string& reference,
                const BleuOptions& options = {}) {
    return bleu({hypothesis}, {reference}, options).score;
}

}  // namespace

TEST_CASE("13a splits a line as mteval-v13a does", "[text][bleu]") {
    CHECK(words("Hello, world! It's 3.14, or 1,000.50 (approx.) - 5-6 a-b 7-x &quot;q&quot; &amp; <b> €5.") ==
          "Hello , world ! It's 3.14 , or 1,000.50 ( approx . ) - 5 - 6 a-b 7 - x \" q \" & < b > €5 .");
    CHECK(words("A.B.C. 1.a a.1 ,5 5, --- '90s don't") == "A . B . C . 1 . a a . 1 , 5 5 , --- '90s don't");
    CHECK(words("«Bonjour» — c’est l’été; 50%@x.com/y_z^w`~") ==
          "«Bonjour» — c’est l’été ; 50 % @ x . com / y _ z ^ w ` ~");
    CHECK(words("-5 a1-2b <skipped>x &lt;i&gt; &apos;") == "-5 a1 - 2b x < i > & apos ;");
    CHECK(words("!\"#$%&'()*+,-./0:;<=>?@A[\\]^_`a{|}~") ==
          "! \" # $ % & ' ( ) * + , - . / 0 : ; < = > ? @ A [ \\ ] ^ _ ` a { | } ~");
    CHECK(words("&amp;lt; &amp;quot;") == "< & quot ;");            // one after the other, each once
    CHECK(words("hyphen-\nated, a\nb-\n") == "hyphenated , a b-");  // line ends are treated first
    CHECK(words("a..b ...") == "a . . b . . .");
}

TEST_CASE("13a separates at Unicode's white space, and at Python's", "[text][bleu]") {
    CHECK(words(" \t a\xc2\xa0"
                "b\xe3\x80\x80"
                "c\xc2\x85"
                "d\x1c"
                "e\x1f"
                "f\xe2\x80\x8bg  ") == "a b c d e f\xe2\x80\x8bg");  // U+200B is not white space
    CHECK(words("").empty());
    CHECK(words(" \xc2\xa0\n").empty());
    CHECK(words("\xff. \xc3") == "\xff . \xc3");  // bytes that are not UTF-8 are words, too
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
    CHECK(bleu({"a b c d e"}, {""}).score == 0);
}

TEST_CASE("BLEU smoothes orders without a match", "[text][bleu]") {
    const std::string hypothesis =
        "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;";
    const std::string reference = "producţia de zahăr brut se exprimă în zahăr alb;";
    CHECK(sentence(hypothesis, reference) == near(8.493098745313148));
    CHECK(sentence(hypothesis, reference, {.tokenized = true}) == 0);  // and not those of tokens
    for (const bool tokenized : {true, false})                         // nothing to smooth
        CHECK(sentence("this is a cat", "okay thanks", {.tokenized = tokenized}) == 0);

    const BleuScore cat = bleu({"the cat sat on a mat today"}, {"the cat is on the mat"});
    CHECK(cat.score == near(15.619699684601283));
    CHECK(cat.precisions[0] == near(100 * 4 / 7.0));
    CHECK(cat.precisions[1] == near(100 / 6.0));
    CHECK(cat.precisions[2] == near(10));
    CHECK(cat.precisions[3] == near(6.25));
}

TEST_CASE("BLEU of a sentence too short for 4-grams is 0", "[text][bleu]") {
    const BleuScore score = bleu({"the cat"}, {"the cat is on the mat"});
    CHECK(score.score == 0);
    CHECK(to_string(score).ends_with(
        " = 0.0 100.0/100.0/0.0/0.0 (BP = 0.135 ratio = 0.333 hyp_len = 2 ref_len = 6)"));
}

TEST_CASE("BLEU counts an n-gram as often as its reference has it", "[text][bleu]") {
    CHECK(bleu({"a a a a"}, {"a c a a"}).matches == std::array<int64_t, 4>{3, 1, 0, 0});
}

TEST_CASE("BLEU in lower case", "[text][bleu]") {
    const Lines upper = {"ÄRGER ÜBER ΚΑΙ ЖУК ist gross"}, mixed = {"Ärger über και жук ist groß"};
    CHECK(bleu(upper, mixed, {.lower_case = true}).score == near(75.98356856515926));
    CHECK(bleu(upper, mixed).matches[0] == 1);
    // 16.0 and 66.9 with simple mappings; 100.0 in sacreBLEU.
    CHECK(bleu({"Ο ΔΡΟΜΟΣ ΤΗΣ ΠΟΛΗΣ"}, {"ο δρομος της πολης"}, {.lower_case = true}).score == near(100));
    CHECK(
        bleu({"İSTANBUL ne güzel bir şehir"}, {"i̇stanbul ne güzel bir şehir"}, {.lower_case = true}).score ==
        near(100));
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
    const BleuScore raw = bleu_from_counts({.matches = {8397, 5095, 3295, 2117},
                                            .totals = {11958, 10958, 9958, 8958},
                                            .hyp_len = 11958,
                                            .ref_len = 12113});
    CHECK(raw.score == near(39.458317094885565));
    CHECK(to_string(raw, {.lower_case = true}) ==
          "BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0 = "
          "39.5 70.2/46.5/33.1/23.6 (BP = 0.987 ratio = 0.987 hyp_len = 11958 ref_len = 12113)");
    CHECK(to_string(bleu_from_counts(BleuScore{}))
              .ends_with(" = 0.0 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)"));
}

TEST_CASE("BLEU: errors", "[text][bleu]") {
    CHECK_THROWS_WITH(bleu({"a", "b"}, {"a"}),
                      "[bleu] each translation needs its reference: got 2 translations and 1 references");
}
