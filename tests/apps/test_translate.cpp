// The translator: what it learns, writes, and refuses.
#include <cmath>

#include "models/text/tokenizer.h"
#include "nn/checkpoint/utf8.h"
#include "tests/apps/programs.h"
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Texts to learn from, in the file "pairs".
struct Given : Place {
    explicit Given(const std::string& texts = pairs()) { write("pairs", texts); }
};

// A model of --preset tiny, and a smaller one where its size does not matter. Two epochs are 12 to 16 steps.
const std::string kTiny =
    "translate train pairs --merges 30 --batch-tokens 128 --context 32 --warmup 4 --steps 14 ";
const std::string kTrain = kTiny + "--layers 2 --heads 2 --d-model 32 --d-ff 64 ";

}  // namespace

TEST_CASE("translate learns, saves, translates in a pipe, and scores", "[apps][translate][slow]") {
    if (!fast_build())
        SKIP("this build is too slow to learn in");
    const Given here;
    const Result trained =
        here.must(kTiny + "--steps 700 --lr 0.001 --warmup 100 --dropout 0.1 --batch-tokens 256 --save run");
    check_says(trained.err, {"vocabulary: ", "memory: weights "});
    for (const char* name : {"run/last.safetensors", "run/model.safetensors"})
        CHECK(!content(here / name).empty());

    const With input = {.input = "one two.\r\n\nsix five three."};
    const Result r = here.must("translate run run", input);
    CHECK(r.out == "zwei eins.\n\ndrei fünf sechs.\n");
    here.write("in", input.input);
    CHECK(here("translate run run in").out == r.out);
    CHECK(here("translate run run --batch 1 --beam 2", input).out == r.out);
    const Result best = here("translate run run --n 2", input);
    CHECK(best.out.starts_with("0 ||| zwei eins. ||| -"));
    CHECK(count_of("\n", best.out) == 5);

    const Result score = here.must("translate score run pairs");
    CHECK(score.out.starts_with("0."));
    check_says(score.out, {"BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0 "});
    check_says(here("translate info run").out,
               {"layers: 4 + 4, 128 wide, feed-forward 256, 4 heads; at most 32 tokens\n",
                "text: raw, pieces of words, vocabulary "});
    check_says(here("translate info run/last.safetensors").out, {"training: step 700, epoch "});

    // After each translation its alignment: every word of it, in order, with existing words of the source.
    const Result aligned = here("translate run run --align", {.input = "one two.\nsix five three.\n"});
    CHECK(aligned.out == "zwei eins. ||| 1-0 0-1\ndrei fünf sechs. ||| 2-0 1-1 0-2\n");
}

TEST_CASE("translate copies unknown words, or marks them", "[apps][translate][slow]") {
    if (!fast_build())
        SKIP("this build is too slow to learn in");
    // "call X" is "ruf X an", and each X is there once: too rare to be learned.
    std::string lines;
    for (int i = 0; i < 100; ++i) {
        std::string x;
        nn::checkpoint::append_utf8(x, 0x4e00 + static_cast<char32_t>(i));
        lines += autograd::join("call ", x, "\truf ", x, " an\n");
        lines += i % 2 ? "call me\truf mich an\n" : "call you\truf dich an\n";
    }
    const Given here(lines);
    here.must(kTrain + "--min-count 3 --steps 250 --lr 0.001 --warmup 50 --dropout 0.1 --batch-tokens 512 " +
              "--save run");
    // An unknown piece within a word belongs to that word.
    CHECK_FALSE(contains(here("translate run run --align", {.input = "call 猫猫猫 me\n"}).out, "3-"));
    const With input = {.input = "call me\ncall 猫\n"};
    const Result copied = here("translate run run", input);
    CHECK(copied.out == "ruf mich an\nruf 猫 an\n");
    check_says(copied.err, {"has never seen 1 of ", "first '猫' in line 2"});
    CHECK(here("translate run run --unknown mark", input).out == "ruf mich an\nruf <unk> an\n");
    const Result nothing = here("translate run run", {.input = "猫\n"});
    CHECK(nothing.status == 1);
    check_says(nothing.err, {"has never seen any of these characters"});
}

TEST_CASE("translate run: the score and the alignment of each line", "[apps][translate]") {
    const Given here;
    here.must(kTrain + "--save run --stop-after 1");
    std::string input;  // with --batch 1, it reads eight lines at once
    for (int i = 1; i <= 20; ++i)
        input += i == 12 ? repeated("one ", 50) + "\n" : i == 15 ? "猫\n" : "one two.\n";
    const auto lines = [&](const std::string& more) {
        const Result r = here.must("translate run run --batch 1 --beam 1 " + more, {.input = input});
        check_says(r.err, {":12: longer than 31 pieces: the rest is left out", "first '猫' in line 15"});
        REQUIRE(lines_of(r.out).size() == 20);
        return lines_of(r.out);
    };
    const Words plain = lines(""), listed = lines("--n 1"), scored = lines("--scores"),
                aligned = lines("--align"), both = lines("--n 1 --align"), all = lines("--scores --align");
    for (std::size_t i = 0; i < 20; ++i) {
        const std::string score = listed[i].substr(listed[i].rfind(" ||| ") + 5),
                          alignment = aligned[i].substr(aligned[i].rfind(" ||| "));
        CHECK(listed[i] == autograd::join(i, " ||| ", plain[i], " ||| ", score));
        CHECK(scored[i] == score + "\t" + plain[i]);
        CHECK(aligned[i] == plain[i] + alignment);
        CHECK(both[i] == listed[i] + alignment);
        CHECK(all[i] == scored[i] + alignment);
    }
}

TEST_CASE("translate score: text that is in tokens, and in lower case", "[apps][translate]") {
    const Given here;
    for (const auto& [option, says] : {std::pair(std::string("--tokenized"), "\nBLEU4 = "),
                                       {"--lower-case", "BLEU|nrefs:1|case:lc|eff:no|tok:13a|"}}) {
        here.must(kTrain + option + " --stop-after 1 --save run" + option);
        const Result r = here.must("translate score run" + option + "/last.safetensors pairs --beam 1");
        check_says(r.out, {says});
        CHECK(contains(r.out, "tok:13a") == (option == "--lower-case"));
    }
}

TEST_CASE("translate takes the merges of --codes, and keeps them", "[apps][translate]") {
    const Given here;
    here.write("codes", "#version: 0.2\no n\nt w\n");
    here.must(kTrain + "--codes codes --save run --stop-after 1");
    const std::string kept = content(here / "run/tokenizer.json");
    CHECK(models::text::Tokenizer::open(here / "run").pieces("two") == Words{"tw", "o</w>"});
    std::filesystem::remove(here / "codes");
    here.must("translate train --resume run --stop-after 1");
    CHECK(content(here / "run/tokenizer.json") == kept);
}

TEST_CASE("translate --label-smoothing spreads so much of the target", "[apps][translate]") {
    const Given here;
    const auto first_loss = [&](const std::string& share) {
        const Result r = here.must(kTrain + "--stop-after 1 --save " + share + " --label-smoothing " + share);
        return number_after(losses(r).at(0), "  loss ");
    };
    // Of the same answers: partly the loss of the right word, and partly the mean loss of all words.
    const double none = first_loss("0"), half = first_loss("0.4"), more = first_loss("0.8");
    CHECK(std::abs(more - none) > 1e-4);
    CHECK(half == Approx((none + more) / 2).margin(1e-5));
    const std::string plain = here(kTrain + "--check --label-smoothing 0").out,
                      smooth = here(kTrain + "--check --label-smoothing 0.5").out;
    const std::size_t trial = plain.find("learning rate: ");
    REQUIRE(trial != plain.npos);
    CHECK(plain.substr(0, trial) == smooth.substr(0, trial));
    CHECK(plain.substr(trial) != smooth.substr(trial));
}

TEST_CASE("translate learn-bpe writes subword-nmt's codes", "[apps][translate]") {
    const Place here;
    here.write("text", "low low low lower lowest newer newer\n");
    here.write("few", "ab ab ab\n"), here.write("many", "xy xy xy xy xy\n");
    here.write("one", "a\xff\n"), here.write("two", "\xff\xff\n");
    CHECK(here("translate learn-bpe --merges 2 text").out == "#version: 0.2\nl o\nw e\n");
    CHECK(here("translate learn-bpe few many").out == "#version: 0.2\nx y</w>\na b</w>\n");
    CHECK(here("translate learn-bpe few one two").err ==
          "translate: one: bytes that are not text, read as U+FFFD: 1\n"
          "translate: two: bytes that are not text, read as U+FFFD: 2\n");
}

TEST_CASE("translate refuses a wrong command line or text, and leaves no trace", "[apps][translate]") {
    const Given here;
    here.write("en", "a\nb\nc\n"), here.write("de", "A\nB\n"), here.write("empty", "");
    here.write("tiny", "a b c\tb\n"), here.write("wide", std::string(2'000'000, 'a') + "\tb\n");
    // Fills a batch of 16 million tokens.
    here.write("large", repeated("a\tb\n", 2000) + repeated("a ", 16'000) + "\tb\n");
    const std::string train = "translate train --save x ";
    here.refuses({{"translate", 2, "a command is needed"},
                  {"translate fly", 2, "unknown command 'fly'"},
                  {"translate train", 2, "an argument is missing: SOURCE TARGET | TSV"},
                  {"translate train pairs", 2, "--save FOLDER is missing"},
                  {"translate train --resume none", 1, "there is no run in this folder"},
                  {train + "en de", 1, "3 lines"},
                  {train + "none", 1, "none: "},
                  {train + ".", 1, "."},
                  {train + "empty", 1, "empty"},
                  {train + "wide", 1, "wide:1: a line of 2000002 bytes"},
                  {"translate train pairs --save en", 1, "en"},
                  {train + "pairs --context 200 --batch-tokens 100", 2, "--context 200"},
                  {train + "pairs --validation a,", 2, "--validation takes SOURCE,TARGET"},
                  {train + "pairs --heads 3", 2, "--d-model 128 must be a multiple of --heads 3"},
                  {train + "pairs --min-count 100000", 1, "the vocabulary is empty"},
                  {train + "pairs --context 16384 --batch-tokens 16384 --layers 1 --d-model 512", 1,
                   "a table of positions that is larger than the model"},  // which could not be loaded again
                  {train + "tiny --bytes --min-count 2", 2, "not for --bytes"},
                  {train + "tiny --bytes --codes tiny", 2, "not for --bytes"},
                  {train + "tiny --context 2", 1, "no pair is short enough; --context allows 2"},
                  {train + "large --batch-tokens 16777216 --context 16384", 1, ", but only "},
                  {"translate run pairs", 1, "pairs"},
                  {"translate run .", 1, "there is no model in this folder: neither model.safetensors nor"},
                  {"translate run none --n 5 --beam 4", 2, "--n 5 must not be larger than --beam 4"},
                  {"translate run none --n 2 --scores", 2, "--n prints the scores already"},
                  {"translate learn-bpe none", 1, "none: "}});
    CHECK(!std::filesystem::exists(here / "x"));
}

// test_runs.cpp has folders that another run writes into.
TEST_CASE("translate: a run with other files or texts does not go on", "[apps][translate]") {
    const Given here;
    const std::string resume = "translate train --resume run";
    here.must(kTrain + "--save run --stop-after 2");
    const std::string last = "run/last.safetensors", before = content(here / last);
    for (const auto& [good, bad] : {std::pair(std::string("translate.epoch\":\"0"), "translate.epoch\":\"x"),
                                    {"--merges=30", "--mergez=30"}}) {
        std::string broken = before;
        REQUIRE(contains(broken, good));
        here.write(last, broken.replace(broken.find(good), good.size(), bad));
        here.refuses({{resume, 1, last}});
    }
    for (const std::size_t length : {std::size_t{0}, before.size() - 1}) {
        here.write(last, before.substr(0, length));
        here.refuses({{resume, 1, last}, {"translate run " + last, 1, last}});
    }
    here.write(last, before);
    here.refuses({{resume + " --merges 50", 2, "--merges cannot be given again"}});
    CHECK(content(here / last) == before);
    here.must(resume);

    // The run has ended: the same model comes out again, or an error if its files have gone.
    const std::string model = content(here / "run/model.safetensors");
    CHECK_FALSE(model.empty());
    check_says(here.must(resume).err, {"this run has ended, after step 14: "});
    CHECK(content(here / "run/model.safetensors") == model);
    std::filesystem::remove(here / "run/epoch-1.safetensors");
    here.refuses({{resume, 1, "epoch-1.safetensors"}});
    CHECK(content(here / "run/model.safetensors") == model);
}

TEST_CASE("translate with bytes reads any bytes, and writes one line for each line", "[apps][translate]") {
    const Given here(pairs() + "caf\xe9\tx\xff\n");
    here.must(kTrain + "--save run --bytes --merges 0 --steps 1");
    std::string input;
    for (int i = 0; i < 40; ++i)
        input += autograd::join("one \xe9 ", i, "\n");
    here.write("input", input);
    const Result r = here("translate run run input --beam 1");
    CHECK(count_of("\n", r.out) == 40);
    CHECK(r.out == here("translate run run --beam 1 --batch 1", {.input = input}).out);
    CHECK(r.out.find('\0') == std::string::npos);
    CHECK(count_of("\n", r.err) == 1);  // nothing is replaced, nothing unknown
}

TEST_CASE("translate checks the data first", "[apps][translate]") {
    const Given here(pairs() + "\nonly\none two.\tzwei eins.\n");
    here.write("a,b.en", "one two.\n"), here.write("a,b.de", "zwei eins.\n");
    here.refuses({{kTrain + "--save run --steps 1", 1, "pairs:110"}});  // no tab
    here.write("pairs", pairs() + "\none two.\tzwei eins.\n");
    check_says(here.must(kTrain + "--save run --steps 1 --validation a,b.en,a,b.de").err,
               {"duplicate", here / "a,b.en" + ", " + here / "a,b.de" +
                                 ": 1 pair; pairs that are in the training data: 1"});
}
