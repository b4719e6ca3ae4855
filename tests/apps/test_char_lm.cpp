// char_lm, run as a user runs it: training, saving, sampling, measuring.
#include <cmath>
#include <cstdlib>
#include <set>

#include "models/saved.h"
#include "models/text/learn_tokenizer.h"
#include "models/writer.h"
#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result char_lm(const Words& arguments, const With& with = {}) { return run("char_lm", arguments, with); }

// A wrong command line, or bad data: one line that contains `part`, nothing on standard output.
void refused(int status, const Words& arguments, const std::string& part) {
    const Result r = char_lm(arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    CHECK(one_line(r.err, "char_lm: "));
    CHECK(contains(r.err, part));
}

Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// Learns in a moment, in every build.
Words train(const std::string& file, const Words& more = {}) {
    return joined({"train", file, "--layers", "1", "--heads", "2", "--d-model", "16", "--context", "16",
                   "--batch", "8", "--lr", "0.01", "--steps", "80"},
                  more);
}

// "abc" n times.
std::string repeated(const std::string& piece, int n) {
    std::string text;
    for (int i = 0; i < n; ++i)
        text += piece;
    return text;
}

// The number after `what` on its line of standard output.
double figure(const Result& r, const std::string& what) {
    for (const std::string& line : lines_of(r.out))
        if (line.starts_with(what))
            return std::strtod(line.c_str() + what.size(), nullptr);
    return std::nan("");
}

}  // namespace

TEST_CASE("char_lm learns its own text", "[.][slow][apps][char_lm]") {
    const Result r = char_lm({});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(figure(r, "validation loss") < 1.3);
    CHECK(figure(r, "a bigram table") > 2);
    CHECK(r.out.size() > 500);
    CHECK(contains(r.out, "Wind "));
}

TEST_CASE("char_lm learns a text, saves the model, continues the text, and evaluates", "[apps][char_lm]") {
    const Folder folder;
    const std::string text = repeated("der Bär\nißt 1 €!\n", 40);
    const std::string file = folder.write("text.txt", "\xef\xbb\xbf" + text), model = folder / "run";
    const Result trained = char_lm(train(file, {"--save", model}));
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    CHECK(contains(trained.err, "612 characters to learn from, 68 held out; 13 different characters\n"));
    CHECK(contains(trained.err, "saved " + model + "/model.safetensors, with the weights of step 80\n"));
    CHECK(figure(trained, "validation loss") < 0.3);
    CHECK(figure(trained, "a bigram table") > 0.3);
    CHECK(lines_of(trained.out).size() == 2);  // no sample

    const Words greedy = {"sample", model, "--prompt", "der B", "--tokens", "60", "--temperature", "0"};
    const Result written = char_lm(greedy);
    CHECK(written.status == 0);
    CHECK(written.err.empty());
    // 5 + 60 characters, over four times the context.
    CHECK(written.out == repeated("der Bär\nißt 1 €!\n", 3) + "der Bär\nißt 1 \n");
    CHECK(char_lm({"sample", model, "--prompt", "", "--tokens", "9"}).out ==
          char_lm({"sample", model, "--tokens", "9"}).out);
    CHECK(char_lm({"sample", model, "--prompt", "der B", "--tokens", "60", "--top-k", "1", "--seed", "5"})
              .out == written.out);
    CHECK(char_lm({"sample", model, "--prompt", "der B", "--tokens", "60", "--top-p", "0.000001"}).out ==
          written.out);
    CHECK(char_lm({"sample", model, "--tokens", "0"}).out == "\n");
    CHECK(char_lm({"sample", model, "--tokens", "7", "--temperature", "0"}).out == "der Bär\n");

    // The held-out part, given as a file of its own, has the same loss.
    const std::string last = folder.write("last.txt", text.substr(text.size() - 4 * 21));
    const Result measured = char_lm({"eval", model, last});
    INFO(measured.out << measured.err);
    CHECK(measured.status == 0);
    CHECK(contains(measured.out, " bits per character, over 67\n"));
    CHECK(figure(measured, "loss") == figure(trained, "validation loss"));
}

TEST_CASE("char_lm's losses are means over all predictions", "[apps][char_lm]") {
    const Folder folder;
    const std::string path = folder / "run", piece = "ab";
    const Result r =
        char_lm(train(folder.write("text.txt", repeated(piece, 50)), {"--steps", "3", "--save", path}));
    INFO(r.out << r.err);
    // The 90 training characters: b follows all 45 a's, a follows 44 b's; plus one each.
    const double expected = -(5 * std::log(46.0 / 47) + 4 * std::log(45.0 / 46)) / 9;
    CHECK(figure(r, "a bigram table") == Approx(expected).margin(6e-5));

    // 40 characters: 16 and 16 and 7 are predicted.
    const std::string text = repeated("abbabaaaba", 4);
    const models::LanguageModel model =
        models::load_model<models::LanguageModel>(path + "/model.safetensors");
    double sum = 0;
    for (int begin = 0; begin < 39; begin += 16) {
        std::vector<int32_t> read, next;
        for (int i = begin; i < std::min(begin + 16, 39); ++i) {
            read.push_back(text[static_cast<std::size_t>(i)] == 'a' ? 4 : 5);
            next.push_back(text[static_cast<std::size_t>(i + 1)] == 'a' ? 4 : 5);
        }
        const auto n = static_cast<int64_t>(read.size());
        const autograd::Tensor logits = model(models::Tokens(1, n, read), models::Mode::eval());
        sum += static_cast<double>(autograd::cross_entropy(logits, models::Tokens(1, n, next)).item()) *
               static_cast<double>(n);
    }
    const Result measured = char_lm({"eval", path, folder.write("other.txt", text)});
    CHECK(figure(measured, "loss") == Approx(sum / 39).margin(6e-5));
    CHECK(contains(measured.out, " over 39\n"));
}

TEST_CASE("char_lm reads several files as one text", "[apps][char_lm]") {
    const Folder folder;
    const std::string a = folder.write("a", repeated("ab", 50)), b = folder.write("b", repeated("cd", 50)),
                      model = folder / "run";
    const Result r = char_lm(train(a, {b, "--steps", "2", "--save", model}));
    INFO(r.err);
    CHECK(contains(r.err, "180 characters to learn from, 20 held out; 4 different characters\n"));
    CHECK(contains(char_lm({"eval", model, a, b}).out, " over 199\n"));
}

TEST_CASE("char_lm: the loss at the end is that of everything held out, however much", "[apps][char_lm]") {
    // While it trains, it measures only a part of so much.
    const Folder folder;
    const std::string piece = "abcdefghij", model = folder / "run",
                      file = folder.write("text.txt", repeated(piece, 17'000));
    const Result r = char_lm(train(file, {"--steps", "1", "--save", model}));
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    CHECK(lines_of(r.out)[0].ends_with(" bits per character, over 16,999"));
    const Result last = char_lm({"eval", model, folder.write("last.txt", repeated(piece, 1'700))});
    CHECK(contains(last.out, ", over 16,999\n"));
    CHECK(figure(last, "loss") == figure(r, "validation loss"));
}

TEST_CASE("char_lm gives the same results with the same seed, for any number of threads", "[apps][char_lm]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    int runs = 0;
    const auto all = [&](const Words& more) {
        const std::string model = folder / ("run" + std::to_string(++runs));
        const Result r =
            char_lm(train(file, joined({"--steps", "20", "--dropout", "0.1", "--save", model}, more)));
        return r.out + content(model + "/model.safetensors");
    };
    const std::string first = all({"--threads", "1"});
    CHECK(all({"--threads", "3"}) == first);
    CHECK(all({"--seed", "2"}) != first);

    const auto sample = [&](const Words& more) {
        return char_lm(joined({"sample", folder / "run1", "--tokens", "50"}, more)).out;
    };
    const std::string drawn = sample({"--seed", "3"});
    CHECK(drawn.size() == 51);
    CHECK(sample({"--seed", "3", "--threads", "2"}) == drawn);
    CHECK(sample({"--seed", "4"}) != drawn);
    CHECK(sample({"--seed", "3", "--temperature", "2"}) != drawn);
}

TEST_CASE(
    "char_lm --config modern: resumed it has the same bits, and it writes with its cache what it would "
    "without",
    "[apps][char_lm]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    const std::string whole = folder / "whole", parts = folder / "parts";
    const Words modern = {"--config", "modern", "--heads", "4", "--dropout", "0.1"};
    const Result trained = char_lm(train(file, joined(modern, {"--save", whole})));
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    CHECK(figure(trained, "validation loss") < 1);
    REQUIRE(char_lm(train(file, joined(modern, {"--save", parts, "--stop-after", "30"}))).status == 0);
    CHECK(contains(char_lm({"info", parts}).out, "--config modern"));
    refused(2, {"train", "--resume", parts, "--config", "2017"}, "--config can't be given again");
    const Result resumed = char_lm({"train", "--resume", parts, "--threads", "3"});
    CHECK(resumed.out == trained.out);
    CHECK(content(parts + "/model.safetensors") == content(whole + "/model.safetensors"));

    // `sample` reads one character at a time; here all that is written so far is read again for the next one.
    const models::Writer writer = models::Writer::load(whole);
    const models::LanguageModel& model = writer.model;
    CHECK(model.config.block.n_kv_heads == 1);
    std::vector<int32_t> ids = writer.tokenizer.encode("once");
    while (ids.size() < 16) {
        const auto n = static_cast<int64_t>(ids.size());
        const autograd::Tensor logits = model(models::Tokens(1, n, ids), models::Mode::eval());  // (1, T, V)
        const autograd::Real* const last = logits.data() + (n - 1) * logits.size(-1);
        const auto from = last + models::kFirstFreeId;
        ids.push_back(static_cast<int32_t>(std::max_element(from, last + logits.size(-1)) - last));
    }
    CHECK(char_lm({"sample", whole, "--prompt", "once", "--tokens", "12", "--temperature", "0"}).out ==
          writer.tokenizer.decode(ids) + "\n");
}

TEST_CASE("char_lm learns rows as long as the context wherever they begin", "[apps][char_lm]") {
    // 80 steps of 8 pieces are less than a round of this text. The held-out part begins within a row.
    const Folder folder;
    const Result r = char_lm(train(folder.write("rows.txt", repeated("aaaaaaabbbbbbbb\n", 1000))));
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    const std::string last = losses(r).back();
    const double training = std::stod(last.substr(last.find("loss ") + 5));
    CHECK(figure(r, "validation loss") < training + 0.2);
}

TEST_CASE("char_lm: without a prompt, a text begins as a line does", "[apps][char_lm]") {
    const Folder folder;
    const auto read_at_first = [&](const std::string& name, const std::string& text) {
        const Result r = char_lm({"train", folder.write(name + ".txt", repeated(text, 40)), "--steps", "1",
                                  "--context", "8", "--save", folder / name});
        INFO(r.err);
        REQUIRE(r.status == 0);
        const models::Writer w = models::Writer::load(folder / name);
        return w.tokenizer.decode(w.encode(""));
    };
    CHECK(read_at_first("lines", "a\tb\n") == "\n");  // a tab is a smaller character
    CHECK(read_at_first("no-lines", "ba") == "a");
}

TEST_CASE("char_lm learns bytes", "[apps][char_lm]") {
    const Folder folder;
    const std::string piece = std::string("\0\xff\r\n\x80z", 6), model = folder / "run";
    const std::string file = folder.write("data.bin", repeated(piece, 60));
    refused(1, train(file), file + ": there is a NUL byte in this file: it is not text");
    const Result r = char_lm(train(file, {"--bytes", "--save", model}));
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, " bits per byte, over 35\n"));
    // What is no UTF-8 is written as U+FFFD.
    const std::string written("\0\xef\xbf\xbd\r\n\xef\xbf\xbdz", 10);
    CHECK(char_lm({"sample", model, "--prompt", "z", "--tokens", "12", "--temperature", "0"}).out ==
          "z" + written + written + "\n");
    CHECK(char_lm({"eval", model, folder.write("other.txt", "never seen")}).status == 0);
}

TEST_CASE("char_lm learns lines, and invents new ones", "[apps][char_lm]") {
    const Folder folder;
    std::string text;
    for (const char* first : {"ba", "ki", "lo", "mu", "ne"})
        for (const char* second : {"ra", "ti", "so", "du", "fe"})
            if (std::string(first) + second != "muti")
                text += std::string(first) + second + "\r\n\n";
    const std::string file = folder.write("names.txt", text), model = folder / "run";
    const Words lines = {"--lines", "--steps", "150", "--save", model};
    const Result trained = char_lm(train(file, lines));
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    CHECK(contains(trained.err, "22 lines to learn from, 2 held out; 15 different characters\n"));
    CHECK(contains(trained.out, " bits per character, over 10\n"));  // 4 characters and the end, twice

    const Result written = char_lm({"sample", model, file, "--count", "40", "--temperature", "1.2"});
    INFO(written.out);
    CHECK(written.status == 0);
    Words drawn = lines_of(written.out);
    REQUIRE(drawn.size() == 41);
    const std::string summary = drawn.back();
    drawn.pop_back();
    const Words old = lines_of(text);
    int fresh = 0, of_four = 0;
    for (const std::string& line : drawn) {
        fresh += contains("\n" + text, "\n" + line + "\r\n") ? 0 : 1;
        of_four += line.size() == 4 ? 1 : 0;
    }
    CHECK(summary == "new, not in the data: " + std::to_string(fresh) + "/40");
    CHECK(fresh > 0);
    CHECK(of_four > 30);
    CHECK(std::set<std::string>(drawn.begin(), drawn.end()).size() > 10);

    for (const std::string& line : lines_of(char_lm({"sample", model, "--prompt", "ki", "--count", "3"}).out))
        CHECK(line.starts_with("ki"));
    CHECK(contains(char_lm({"eval", model, file}).out, " over 120\n"));
    refused(1, {"eval", model, folder.write("long.txt", "ba\n" + repeated("ra", 20) + "\n")},
            "long.txt: the longest line has 40 characters; the model takes 15");
    refused(1, {"eval", model, file, folder / "long.txt"},
            "the files: the longest line has 40 characters; the model takes 15");
    refused(1, {"sample", model, folder.write("other.txt", "ba\n\nbax\n")},
            "other.txt:3: character 3 of this line is \"x\"");
    refused(1, {"sample", model, "--prompt", repeated("ra", 20)},
            "the prompt has 40 characters; the model takes 15");
    const Words other = {"--lines", "--steps", "150", "--save", folder / "other"};
    refused(1, train(folder.write("text.txt", repeated(repeated("word ", 300) + "\n", 20)), other),
            "the longest has 1500 characters; --context 1501 allows it");
}

TEST_CASE("char_lm --lines selects the preset for names, unless another one is given", "[apps][char_lm]") {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 30; ++i)
        text += "name" + std::to_string(i) + "\n";
    const std::string file = folder.write("names.txt", text);
    int runs = 0;
    const auto first_loss = [&](const Words& more) {
        const std::string model = folder / std::to_string(++runs);
        const Result r = char_lm(joined({"train", file, "--lines", "--steps", "1", "--save", model}, more));
        INFO(r.err);
        REQUIRE(r.status == 0);
        return losses(r).at(0);
    };
    const std::string usual = first_loss({});
    CHECK(usual == first_loss({"--preset", "names"}));
    CHECK(usual != first_loss({"--preset", "tiny"}));
}

TEST_CASE("char_lm keeps the best model, and stops when its patience ends", "[apps][char_lm]") {
    // What the model learns from the first part is wrong for the last, so the loss there rises after a while.
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("abcd", 90) + repeated("dcba", 10));
    const std::string model = folder / "run", page = folder / "page.html";
    const Result r = char_lm(train(file, {"--steps", "5000", "--validate-every", "5", "--patience", "4",
                                          "--save", model, "--report", page}));
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    REQUIRE(std::filesystem::exists(page));  // written at the end of a run, whatever ends it
    CHECK(contains(content(page), R"(["char_lm",0,[)"));
    CHECK(contains(r.err, "(not better)"));
    CHECK_FALSE(contains(r.err, "step 5000"));
    const Result measured = char_lm({"eval", model, folder.write("last.txt", repeated("dcba", 10))});
    CHECK(figure(measured, "loss") == figure(r, "validation loss"));
    CHECK(
        contains(char_lm({"train", "--resume", model}).err,
                 "; its --patience ended it, so a longer run must be a new one with a larger --patience\n"));
}

TEST_CASE("char_lm saves when it is interrupted", "[apps][char_lm]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    const std::string model = folder / "run";
    Running training("char_lm", train(file, {"--steps", "100000000", "--save", model}));
    REQUIRE(training.says("step       100/"));
    training.interrupt();
    const Result r = training.wait();
    INFO(r.err);
    CHECK(r.status == 130);
    CHECK(r.out.empty());
    CHECK(contains(r.err, "saved after step "));
    CHECK(contains(r.err, "; continue with --resume " + model + "\n"));
    CHECK(r.err.ends_with("char_lm: interrupted\n"));
    CHECK(char_lm({"sample", model, "--tokens", "5"}).status == 0);

    Running unsaved("char_lm", train(file, {"--steps", "100000000"}));
    REQUIRE(unsaved.says("step         1/"));
    unsaved.interrupt();
    const Result lost = unsaved.wait();
    CHECK(lost.status == 130);
    CHECK(contains(lost.err, "stopped; nothing was saved: there was no --save FOLDER\n"));
}

TEST_CASE("char_lm says what is wrong with a text", "[apps][char_lm]") {
    const Folder folder;
    const std::string model = folder / "run";
    const auto wrong = [&](const std::string& text, const std::string& part, const Words& more = {}) {
        const std::string file = folder.write("text.txt", text);
        refused(1, train(file, joined({"--save", model}, more)), file + part);
    };
    wrong("", ": the file is empty");
    wrong("\xef\xbb\xbf", ": this text consists of one character only");
    wrong(repeated("a", 100), ": this text consists of one character only");
    wrong("short", ": a text of 5 characters; at least 20 are needed");
    wrong("a\nb\nc", ": a text of 3 lines; at least 20 are needed", {"--lines"});
    wrong(
        "good\nba\xff"
        "d\n",
        ":2: byte 3 of this line is not UTF-8");
    wrong(
        "good\nba\xff"
        "d\n",
        ":2: byte 3 of this line is not UTF-8", {"--lines"});
    refused(1, train(folder / "none.txt", {"--save", model}), "none.txt: cannot be opened: ");
    refused(1, train(folder / "", {"--save", model}), ": this is a directory");
    const std::string good = folder.write("good.txt", repeated("good ", 20));
    refused(1, train(good, {"--save", good}), "this folder cannot be made");
    CHECK_FALSE(std::filesystem::exists(model));
}

TEST_CASE("char_lm says what is wrong with a model", "[apps][char_lm]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    const std::string model = folder / "run";
    REQUIRE(char_lm(train(file, {"--steps", "2", "--save", model})).status == 0);
    refused(1, {"sample", model, "--prompt", "a tinxy"},
            "the prompt:1: character 6 of this line is \"x\", which is not ");
    refused(2, {"sample", model, file}, "FILE is for models trained with --lines");
    refused(2, {"sample", model, "--count", "2"}, "--count is for models trained with --lines");
    const std::string last = model + "/last.safetensors";
    std::string bytes = content(last);
    bytes.replace(bytes.find("--config=gpt2"), 13, "--config=gpt7");
    tests::put(last, bytes);
    refused(1, {"train", "--resume", model},
            last + ": --config must begin with 2017, gpt2 or modern: got 'gpt7");
    refused(1, {"sample", model, "--prompt", "a\xff"}, "the prompt:1: byte 2 of this line is not UTF-8");
    refused(1, {"eval", model, folder.write("one.txt", "o")}, "one.txt: there is nothing to predict");
    refused(1, {"eval", model, folder.write("empty.txt", "")}, "empty.txt: the file is empty");

    // Whatever is drawn is a known character, and the text has no end.
    const Result drawn = char_lm({"sample", model, "--temperature", "1e9", "--tokens", "300"});
    CHECK((drawn.status == 0 && drawn.out.size() == 301 && !contains(drawn.out, "<")));
    // Unknown characters are counted and left out.
    const Result known = char_lm({"eval", model, folder.write("known.txt", "once upon a time")});
    const Result other = char_lm({"eval", model, folder.write("other.txt", "once\n uponéX a time")});
    CHECK((other.status == 0 && other.out == known.out && known.err.empty() &&
           contains(known.out, "over 15\n")));
    CHECK(other.err == "char_lm: characters that the model does not know, left out: 3\n");
    CHECK(char_lm({"eval", model, folder.write("none.txt", "XYZ")}).status == 1);

    const std::string whole = content(model + "/model.safetensors");
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1})
        refused(1, {"sample", folder.write("cut", whole.substr(0, size))}, "cut: ");
    refused(1, {"sample", file}, "text.txt: ");
    refused(1, {"sample", folder / "none"}, "none: ");
    refused(1, {"sample", folder / ""},
            "there is neither model.safetensors nor model.safetensors.index.json");

    using models::Config;
    const Config config = {
        .vocabulary = 10, .max_length = 8, .n_layers = 1, .block = {.d_model = 8, .n_heads = 2, .d_ff = 8}};
    const std::string ours = folder / "other";
    models::save(ours, models::LanguageModel(config, models::Rng(1)));
    refused(1, {"sample", ours}, "model.safetensors: there is no tokenizer.json beside it; copy it from ");
    models::text::learn_characters({"abc"}).save(ours);
    refused(1, {"sample", ours}, "other: the tokenizer has 7 ids, the model 10");
    folder.write("other/tokenizer.json", "{");
    refused(1, {"sample", ours}, "tokenizer.json: ");
    models::save(ours, models::Classifier(models::with_classes(config, 2), models::Rng(1)));
    refused(1, {"eval", ours, file}, "config.json: a language model is needed: got a classifier");
}

TEST_CASE("char_lm refuses wrong command lines", "[apps][char_lm]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    refused(2, {"learn"}, "unknown command 'learn'; there are train, sample, eval");
    refused(2, {"train"}, "an argument is missing: FILE...");
    refused(2, {"sample"}, "an argument is missing: MODEL [FILE...]");
    refused(2, {"eval", "model"}, "an argument is missing: MODEL FILE...; ");
    refused(2, {"info", "run", "other"}, "there are too many arguments: FOLDER; given: run, other; ");
    refused(2, {"--save", "x"}, "unknown option '--save'");
    refused(2, {"train", file, "--preset", "large"}, "--preset must be one of tiny|small|names: got 'large'");
    refused(2, {"train", file, "--heads", "3"}, "--d-model 128 must be a multiple of --heads 3");
    for (const char* const config : {"2016", "modern2", "+rotary"})
        refused(2, {"train", file, "--config", config},
                "--config must begin with 2017, gpt2 or modern: got '" + std::string(config) + "'");
    refused(2, {"train", file, "--config", "2017+rotery"},
            "--config 2017+rotery: there is no change 'rotery'; did you mean rotary? there are pre-norm, ");
    refused(2, {"train", file, "--config", "modern+"}, "--config modern+: there is no change ''; there are ");
    refused(
        2, {"train", file, "--config", "modern", "--d-model", "12"},
        "--config modern: rotary positions turn pairs of numbers, so --d-model / --heads must be even: got "
        "12 / 4");
    refused(2, {"train", file, "--dropout", "1"}, "--dropout needs a number from 0 to 0.99: got '1'");
    refused(2, {"train", file, "--context", "0"}, "--context needs a whole number from 1 ");
    refused(2, {"train", file, "--steps", "0"}, "--steps needs ");
    refused(1, {"train", file, "--save", folder / "./text.txt"}, "this folder cannot be made");
    refused(1, {"train", file, "--context", "60000"},
            "--context 60000 is longer than the text to learn from");
    refused(2, {"sample", "model", "--temperature", "-1"}, "--temperature needs ");
    refused(2, {"sample", "model", "--top-p", "0"}, "--top-p needs ");
    refused(2, {"sample", "model", "--top-k", "-1"}, "--top-k needs ");
    for (const char* command : {"train", "sample", "eval"}) {
        const Result r = char_lm({command, "--help"});
        CHECK(r.status == 0);
        CHECK(r.out.starts_with(std::string("char_lm ") + command + ": "));
        CHECK(contains(r.out, "usage: ./apps/char_lm " + std::string(command) + " "));
    }
}
