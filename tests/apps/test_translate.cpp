// The translator: what it learns, writes, and refuses.
#include <cmath>

#include "models/text/tokenizer.h"
#include "nn/checkpoint/utf8.h"
#include "tests/apps/translator.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

TEST_CASE("translate learns, saves, translates in a pipe, and scores", "[apps][translate][slow]") {
    if (!fast_build())
        SKIP("this build is too slow to learn in");
    const Files f;
    const Result trained =
        must_run("translate", f.train_tiny({"--steps", "700", "--lr", "0.001", "--warmup", "100", "--dropout",
                                            "0.1", "--batch-tokens", "256", "--save", f.run}));
    check_says(trained.err, {"vocabulary: ", "memory: weights "});
    for (const char* name : {"last.safetensors", "model.safetensors"})
        CHECK(!f.file("run", name).empty());

    const With input = {.input = "one two.\r\n\nsix five three."};
    const Result r = must_run("translate", {"run", f.run}, input);
    CHECK(r.out == "zwei eins.\n\ndrei fünf sechs.\n");
    CHECK(translate({"run", f.run, f.folder.write("in.txt", input.input)}).out == r.out);
    CHECK(translate({"run", f.run, "--batch", "1", "--beam", "2"}, input).out == r.out);
    const Result best = translate({"run", f.run, "--n", "2"}, input);
    CHECK(best.out.starts_with("0 ||| zwei eins. ||| -"));
    CHECK(count_of("\n", best.out) == 5);

    const Result score = must_run("translate", {"score", f.run, f.data});
    CHECK(score.out.starts_with("0."));
    check_says(score.out, {"BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0 "});
    check_says(translate({"info", f.run}).out,
               {"layers: 4 + 4, 128 wide, feed-forward 256, 4 heads; at most 32 tokens\n",
                "text: raw, pieces of words, vocabulary "});
    check_says(translate({"info", f.run + "/last.safetensors"}).out, {"training: step 700, epoch "});

    // After each translation its alignment: every word of it, in order, with existing words of the source.
    const Result aligned = translate({"run", f.run, "--align"}, {.input = "one two.\nsix five three.\n"});
    CHECK(aligned.out == "zwei eins. ||| 1-0 0-1\ndrei fünf sechs. ||| 2-0 1-1 0-2\n");
}

TEST_CASE("translate copies unknown words, or marks them", "[apps][translate][slow]") {
    if (!fast_build())
        SKIP("this build is too slow to learn in");
    // "call X" is "ruf X an", and each X is there once: too rare to be learned.
    const Files f;
    std::string lines;
    for (int i = 0; i < 100; ++i) {
        std::string x;
        nn::checkpoint::append_utf8(x, 0x4e00 + static_cast<char32_t>(i));
        lines += autograd::join("call ", x, "\truf ", x, " an\n");
        lines += i % 2 ? "call me\truf mich an\n" : "call you\truf dich an\n";
    }
    put(f.data, lines);
    must_run("translate", f.train({"--min-count", "3", "--steps", "250", "--lr", "0.001", "--warmup", "50",
                                   "--dropout", "0.1", "--batch-tokens", "512", "--save", f.run}));
    // An unknown piece within a word belongs to that word.
    CHECK_FALSE(contains(translate({"run", f.run, "--align"}, {.input = "call 猫猫猫 me\n"}).out, "3-"));
    const With input = {.input = "call me\ncall 猫\n"};
    const Result copied = translate({"run", f.run}, input);
    CHECK(copied.out == "ruf mich an\nruf 猫 an\n");
    check_says(copied.err, {"has never seen 1 of ", "first '猫' in line 2"});
    CHECK(translate({"run", f.run, "--unknown", "mark"}, input).out == "ruf mich an\nruf <unk> an\n");
    const Result nothing = translate({"run", f.run}, {.input = "猫\n"});
    CHECK(nothing.status == 1);
    check_says(nothing.err, {"has never seen any of these characters"});
}

TEST_CASE("translate run: the score and the alignment of each line", "[apps][translate]") {
    const Files f;
    must_run("translate", f.train({"--save", f.run, "--stop-after", "1"}));
    std::string input;  // with --batch 1, it reads eight lines at once
    for (int i = 1; i <= 20; ++i)
        input += i == 12 ? repeated("one ", 50) + "\n" : i == 15 ? "猫\n" : "one two.\n";
    const auto lines = [&](const Words& more) {
        const Words words = joined({"run", f.run, "--batch", "1", "--beam", "1"}, more);
        const Result r = must_run("translate", words, {.input = input});
        check_says(r.err, {":12: longer than 31 pieces: the rest is left out", "first '猫' in line 15"});
        REQUIRE(lines_of(r.out).size() == 20);
        return lines_of(r.out);
    };
    const Words plain = lines({}), listed = lines({"--n", "1"}), scored = lines({"--scores"}),
                aligned = lines({"--align"}), both = lines({"--n", "1", "--align"}),
                all = lines({"--scores", "--align"});
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
    const Files f;
    for (const auto& [option, says] : {std::pair(std::string("--tokenized"), "\nBLEU4 = "),
                                       {"--lower-case", "BLEU|nrefs:1|case:lc|eff:no|tok:13a|"}}) {
        const std::string run = f.folder / option;
        must_run("translate", f.train({"--save", run, option, "--stop-after", "1"}));
        const Result r = must_run("translate", {"score", run + "/last.safetensors", f.data, "--beam", "1"});
        check_says(r.out, {says});
        CHECK(contains(r.out, "tok:13a") == (option == "--lower-case"));
    }
}

TEST_CASE("translate takes the merges of --codes, and keeps them", "[apps][translate]") {
    const Files f;
    const std::string file = f.folder.write("codes", "#version: 0.2\no n\nt w\n");
    must_run("translate", f.train({"--codes", file, "--save", f.run, "--stop-after", "1"}));
    const std::string kept = content(f.run + "/tokenizer.json");
    CHECK(models::text::Tokenizer::open(f.run).pieces("two") == Words{"tw", "o</w>"});
    std::filesystem::remove(file);
    must_run("translate", {"train", "--resume", f.run, "--stop-after", "1"});
    CHECK(content(f.run + "/tokenizer.json") == kept);
}

TEST_CASE("translate --label-smoothing spreads so much of the target", "[apps][translate]") {
    const Files f;
    const auto first_loss = [&](const std::string& share) {
        const Words words = {"--label-smoothing", share, "--stop-after", "1", "--save", f.folder / share};
        return number_after(losses(must_run("translate", f.train(words))).at(0), "  loss ");
    };
    // Of the same answers: partly the loss of the right word, and partly the mean loss of all words.
    const double none = first_loss("0"), half = first_loss("0.4"), more = first_loss("0.8");
    CHECK(std::abs(more - none) > 1e-4);
    CHECK(half == Approx((none + more) / 2).margin(1e-5));
    const auto checked = [&](const char* share) {
        return translate(f.train({"--check", "--label-smoothing", share})).out;
    };
    const std::string plain = checked("0"), smooth = checked("0.5");
    const std::size_t trial = plain.find("learning rate: ");
    REQUIRE(trial != plain.npos);
    CHECK(plain.substr(0, trial) == smooth.substr(0, trial));
    CHECK(plain.substr(trial) != smooth.substr(trial));
}

TEST_CASE("translate learn-bpe writes subword-nmt's codes", "[apps][translate]") {
    const Folder folder;
    const std::string text = folder.write("text", "low low low lower lowest newer newer\n"),
                      few = folder.write("few", "ab ab ab\n"),
                      many = folder.write("many", "xy xy xy xy xy\n"), one = folder.write("one", "a\xff\n"),
                      two = folder.write("two", "\xff\xff\n"),
                      replaced = ": bytes that are not text, read as U+FFFD: ";
    CHECK(translate({"learn-bpe", "--merges", "2", text}).out == "#version: 0.2\nl o\nw e\n");
    CHECK(translate({"learn-bpe", few, many}).out == "#version: 0.2\nx y</w>\na b</w>\n");
    CHECK(translate({"learn-bpe", few, one, two}).err ==
          "translate: " + one + replaced + "1\ntranslate: " + two + replaced + "2\n");
}

TEST_CASE("translate refuses a wrong command line or text, and leaves no trace", "[apps][translate]") {
    const Files f;
    const std::string en = f.folder.write("en", "a\nb\nc\n"), de = f.folder.write("de", "A\nB\n"),
                      empty = f.folder.write("empty", ""), tiny = f.folder.write("tiny", "a b c\tb\n"),
                      wide = f.folder.write("wide", std::string(2'000'000, 'a') + "\tb\n"),
                      none = f.folder / "none";
    // Fills a batch of 16 million tokens.
    const std::string large =
        f.folder.write("large", repeated("a\tb\n", 2000) + repeated("a ", 16'000) + "\tb\n");
    const auto train = [&](const Words& files, const Words& more = {}) {
        return joined(joined({"train"}, files), joined({"--save", f.run}, more));
    };
    check_refusals(
        "translate",
        {{{}, 2, "a command is needed"},
         {{"fly"}, 2, "unknown command 'fly'"},
         {{"train"}, 2, "an argument is missing: SOURCE TARGET | TSV"},
         {{"train", f.data}, 2, "--save FOLDER is missing"},
         {{"train", "--resume", none}, 1, "there is no run in this folder"},
         {train({en, de}), 1, "3 lines"},
         {train({none}), 1, "none: "},
         {train({f.folder.path}), 1, f.folder.path},
         {train({empty}), 1, "empty"},
         {train({wide}), 1, "wide:1: a line of 2000002 bytes"},
         {{"train", f.data, "--save", en}, 1, en},
         {train({f.data}, {"--context", "200", "--batch-tokens", "100"}), 2, "--context 200"},
         {train({f.data}, {"--validation", "a,"}), 2, "--validation takes SOURCE,TARGET"},
         {train({f.data}, {"--heads", "3"}), 2, "--d-model 128 must be a multiple of --heads 3"},
         {train({f.data}, {"--min-count", "100000"}), 1, "the vocabulary is empty"},
         {train({f.data},
                {"--context", "16384", "--batch-tokens", "16384", "--layers", "1", "--d-model", "512"}),
          1, "a table of positions that is larger than the model"},  // which could not be loaded again
         {train({tiny}, {"--bytes", "--min-count", "2"}), 2, "not for --bytes"},
         {train({tiny}, {"--bytes", "--codes", tiny}), 2, "not for --bytes"},
         {train({tiny}, {"--context", "2"}), 1, "no pair is short enough; --context allows 2"},
         {train({large}, {"--batch-tokens", "16777216", "--context", "16384"}), 1, ", but only "},
         {{"run", f.data}, 1, f.data},
         {{"run", f.folder.path}, 1, "there is no model in this folder: neither model.safetensors nor"},
         {{"run", none, "--n", "5", "--beam", "4"}, 2, "--n 5 must not be larger than --beam 4"},
         {{"run", none, "--n", "2", "--scores"}, 2, "--n prints the scores already"},
         {{"learn-bpe", none}, 1, "none: "}});
    CHECK(!std::filesystem::exists(f.run));
}

TEST_CASE("translate: a run with other files or texts does not go on", "[apps][translate]") {
    const Files f;
    const auto resume_fails = [&](int status, const std::string& says, const Words& more = {}) {
        check_refusals("translate", {{joined({"train", "--resume", f.run}, more), status, says}});
    };
    must_run("translate", f.train({"--save", f.run, "--stop-after", "2"}));
    const std::string last = f.run + "/last.safetensors", before = content(last);
    for (const auto& [good, bad] : {std::pair(std::string("translate.epoch\":\"0"), "translate.epoch\":\"x"),
                                    {"--merges=30", "--mergez=30"}}) {
        std::string broken = before;
        REQUIRE(contains(broken, good));
        put(last, broken.replace(broken.find(good), good.size(), bad));
        resume_fails(1, last);
    }
    for (const std::size_t length : {std::size_t{0}, before.size() - 1}) {
        put(last, before.substr(0, length));
        resume_fails(1, "last.safetensors");
        check_refusals("translate", {{{"run", last}, 1, "last.safetensors"}});
    }
    put(last, before);
    resume_fails(2, "--merges cannot be given again", {"--merges", "50"});
    CHECK(content(last) == before);
    must_run("translate", {"train", "--resume", f.run});

    // The run has ended: the same model comes out again, or an error if its files have gone.
    const std::string model = f.file("run", "model.safetensors");
    CHECK_FALSE(model.empty());
    check_says(must_run("translate", {"train", "--resume", f.run}).err,
               {"this run has ended, after step 14: "});
    CHECK(f.file("run", "model.safetensors") == model);
    std::filesystem::remove(f.run + "/epoch-1.safetensors");
    resume_fails(1, "epoch-1.safetensors");
    CHECK(f.file("run", "model.safetensors") == model);
}

TEST_CASE("translate with bytes reads any bytes, and writes one line for each line", "[apps][translate]") {
    const Files f;
    put(f.data, pairs() + "caf\xe9\tx\xff\n");
    must_run("translate", f.train({"--save", f.run, "--bytes", "--merges", "0", "--steps", "1"}));
    std::string input;
    for (int i = 0; i < 40; ++i)
        input += autograd::join("one \xe9 ", i, "\n");
    const Result r = translate({"run", f.run, f.folder.write("input", input), "--beam", "1"});
    CHECK(count_of("\n", r.out) == 40);
    CHECK(r.out == translate({"run", f.run, "--beam", "1", "--batch", "1"}, {.input = input}).out);
    CHECK(r.out.find('\0') == std::string::npos);
    CHECK(count_of("\n", r.err) == 1);  // nothing is replaced, nothing unknown
}

TEST_CASE("translate checks the data first", "[apps][translate]") {
    const Files f;
    const std::string en = f.folder.write("a,b.en", "one two.\n"),
                      de = f.folder.write("a,b.de", "zwei eins.\n");
    put(f.data, pairs() + "\nonly\none two.\tzwei eins.\n");
    check_refusals("translate",
                   {{f.train({"--save", f.run, "--steps", "1"}), 1, "pairs.tsv:110"}});  // no tab
    put(f.data, pairs() + "\none two.\tzwei eins.\n");
    const Words one = {"--save", f.run, "--steps", "1", "--validation", en + "," + de};
    check_says(must_run("translate", f.train(one)).err,
               {"duplicate", en + ", " + de + ": 1 pair; pairs that are in the training data: 1"});
}
