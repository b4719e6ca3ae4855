// classify, run as a user runs it: train, predict, eval, the built-in sentences, and errors.
// test_fine_tuning.cpp does the same with folders from Hugging Face.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "apps/kit/text.h"
#include "apps/programs/classify/classify.h"
#include "tests/apps/run.h"
#include "tests/apps/shown.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Two labels, each told by one word; lines with a tab or without.
std::string moods(int lines) {
    const Words things = {"day", "road", "house", "song", "meal", "idea", "plan"},
                starts = {"glad what a lovely ", "glad a wonderful, ", "sad such an awful ",
                          "sad a horrible "};
    std::string text;
    for (int i = 0; i < lines; ++i) {
        std::string line = starts[static_cast<std::size_t>(i % 4)];
        if (i % 3 != 0)
            line[line.find(' ')] = '\t';
        text += line + things[static_cast<std::size_t>(i) % things.size()] + " number " + std::to_string(i) +
                "\n";
    }
    return text;
}

const std::string kTrain = "classify train data --epochs 12 --d-model 32 --batch 8 --lr 0.005 --dropout 0.1 ";

// Texts to learn from.
struct Given : Place {
    explicit Given(const std::string& texts) { write("data", texts); }
};

}  // namespace

TEST_CASE("classify tells sentences that are worded differently", "[apps][classify]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = must_run("classify", {});
    CHECK(number_after(r.out, "accuracy ") >= 95);
    CHECK(number_after(r.out, " of ") > 50);
    check_says(r.out, {"\n8  "});  // labels
    CHECK(contains(r.out, "  ->  weather\n"));
}

TEST_CASE("classify trains, saves, predicts and evaluates", "[apps][classify]") {
    const Given here(moods(80));
    const Result trained = here.must(kTrain + "--save m");
    check_says(trained.out, {" of 8 texts\n"});
    check_says(trained.err, {"72 texts to learn from, 8 held out; 2 labels\n", "saved m/model.safetensors"});

    here.write("others", "glad a lovely evening\r\nsad\tan awful evening\n\nsad so horrible\n");
    check_says(here.must("classify eval m others").out, {"accuracy 100.0 %: 3 of 3 texts\n"});

    here.refuses({{"classify predict m ' '", 2, "text 1 is empty"}});
    const Result argument = here.must("classify predict m 'a lovely evening' 'an AWFUL one'");
    CHECK(lines_of(argument.err).size() == 1);  // what it runs on
    const Words lines = lines_of(argument.out);
    REQUIRE(lines.size() == 2);
    CHECK((lines[0].starts_with("glad\tglad=0.") && lines[1].starts_with("sad\tsad=0.")));
    CHECK(number_after(lines[0], "\tglad=") + number_after(lines[0], "\tsad=") == Approx(1).margin(0.00011));
    // Through a pipe: the same answers, one line each.
    const Result pipe = here("classify predict m", {.input = "\xef\xbb\xbf"
                                                             "a lovely evening\r\n\nan AWFUL one"});
    CHECK(pipe.out == lines[0] + "\n\n" + lines[1] + "\n");
    CHECK(lines_of(pipe.err).size() == 1);
    check_lost_output("classify", {"predict", "m", "hi"}, here.path);
}

TEST_CASE("classify holds out lines, a file, or nothing, never a whole label", "[apps][classify]") {
    const Given here(moods(40));
    const auto held_out = [&](const std::string& validation, const std::string& texts = "") {
        if (!texts.empty())
            here.write("data", texts);
        return here(kTrain + "--epochs 1 --validation " + validation);
    };
    check_says(held_out("13").out, {" of 13 texts\n"});
    here.write("two", "glad\tso lovely\nsad no\n");
    check_says(held_out("two").out, {" of 2 texts\n"});
    const Result nothing = held_out("0");
    CHECK((nothing.status == 0 && nothing.out.empty()));
    const Result lost = held_out("4", "a\tx\na\ty\nb\tx\nb\ty\n");
    CHECK((lost.status == 0 ||
           contains(lost.err, "' are held out, under this label or another; hold out fewer")));
    check_says(held_out("3", "glad a\nglad b\nsad c\nsad d\n").err,
               {"2 texts to learn from, 2 held out",
                "only 2 of 3 lines can be held out: each label needs a text to learn from\n"});
    here.write("data", moods(5100));
    check_says(here(kTrain + "--d-model 8 --stop-after 1 --save m").err,  // a tenth, or 500
               {"4,600 texts to learn from, 500 held out; 2 labels\n"});
}

TEST_CASE("classify does not learn from copies of a held-out text, under any label", "[classify]") {
    const auto example = [](const char* label, const char* text) {
        return classify::Example{label, text, ""};
    };
    std::set<int64_t> texts_held_out, copies_left_out;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<classify::Example> all;
        for (const char* const text : {"p", "q", "r", "s"})
            for (const char* const label : {"a", "b"})
                all.push_back(example(label, text));
        const classify::Corpus two = classify::hold_out(all, 2, autograd::Rng(seed));
        REQUIRE(two.held_out.size() == 2);
        const std::set<std::string> texts = {two.held_out[0].text, two.held_out[1].text};
        for (const classify::Example& e : two.training)
            CHECK_FALSE(texts.contains(e.text));
        CHECK(std::ssize(two.training) == 8 - 2 * std::ssize(texts));
        texts_held_out.insert(std::ssize(texts));

        all = {example("a", "x"), example("a", "x"), example("a", "y"), example("b", "u"), example("b", "v")};
        const classify::Corpus one = classify::hold_out(all, 1, autograd::Rng(seed));
        REQUIRE(one.held_out.size() == 1);
        copies_left_out.insert(4 - std::ssize(one.training));
    }
    // Of "x y" and "x z", one stays; of u one; of "r r" both lines, since they are one text.
    const std::vector<classify::Example> few = {example("a", "x y"), example("a", "x z"), example("a", "x y"),
                                                example("b", "u v"), example("b", "u w"), example("c", "r r"),
                                                example("c", "r r")};
    std::map<std::string, int> held_out;
    for (const classify::Example& e : classify::hold_out(few, 7, autograd::Rng(1)).held_out)
        ++held_out[e.label];
    CHECK((held_out["a"] == 1 || held_out["a"] == 2));
    CHECK((held_out["b"] == 1 && held_out["c"] == 0));
    CHECK(texts_held_out == std::set<int64_t>{1, 2});  // a text under both labels, and two texts
    CHECK(copies_left_out == std::set<int64_t>{0, 1});
}

TEST_CASE("classify: recall is a share of a row, precision of a column", "[classify]") {
    const classify::Confusion c = {.labels = {"glad", "\x1bno text", "a label that is longer than it may be"},
                                   .counts = {{9, 1, 2}, {0, 0, 0}, {3, 0, 10}},
                                   .right = 19,
                                   .total = 25};
    CHECK(printed_by([&] { classify::print(c); }, STDOUT_FILENO) == R"(accuracy 76.0 %: 19 of 25 texts

Confusion matrix: a row for each true label, a column for what was predicted.

                              1   2   3   recall  precision
1  glad                       9   1   2   75.0 %     75.0 %
2  ?no text                   .   .   .        -      0.0 %
3  a label that is longer …   3   .  10   76.9 %     83.3 %
)");
}

TEST_CASE("classify learns from each text once in an epoch", "[apps][classify]") {
    std::string texts;  // words that come once are known only by their parts, which are never dropped
    for (char c = 'a'; c < 'h'; ++c)
        texts += std::string(c % 2 == 0 ? "glad" : "sad") + "\t" + c + "x" + c + " y" + c + c + "\n";
    const Given here(texts);
    // With a rate of 0 a text always has the same loss.
    here.must(kTrain + "--epochs 2 --batch 1 --lr 0 --dropout 0 --validation 0 --save m");
    const Words rows = lines_of(content(here / "m/log.csv"));
    REQUIRE(rows.size() == 1 + 2 * 7);
    std::vector<Words> epochs(2);
    for (std::size_t i = 0; i < 14; ++i)
        epochs[i / 7].push_back(fields(rows[i + 1], ',').at(1));
    CHECK(epochs[0] != epochs[1]);  // in another order
    for (Words& losses_of_epoch : epochs)
        std::sort(losses_of_epoch.begin(), losses_of_epoch.end());
    CHECK(epochs[0] == epochs[1]);
    CHECK(epochs[0].front() != epochs[0].back());
}

TEST_CASE("classify --patience validates after each epoch, however many steps it has", "[apps][classify]") {
    const Given here(moods(44));
    here.must(kTrain + "--validation 4 --epochs 3 --patience 9 --save m");
    const Words rows = lines_of(content(here / "m/log.csv"));
    REQUIRE(rows.size() == 1 + 15);  // 40 texts in batches of 8
    for (std::size_t step = 1; step <= 15; ++step) {
        const std::string loss = fields(rows[step], ',').at(2);  // of validation
        CHECK(loss.empty() == (step % 5 != 0));
        CHECK((loss.empty() || (std::stod(loss) > 0 && std::stod(loss) < 1)));  // a guess costs ln 2
    }
}

TEST_CASE("classify: usually 15 passes over all texts, and at least 300 steps", "[apps][classify]") {
    const Given here(moods(30));
    for (const auto& [batch, last] : {std::pair("1", "step 450/450  "), std::pair("30", "step 300/300  ")}) {
        const Result r = here.must(kTrain + "--epochs 0 --d-model 8 --validation 0 --batch " + batch);
        CHECK(losses(r).back().starts_with(last));
    }
}

TEST_CASE("a saved classifier is the one that was trained, whatever the options", "[apps][classify]") {
    const Given here(moods(40));
    // Some labels are wrong, and training is short, so that the model makes mistakes.
    here.write("v", moods(40) + repeated("glad Such An AWFUL plan number 7\n", 9));
    for (const std::string words : {"", "--keep-case --context 3 "}) {
        const std::string model = "m" + std::to_string(words.size());
        const Result trained = here.must(kTrain + words + "--epochs 1 --validation v --save " + model),
                     measured = here.must("classify eval " + model + " v");
        CHECK(measured.out == trained.out);
        CHECK(contains(measured.err, "more than 3 words") == !words.empty());
        const models::Labeller l = models::Labeller::load(here / model);
        const std::vector<classify::Example> examples = classify::read_examples(here / "v");
        std::vector<std::vector<int64_t>> counts(2, std::vector<int64_t>(2));
        for (const classify::Example& e : examples)
            ++counts[e.label == "sad"][l(e.text)[0].name == "sad"];
        CHECK(classify::evaluate(l, examples).counts == counts);
        const auto predicted = [&](const std::string& text) {
            return here("classify predict " + model + text).out;
        };
        CHECK((predicted(" 'a loveLY'") == predicted(" 'a lovely'")) == words.empty());
    }
}

TEST_CASE("classify reads bytes that are not UTF-8, long texts, and any labels", "[apps][classify]") {
    const std::string label(40, 'x');
    std::string data;
    for (int i = 0; i < 12; ++i)
        data += "\x1b" + label + "\tcaf\xe9 cr\xc3\xa8me " + std::to_string(i) +
                "\nété à Paris\tun deux trois quatre " + std::to_string(i) + "\n";
    const Given here(data);
    const Result r = here.must(kTrain + "--save m --context 4 --validation 6");
    check_says(r.err, {"classify: data: bytes that are not text, read as U+FFFD: 12\n",
                       "texts of more than 4 words, read only that far: "});
    check_says(r.out, {"?xxxxxxxxxxx", "xxxxxxxxxxx…"});
    CHECK_FALSE(contains(r.out, "\x1b"));  // a label gives the terminal no command
    const Words lines = lines_of(r.out);
    REQUIRE(lines.size() > 6);
    const std::size_t width = kit::columns(lines[4]);
    CHECK((kit::columns(lines[5]) == width && kit::columns(lines[6]) == width));
    const Result p =
        here.must("classify predict m", {.input = "caf\xe9 cr\xc3\xa8me\nun d\xffux trois quatre cinq\n"});
    CHECK(lines_of(p.out).size() == 2);
    CHECK(p.out.starts_with("?" + label + "\t?" + label + "=0."));
    check_says(p.err, {"classify: standard input:1: bytes that are not text, read as U+FFFD: 1\n",
                       "classify: standard input:2: bytes that are not text, read as U+FFFD: 1\n",
                       "texts of more than 4 words"});
    check_says(here.must("classify predict m caf\xe9").err,
               {"classify: the command line: bytes that are not text, read as U+FFFD: 1\n"});
}

TEST_CASE("classify refuses a wrong command line or file, and writes nothing", "[apps][classify]") {
    const Given here(moods(20));
    for (const auto& [text, says] :
         {std::pair("", ": the file is empty"),
          {"\n  \n", "there is no line with a label and a text"},
          {"a one\na two\n", "all lines have the label 'a'; there is nothing to tell apart"},
          {"a one\nb two\na three\n", "bad:2: the label 'b' has only this line"},
          {"a one\nb\na three\n", "bad:2: no text follows the label 'b'"},
          {"a one\nb\t  \na three\n", "bad:2: no text follows the label 'b'"},
          {"a one\n\tb two\n", "bad:2: there is no label before the tab"}}) {
        here.write("bad", text);
        here.refuses({{"classify train bad --save m", 1, says}});
    }
    here.write("mad", "glad x\nmad y\n");
    const std::string cannot = "this folder cannot be made",
                      count = "--validation needs a whole number from 0 to 20: got '";
    here.refuses({{kTrain + "--save data", 1, cannot},
                  {kTrain + "--save /dev/full", 1, "/dev/full: " + cannot},
                  {kTrain + "--save m --validation mad", 1,
                   "mad:2: the label 'mad' is not among those that were learned: glad, sad"},
                  {"classify learn", 2, "unknown command 'learn'; there are train, predict, eval, info"},
                  {"classify train", 2, "an argument is missing: FILE; ./apps/classify train --help shows"},
                  {"classify predict", 2, "missing: MODEL [TEXT...]"},
                  {"classify eval m", 2, "an argument is missing: MODEL FILE; ./apps/classify eval"},
                  {kTrain + "--heads 3", 2, "--d-model 32 must be a multiple of --heads 3"},
                  {kTrain + "--validation 21", 2, count + "21'"},
                  {kTrain + "--validation -1", 2, count + "-1'"},
                  {kTrain + "--validation 0 --patience 1", 2, "--patience needs lines that are held out"}});
    CHECK_FALSE(std::filesystem::exists(here / "m"));
    CHECK(content(here / "data") == moods(20));
}

// tests/models/test_labeller.cpp has more of what may be wrong with a model; test_fine_tuning.cpp measures
// labels that it does not have.
TEST_CASE("classify refuses files that are not its models", "[apps][classify]") {
    const Given here(moods(20));
    here.must(kTrain + "--save m --epochs 1");
    const std::string bytes = content(here / "m/model.safetensors");
    here.write("cut", bytes.substr(0, bytes.size() - 5));
    std::filesystem::create_directory(here / "closed");
    std::filesystem::permissions(here / "closed", std::filesystem::perms::none);
    std::vector<std::pair<std::string, std::string>> table = {
        {"missing", "missing"}, {"data", "data"}, {"cut", "cut"}};
    if (geteuid() != 0)  // who may read everything
        table.emplace_back("closed", "closed/config.json: cannot be looked at: Permission denied");
    for (const auto& [file, says] : table)
        here.refuses(
            {{"classify predict " + file + " x", 1, says}, {"classify eval " + file + " data", 1, says}});
}

TEST_CASE("classify answers each line before it reads the next one", "[apps][classify]") {
    if (!environment("PLAINGRAD_RUN", "").empty())
        SKIP("a shell does not start the emulator");
    const Given here(moods(20));
    here.must(kTrain + "--save m --epochs 1");
    // The next line is written only when the answer to the last one has come through the pipe.
    const std::string script =
        "cd '" + here.path + "'; mkfifo in out; '" + std::filesystem::absolute(apps()).string() +
        "/classify' predict m < in > out 2> err & cd '" + here.path + "'; exec 3> in 4< out; " +
        "for i in 1 2 3; do echo text $i >&3; " +
        "timeout 60 sh -c 'read -r answer <&4 && echo \"$answer\"' || exit 1; done > answers";
    CHECK(std::system(script.c_str()) == 0);
    CHECK(lines_of(content(here / "answers")).size() == 3);
}
