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
        translate(f.train_tiny({"--steps", "700", "--lr", "0.001", "--warmup", "100", "--dropout", "0.1",
                                "--batch-tokens", "256", "--save", f.run}));
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    CHECK(contains(trained.err, "vocabulary: "));
    CHECK(contains(trained.err, "memory: weights "));
    for (const char* name : {"last.safetensors", "model.safetensors"})
        CHECK(!f.file("run", name).empty());

    const With input = {.input = "one two.\r\n\nsix five three."};
    const Result r = translate({"run", f.run}, input);
    CHECK(r.status == 0);
    CHECK(r.out == "zwei eins.\n\ndrei fünf sechs.\n");
    CHECK(translate({"run", f.run, f.folder.write("in.txt", input.input)}).out == r.out);
    CHECK(translate({"run", f.run, "--batch", "1", "--beam", "2"}, input).out == r.out);
    const Result best = translate({"run", f.run, "--n", "2"}, input);
    CHECK(best.out.starts_with("0 ||| zwei eins. ||| -"));
    CHECK(std::count(best.out.begin(), best.out.end(), '\n') == 5);

    const Result score = translate({"score", f.run, f.data});
    CHECK(score.status == 0);
    CHECK(score.out.starts_with("0."));
    CHECK(contains(score.out, "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0 "));
    const Result info = translate({"info", f.run});
    CHECK(contains(info.out, "layers: 4 + 4, 128 wide, feed-forward 256, 4 heads; at most 32 tokens\n"));
    CHECK(contains(info.out, "text: raw, pieces of words, vocabulary "));
    CHECK(contains(translate({"info", f.run + "/last.safetensors"}).out, "training: step 700, epoch "));

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
        lines.append("call ").append(x).append("\truf ").append(x).append(" an\n");
        lines.append("call ").append(i % 2 ? "me\truf mich an\n" : "you\truf dich an\n");
    }
    put(f.data, lines);
    const Result trained =
        translate(f.train({"--min-count", "3", "--steps", "250", "--lr", "0.001", "--warmup", "50",
                           "--dropout", "0.1", "--batch-tokens", "512", "--save", f.run}));
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    // An unknown piece within a word belongs to that word.
    CHECK(translate({"run", f.run, "--align"}, {.input = "call 猫猫猫 me\n"}).out.find("3-") ==
          std::string::npos);
    const With input = {.input = "call me\ncall 猫\n"};
    const Result copied = translate({"run", f.run}, input);
    CHECK(copied.out == "ruf mich an\nruf 猫 an\n");
    CHECK(contains(copied.err, "has never seen 1 of "));
    CHECK(contains(copied.err, "first '猫' in line 2"));
    CHECK(translate({"run", f.run, "--unknown", "mark"}, input).out == "ruf mich an\nruf <unk> an\n");
    const Result nothing = translate({"run", f.run}, {.input = "猫\n"});
    CHECK(nothing.status == 1);
    CHECK(contains(nothing.err, "has never seen any of these characters"));
}

// With --batch 1, it reads eight lines at once.
TEST_CASE("translate run counts lines on, however many it translates together", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "1"})).status == 0);
    std::string lines;
    for (int i = 1; i <= 20; ++i) {
        for (int word = 1; i == 12 && word < 50; ++word)
            lines += "one ";
        lines += i == 15 ? "猫\n" : "one\n";
    }
    const Result r = translate({"run", f.run, "--batch", "1", "--beam", "1", "--n", "1"}, {.input = lines});
    INFO(r.err);
    REQUIRE(r.status == 0);
    std::istringstream out(r.out);
    for (int i = 0; i < 20; ++i) {
        std::string line;
        std::getline(out, line);
        CHECK(line.starts_with(autograd::join(i, " ||| ")));
    }
    CHECK(contains(r.err, ":12: longer than 31 pieces: the rest is left out"));
    CHECK(contains(r.err, "first '猫' in line 15"));
}

TEST_CASE("translate run --scores writes the score of each translation, and a tab before it",
          "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "1"})).status == 0);
    const With input = {.input = "one.\ntwo three.\n"};
    const Words listed = lines_of(translate({"run", f.run, "--n", "1"}, input).out);
    REQUIRE(listed.size() == 2);
    std::string expected;
    for (const std::string& line : listed) {  // 0 ||| text ||| score
        const std::size_t text = line.find(" ||| ") + 5, end = line.rfind(" ||| ");
        expected += line.substr(end + 5) + "\t" + line.substr(text, end - text) + "\n";
    }
    CHECK(translate({"run", f.run, "--scores"}, input).out == expected);
}

TEST_CASE("translate run --align: behind the translations of --n and of --scores, too", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "1"})).status == 0);
    const auto lines = [&](const Words& more) {
        return lines_of(translate(joined({"run", f.run}, more), {.input = "one.\ntwo three.\n"}).out);
    };
    const Words aligned = lines({"--align"});
    REQUIRE(aligned.size() == 2);
    for (const Words& words : {Words{"--n", "1"}, Words{"--scores"}}) {
        Words expected = lines(words);
        REQUIRE(expected.size() == 2);
        for (std::size_t i = 0; i < 2; ++i)
            expected[i] += aligned[i].substr(aligned[i].rfind(" ||| "));
        CHECK(lines(joined(words, {"--align"})) == expected);
    }
}

TEST_CASE("translate: text that is in tokens is scored as fairseq does", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--tokenized", "--stop-after", "1"})).status == 0);
    const Result r = translate({"score", f.run, f.data, "--beam", "1"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, "\nBLEU4 = "));
    CHECK_FALSE(contains(r.out, "tok:13a"));
}

TEST_CASE("translate takes the merges of --codes, and keeps them", "[apps][translate]") {
    const Files f;
    const std::string codes = "#version: 0.2\no n\nt w\n", file = f.folder.write("codes", codes);
    const Result begun = translate(f.train({"--codes", file, "--save", f.run, "--stop-after", "1"}));
    INFO(begun.err);
    REQUIRE(begun.status == 0);
    const std::string kept = content(f.run + "/tokenizer.json");
    CHECK(models::text::Tokenizer::open(f.run).pieces("two") == Words{"tw", "o</w>"});
    std::filesystem::remove(file);
    CHECK(translate({"train", "--resume", f.run, "--stop-after", "1"}).status == 0);
    CHECK(content(f.run + "/tokenizer.json") == kept);
}

TEST_CASE("translate --label-smoothing spreads so much of the target over all words", "[apps][translate]") {
    const Files f;
    const auto first_loss = [&](const std::string& share) {
        const Result r = translate(f.train(
            {"--label-smoothing", share, "--stop-after", "1", "--save", f.folder / ("smooth" + share)}));
        INFO(r.err);
        return number_after(losses(r).at(0), "  loss ");
    };
    // Of the same answers: partly the loss of the right word, and partly the mean loss of all words.
    const double none = first_loss("0"), half = first_loss("0.4"), more = first_loss("0.8");
    CHECK(std::abs(more - none) > 1e-4);
    CHECK(half == Approx((none + more) / 2).margin(1e-5));
}

TEST_CASE("translate in lower case compares in lower case, as BLEU's signature says", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--lower-case", "--stop-after", "1"})).status == 0);
    const std::string last = f.run + "/last.safetensors";
    const Result r = translate({"score", last, f.data, "--beam", "1"});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, "BLEU|nrefs:1|case:lc|"));
}

TEST_CASE("translate --check smooths labels where the model learns, and nowhere else", "[apps][translate]") {
    const Files f;
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
    const std::string text = folder.write("text", "low low low lower lowest newer newer\n");
    CHECK(translate({"learn-bpe", "--merges", "2", text}).out == "#version: 0.2\nl o\nw e\n");
    const std::string few = folder.write("few", "ab ab ab\n"),
                      many = folder.write("many", "xy xy xy xy xy\n");
    CHECK(translate({"learn-bpe", few, many}).out == "#version: 0.2\nx y</w>\na b</w>\n");
    refused(1, translate({"learn-bpe", folder / "none"}), "none: ");
    const std::string one = folder.write("one", "a\xff\n"), two = folder.write("two", "\xff\xff\n");
    CHECK(translate({"learn-bpe", few, one, two}).err ==
          "translate: " + one + ": bytes that are not text, read as U+FFFD: 1\ntranslate: " + two +
              ": bytes that are not text, read as U+FFFD: 2\n");
}

TEST_CASE("translate reports errors, and nothing is lost", "[apps][translate]") {
    const Files f;
    const auto train = [&](const Words& more) { return translate(joined({"train"}, more)); };
    const std::string en = f.folder.write("en", "a\nb\nc\n"), de = f.folder.write("de", "A\nB\n");
    refused(2, translate({}), "a command is needed");
    refused(2, translate({"fly"}), "unknown command 'fly'");
    refused(2, train({}), "an argument is missing: SOURCE TARGET | TSV");
    refused(1, train({en, de, "--save", f.run}), "3 lines");
    refused(1, train({f.folder / "none", "--save", f.run}), "none: ");
    refused(1, train({f.folder.path, "--save", f.run}), f.folder.path);
    refused(1, train({f.folder.write("empty", ""), "--save", f.run}), "empty");
    refused(2, train({f.data, "--save", f.run, "--context", "200", "--batch-tokens", "100"}),
            "--context 200");
    refused(1, train({f.data, "--save", en}), en);
    refused(1, train({"--resume", f.folder / "none"}), "there is no run in this folder");
    refused(2, train({f.data}), "--save FOLDER is missing");
    refused(2, train({f.data, "--save", f.run, "--validation", "a,"}), "--validation takes SOURCE,TARGET");
    refused(2, train({f.data, "--save", f.run, "--heads", "3"}),
            "--d-model 128 must be a multiple of --heads 3");
    const std::string tiny = f.folder.write("tiny", "a b c\tb\n");
    refused(2, train({tiny, "--save", f.run, "--bytes", "--min-count", "2"}), "not for --bytes");
    refused(2, train({tiny, "--save", f.run, "--bytes", "--codes", tiny}), "not for --bytes");
    refused(1, train({f.folder.write("long", std::string(2'000'000, 'a') + "\tb\n"), "--save", f.run}),
            "long:1: a line of 2000002 bytes");
    refused(1, train({tiny, "--save", f.run, "--context", "2"}),
            "no pair is short enough; --context allows 2");
    refused(1, train({f.data, "--save", f.run, "--min-count", "100000"}), "the vocabulary is empty");
    refused(1,
            train({f.data, "--save", f.run, "--context", "16384", "--batch-tokens", "16384", "--layers", "1",
                   "--d-model", "512"}),
            "a table of positions that is larger than the model");  // which could not be loaded again
    std::string many;                                               // fill a batch of 16 million tokens
    for (int i = 0; i < 2000; ++i)
        many.append("a\tb\n");
    for (int i = 0; i < 16'000; ++i)
        many.append("a ");
    const std::string large = f.folder.write("large", many + "\tb\n");
    refused(1, train({large, "--save", f.run, "--batch-tokens", "16777216", "--context", "16384"}),
            ", but only ");
    CHECK(!std::filesystem::exists(f.run));  // a refused run leaves no trace
    refused(1, translate({"run", f.data}), f.data);
    refused(1, translate({"run", f.folder.path}),
            "there is no model in this folder: neither model.safetensors nor");

    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "2"})).status == 0);
    const std::string last = f.run + "/last.safetensors", before = content(last);
    for (const auto& [good, bad] :
         {std::pair{"translate.epoch\":\"0", "translate.epoch\":\"x"}, {"--merges=30", "--mergez=30"}}) {
        std::string broken = before;
        REQUIRE(broken.find(good) != std::string::npos);
        put(last, broken.replace(broken.find(good), std::string(good).size(), bad));
        refused(1, train({"--resume", f.run}), last);
    }
    put(last, before);
    refused(1, translate(f.train({"--save", f.run})), "there is a run in this folder already");
    refused(2, train({"--resume", f.run, "--merges", "50"}), "--merges cannot be given again");
    refused(2, train({"--resume", f.run, "--save", f.folder / "other"}), "--save cannot be given again");
    put(f.data, pairs() + "one\teins\n");
    refused(1, train({"--resume", f.run}), "it can only continue with the same");
    put(f.data, pairs());
    CHECK(content(last) == before);
    for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{2000}, before.size() - 1}) {
        put(last, before.substr(0, length));
        refused(1, train({"--resume", f.run}), "last.safetensors");
        refused(1, translate({"run", last}), "last.safetensors");
    }
    put(last, before);
    put(last + ".plaingrad-tmp", "half");  // a run that was killed while it wrote
    CHECK(train({"--resume", f.run}).status == 0);
    CHECK(!std::filesystem::exists(last + ".plaingrad-tmp"));

    // The run has ended: the same model comes out again, or an error if its files have gone.
    const std::string model = content(f.run + "/model.safetensors");
    const Result ended = train({"--resume", f.run});
    CHECK((ended.status == 0 && contains(ended.err, "this run has ended, after step 14: ")));
    CHECK((content(f.run + "/model.safetensors") == model && !model.empty()));
    std::filesystem::remove(f.run + "/epoch-1.safetensors");
    refused(1, train({"--resume", f.run}), "epoch-1.safetensors");
    CHECK(content(f.run + "/model.safetensors") == model);
}

TEST_CASE("translate: two runs don't write into one folder", "[apps][translate]") {
    const Files f;
    Running run("translate", f.train({"--steps", "100000000", "--save", f.run}));
    REQUIRE(run.says("step         1/"));
    refused(1, translate({"train", "--resume", f.run}), "another run is writing into this folder");
    run.interrupt(SIGTERM);
    CHECK(run.wait().status == 143);
}

TEST_CASE("translate with bytes reads any bytes, and writes one line for each line", "[apps][translate]") {
    const Files f;
    put(f.data, pairs() + "caf\xe9\tx\xff\n");
    const Result trained = translate(f.train({"--save", f.run, "--bytes", "--merges", "0", "--steps", "1"}));
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    std::string input;
    for (int i = 0; i < 40; ++i)
        input.append("one \xe9 ").append(std::to_string(i)).append("\n");
    const std::string file = f.folder.write("input", input);
    const Result r = translate({"run", f.run, file, "--beam", "1"});
    CHECK(std::count(r.out.begin(), r.out.end(), '\n') == 40);
    CHECK(r.out == translate({"run", f.run, "--beam", "1", "--batch", "1"}, {.input = input}).out);
    CHECK(std::count(r.out.begin(), r.out.end(), '\0') == 0);
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);  // nothing is replaced, nothing unknown
}

TEST_CASE("translate --validation: both of two files may have commas in their names", "[apps][translate]") {
    const Files f;
    const std::string en = f.folder.write("a,b.en", "one two.\n"),
                      de = f.folder.write("a,b.de", "zwei eins.\n");
    const Result r = translate(f.train({"--save", f.run, "--steps", "1", "--validation", en + "," + de}));
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.err, en + ", " + de + ": 1 pair; pairs that are in the training data: 1"));
}

TEST_CASE("translate checks the data first", "[apps][translate]") {
    const Files f;
    put(f.data, pairs() + "\nonly\none two.\tzwei eins.\n");
    const Result r = translate(f.train({"--save", f.run, "--steps", "1"}));
    INFO(r.err);
    CHECK(r.status == 1);  // a line without a tab
    CHECK(contains(r.err, "pairs.tsv:110"));
    put(f.data, pairs() + "\none two.\tzwei eins.\n");
    const Result good = translate(f.train({"--save", f.run, "--steps", "1"}));
    CHECK(good.status == 0);
    CHECK(contains(good.err, "duplicate"));
}
