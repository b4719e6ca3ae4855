// fill, run as a user runs it.
#include <algorithm>
#include <set>

#include "models/filler.h"
#include "models/text/tokenizer.h"
#include "tests/apps/run.h"
#include "tests/apps/terminal.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// A masked language model, in the folder "bert".
struct Given : Place {
    Given() { write_bert<models::MaskedLanguageModel>(*this / "bert"); }
};

// "\tword=0.1234" of the best words for each mask, one after the other.
std::string listed(const std::vector<std::vector<models::Filling>>& masks) {
    std::string text;
    for (const std::vector<models::Filling>& words : masks)
        for (const models::Filling& word : words) {
            char p[32];
            std::snprintf(p, sizeof p, "%.4f", word.probability);
            text += "\t" + word.word + "=" + p;
        }
    return text;
}

}  // namespace

TEST_CASE("fill prints the words that a model expects", "[apps][fill]") {
    const Given here;
    const models::Filler f = models::Filler::load(here / "bert");
    const std::string one = "The [MASK] day", two = "The [MASK] day [MASK].";
    const auto of_one = f(one, 5), of_two = f(two, 1);
    const std::string line = f.filled(one, {of_one[0][0].word}) + listed(of_one),
                      line_of_two = f.filled(two, {of_two[0][0].word, of_two[1][0].word}) + listed(of_two);
    const Result shown = here.must("fill bert '" + one + "'");
    CHECK(shown.out == line + "\n");
    REQUIRE(lines_of(shown.err).size() == 2);
    CHECK(shown.err.starts_with("bert: BertForMaskedLM\nfill: "));
    CHECK(here("fill bert '" + one + "' '" + two + "' --n 1").out.ends_with("\n" + line_of_two + "\n"));

    const Words pipe =
        lines_of(here.must("fill bert", {.input = one + "\n\nThe\t[MASK] day\na\x1b [MASK]\n"}).out);
    REQUIRE(pipe.size() == 4);
    CHECK((pipe[0] == line && pipe[1].empty()));
    CHECK(pipe[2] == line);             // a tab separates only the fields
    CHECK(pipe[3].starts_with("a? "));  // nothing that a terminal obeys
    CHECK(here("fill bert --n 1", {.input = two + "\n"}).out == line_of_two + "\n");
    check_lost_output("fill", {"bert", one}, here.path);
}

TEST_CASE("fill finds a mask that is normalized, or has another name", "[apps][fill]") {
    const Given here;
    const models::Filler usual = models::Filler::load(here / "bert");
    here.write("bert/tokenizer_config.json",
               autograd::join(R"({"added_tokens_decoder": {")", usual.tokenizer.id("[MASK]").value(),
                              R"(": {"content": "[MASK]", "normalized": true, "special": true}}})"));
    const models::Filler normalized = models::Filler::load(here / "bert");
    CHECK(normalized.mask == "[MASK]");
    CHECK(normalized.filled("the [MASK] day", {"x"}) == "the x day");
    CHECK(normalized("the [MASK] day")[0][0].word == usual("the [MASK] day")[0][0].word);
    here.write("bert/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n<mask>\nthe\na\n");
    here.write("bert/tokenizer_config.json", R"({"mask_token": "<mask>"})");
    here.must("fill bert 'a <mask>'");
}

TEST_CASE("fill says what is wrong, in one line", "[apps][fill]") {
    const Given here;
    here.write("nul", std::string("a\0b", 3)), here.write("lines", "\n\r\n \n");
    here.write("text", "a day\na night\n"), here.write("none", "\xe2\x82\xac\n");
    here.refuses(
        {{"fill", 2, "missing: MODEL [TEXT...]"},
         {"fill nowhere x", 1, "nowhere: there is no such folder or file; `make tiny` trains"},
         {"fill bert 'a day'", 1, "text 1: there is no [MASK] in this text"},
         {"fill bert ''", 2, "text 1 is empty"},
         {"fill train bert text", 2, "--save FOLDER is missing"},
         {"fill train bert nul --save x", 1, "nul: there is a NUL byte in this file: it is not text"},
         {"fill train bert text --save x --context 13", 2, "--context 13: the model takes 3 to 12"},
         {"fill train bert none --save x", 1, "none: 0 pieces of lines with something to mask; two"},
         {"fill train bert none none --save x", 1, "fill: the files: 0 pieces of lines with"},
         {"fill new x text --context 2", 2, "--context needs a whole number from 3 "},
         {"fill new x lines", 1, "lines: there is no text"}});
    CHECK_FALSE(std::filesystem::exists(here / "x"));
    const Result late = here("fill bert 'a [MASK]' 'a a a a a a a a a a a [MASK]'");
    CHECK((late.status == 1 && lines_of(late.out).size() <= 1));
    check_says(late.err, {"text 2: there is no [MASK] in the first 12 tokens; the model reads no more"});
    // In a pipe, such a line gets an empty one, and the others their answers.
    const Result r = here("fill bert --n 1", {.input = "a [MASK]\na day\na [MASK]\n"});
    CHECK(r.status == 1);
    const Words out = lines_of(r.out);
    REQUIRE(out.size() == 3);
    CHECK((out[1].empty() && out[2] == out[0] && !out[0].empty()));
    check_says(r.err, {"fill: standard input:2: there is no [MASK] in this text\n"});
    check_says(here("fill bert '[MASK] a a a a a a a a a a'").err,
               {"fill: text 1: more than 12 tokens, read only that far\n"});
}

TEST_CASE("fill and classify answer what is typed", "[apps][fill][prompt]") {
    NEEDS_TERMINAL();
    const Folder masked, classifier;
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::Classifier>(classifier);
    Talk fill("fill", {masked.path});
    check_says(fill.answer(":attention"), {"fill: first type a text"});
    check_says(fill.answer("the [MASK]"), {"=0."});
    const std::string looked = fill.answer(":attention");
    check_says(looked, {"[MASK]"});
    check_says(fill.answer("no mask"), {"fill: this line: there is no [MASK] in this text"});
    CHECK(fill.answer(":attention") == looked);  // of the last text that was filled
    fill.ends("\x04");
    Talk labels("classify", {"predict", classifier.path});
    check_says(labels.answer("the day"), {"sad=0."});
    check_says(labels.answer(":attention"), {"the", "day"});
    check_says(labels.answer(":beam"), {"unknown command :beam"});
    CHECK_FALSE(contains(labels.answer(":help"), ":beam"));
    labels.type("the day\ta nighx");
    REQUIRE(labels.says("> the day→a nighx"));
    check_says(labels.answer("\x7ft"), {"sad=0."});
    check_says(labels.answer(":attention"), {"the attention of a pair is not shown"});
    check_says(labels.answer("the → day\ta night"), {"sad=0."});  // an arrow is no tab
    labels.ends("\x04");
}

// test_runs.cpp resumes such a run.
TEST_CASE("fill new and train: a BERT from nothing learns", "[apps][fill]") {
    const Place here;
    const std::string text = repeated("The lamp burns low.\nThe Lights burn high!\n", 40);
    here.write("text", text);
    const Result made =
        here.must("fill new fresh text --vocabulary 48 --layers 1 --d-model 16 --heads 2 --context 12");
    check_says(made.out, {autograd::join(" random parameters, ",
                                         models::text::Tokenizer::open(here / "fresh").size(), " tokens")});
    here.must("fill train fresh text --steps 200 --lr 0.02 --validate-every 50 --save run");
    CHECK(content(here / "run/tokenizer.json") == content(here / "fresh/tokenizer.json"));
    const models::Filler before = models::Filler::load(here / "fresh"),
                         after = models::Filler::load(here / "run");
    CHECK(before("the [MASK] burns low.")[0][0].probability < 0.3);
    const models::Filling best = after("the [MASK] burns low.")[0][0];
    CHECK((best.word == "lamp" && best.probability > 0.5));
    // Its first loss is far below a guess.
    check_says(here("fill train run text --check").out, {"ok   first loss: "});
    check_says(here.must("fill info run").out, {": bert\n", "training: step 200", "settings: --lr 0.02\n"});

    // A part of a batch, here a line, may have no mask; of a text's lines, some may have nothing to mask; a
    // text may name the token that pads elsewhere, or have bytes that are no text.
    here.write("one", "the lamp\n"), here.write("strange", "\xe2\x82\xac\nthe lamp\nthe lamp\n");
    here.write("padded", text + "the [PAD] burns\n"), here.write("latin", text + "the l\xe4mp\xe9\n");
    const std::string replaced = "latin: bytes that are not text, read as U+FFFD: 2\n";
    for (const auto& [words, says] :
         {std::pair("text --batch 8 --parts 8", std::string()),
          {"strange --batch 1", "1 piece of lines to learn from, 1 held out\n"},
          {"one strange --context 3", "5 pieces of lines to learn from, 1 held out\n"},
          {"padded", "72 pieces of lines to learn from, 9 held out"},
          {"latin", replaced}})
        check_says(
            here.must(autograd::join("fill train fresh ", words, " --steps 2 --save x", here.files())).err,
            {says});
    here.refuses({{"fill train fresh one --save x", 1,
                   "one: 1 piece of lines with something to mask; two are needed"}});
    check_says(here("fill new l latin").err, {replaced});
}

// tests/models/text/test_learn_tokenizer.cpp has which ones those are.
TEST_CASE("fill new: a vocabulary that is too small for all characters", "[apps][fill]") {
    const Place here;
    here.write("text", "xy xy xy xy xz xz q");
    const Result made = here.must("fill new m text --vocabulary 7");
    check_says(made.out, {" random parameters, 7 tokens\n"});
    check_says(made.err, {"fill: words with one of the 2 rarest characters are read as [UNK]; a larger"});
}

TEST_CASE("fill train masks no special token, and other tokens of a line in each step", "[apps][fill]") {
    const Given
        here;  // in the other one [UNK] is behind the words that are first, and a later one at the end
    write_bert<models::MaskedLanguageModel>(here / "strange",
                                            "[PAD]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nday\nnight\n[UNK]\n");
    here.write("unknown", "strange words\nno others\n");
    here.refuses(
        {{"fill train strange unknown --save x", 1, "unknown: 0 pieces of lines with something to mask"}});
    std::string config = content(here / "bert/config.json");  // without dropout, only the masks differ
    for (const std::string key : {"\"hidden_dropout_prob\": ", "\"attention_probs_dropout_prob\": "}) {
        const std::size_t at = config.find(key);
        REQUIRE(at != std::string::npos);
        config.replace(at + key.size(), config.find_first_of(",\n}", at) - at - key.size(), "0");
    }
    here.write("bert/config.json", config);
    here.write("text", repeated("the lovely day the awful night .\n", 2));
    here.must("fill train bert text --batch 1 --lr 0 --steps 8 --save run");
    std::set<std::string> losses;
    const Words log = lines_of(content(here / "run/log.csv"));
    REQUIRE(log.size() == 9);
    for (std::size_t i = 1; i < log.size(); ++i)
        losses.insert(fields(log[i], ',').at(1));
    CHECK(losses.size() > 2);
}
