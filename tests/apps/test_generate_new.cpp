// generate train with texts alone, run as a user runs it: a new model of characters, bytes or lines.
#include <cmath>
#include <set>

#include "apps/programs/generate/generate.h"
#include "models/saved.h"
#include "models/text/learn_tokenizer.h"
#include "tests/apps/programs.h"
#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result ran(const Words& arguments, const With& with = {}) { return run("generate", arguments, with); }

// A wrong command line, or bad data: nothing on standard output, and a last line that contains `part`.
void refused(int status, const Words& arguments, const std::string& part) {
    const Result r = ran(arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    REQUIRE_FALSE(r.err.empty());
    CHECK(lines_of(r.err).back().starts_with("generate: "));
    CHECK(contains(lines_of(r.err).back(), part));
}

// Learns in a moment, in every build.
Words train(const std::string& file, const Words& more = {}) {
    return joined({"train", file, "--layers", "1", "--heads", "2", "--d-model", "16", "--context", "16",
                   "--batch", "8", "--lr", "0.01", "--steps", "80"},
                  more);
}

std::string repeated(const std::string& piece, int n) {
    std::string text;
    for (int i = 0; i < n; ++i)
        text += piece;
    return text;
}

// Nats per token of what is held out, and of a file.
double held_out(const Result& r) { return number_after(r.out, "held out, after: "); }
double score(const std::string& model, const std::string& file) {
    return number_after(ran({"score", model, file, "--stride", "16"}).out, file + ": ");
}

}  // namespace

TEST_CASE("generate without a model learns a built-in text, and continues it", "[.][slow][apps][generate]") {
    const Result r = ran({});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(held_out(r) < 1.3);
    CHECK(r.out.size() > 400);
    CHECK(contains(r.out, "Wind "));
}

TEST_CASE("generate train: a new model learns a text, continues it, and is measured", "[apps][generate]") {
    const Folder folder;
    const std::string line = "der Bär\nißt 1 €!\n", text = repeated(line, 40);
    const std::string file = folder.write("text.txt", "\xef\xbb\xbf" + text), model = folder / "run";
    const Result trained = ran(train(file, {"--save", model}));
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    CHECK(contains(trained.err, "612 tokens to learn from, 68 held out; vocabulary 17\n"));
    CHECK(contains(trained.err, "saved " + model + "/model.safetensors, with the weights of step 80\n"));
    CHECK(held_out(trained) < 0.3);
    CHECK(lines_of(trained.out).size() == 1);  // no sample

    const Words prompt = {model, "--prompt", "der B", "--tokens", "60"};
    const Result written = ran(joined(prompt, {"--temperature", "0"}));
    CHECK(written.status == 0);
    // 5 + 60 characters, over four times the context.
    CHECK(written.out == repeated(line, 3) + "der Bär\nißt 1 \n");
    CHECK(ran(joined(prompt, {"--top-k", "1", "--seed", "5"})).out == written.out);
    CHECK(ran(joined(prompt, {"--top-p", "0.000001"})).out == written.out);
    CHECK(ran({model, "--prompt", "", "--tokens", "0"}).out == "\n");
    CHECK(ran({model, "--prompt", "", "--tokens", "7", "--temperature", "0"}).out == "der Bär\n");
    CHECK(contains(ran({"info", model}).out, "settings: --preset tiny --layers 1 --heads 2 --d-model 16 "));

    // The held-out part, given as a file of its own, has the same loss, but for its first character.
    const std::string last = folder.write("last.txt", text.substr(text.size() - 4 * 21));
    const Result measured = ran({"score", model, last, "--stride", "16"});
    INFO(measured.out << measured.err);
    CHECK(contains(measured.out, " over 68 tokens; "));
    CHECK(number_after(measured.out, last + ": ") == Approx(held_out(trained)).margin(0.3));
    // Unknown characters are counted and left out.
    const Result known = ran({"score", model, folder.write("a.txt", "der Bär")}),
                 other = ran({"score", model, folder.write("b.txt", "dQer BérQ")});
    CHECK(contains(known.out, " over 7 tokens"));
    CHECK(contains(other.out, " over 6 tokens"));
    CHECK(contains(other.err, "b.txt: characters that the model does not know, left out: 3\n"));
    refused(1, {"score", model, folder.write("none.txt", "QQ")}, "none.txt: there is no text in this file");
    refused(1, {model, "--prompt", "der Q"},
            "the prompt:1: character 5 of this line is \"Q\", which is not ");
    refused(2, {model, file}, "there are too many arguments: MODEL; given: ");

    // It can be trained further, as a folder from Hugging Face.
    const Result further = ran({"train", model, file, "--lr", "0.01", "--save", folder / "more"});
    CHECK(further.status == 0);
    CHECK(held_out(further) < held_out(trained));
    CHECK(contains(ran({folder / "more", "--prompt", "der B", "--tokens", "3"}).out, "der Bär\n"));
    refused(2, {"train", model, file, "--heads", "2", "--save", folder / "x"},
            "--heads is for a new model; ");
}

TEST_CASE("generate train: several files are one text, all of whose held-out part is measured at the end",
          "[apps][generate]") {
    const Folder folder;
    const std::string a = folder.write("a", repeated("ab", 50)), b = folder.write("b", repeated("cd", 50));
    const Result two = ran(train(a, {b, "--steps", "2"}));
    CHECK(contains(two.err, "180 tokens to learn from, 20 held out; vocabulary 8\n"));
    // While it trains, it measures only a part of so much.
    const Result r = ran(train(folder.write("text.txt", repeated("abcdefghij", 17'000)), {"--steps", "1"}));
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    CHECK(contains(r.err, ", over 8,"));
    CHECK(lines_of(r.out)[0].ends_with(", over 16,999 tokens"));
}

TEST_CASE("generate train: the same seed, the same results, for any number of threads", "[apps][generate]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    int runs = 0;
    const auto all = [&](const Words& more) {
        const std::string model = folder / ("run" + std::to_string(++runs));
        const Result r =
            ran(train(file, joined({"--steps", "20", "--dropout", "0.1", "--save", model}, more)));
        return r.out + content(model + "/model.safetensors");
    };
    const std::string first = all({"--threads", "1"});
    CHECK(all({"--threads", "3"}) == first);
    CHECK(all({"--seed", "2"}) != first);
    const auto sample = [&](const Words& more) {
        return ran(joined({folder / "run1", "--prompt", "", "--tokens", "50"}, more)).out;
    };
    const std::string drawn = sample({"--seed", "3"});
    CHECK(drawn.size() == 51);
    CHECK(sample({"--seed", "3", "--threads", "2"}) == drawn);
    CHECK(sample({"--seed", "4"}) != drawn);
    CHECK(sample({"--seed", "3", "--temperature", "2"}) != drawn);
}

TEST_CASE(
    "generate train --config modern: resumed it has the same bits, and it writes with its cache what "
    "it would without",
    "[apps][generate]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    const std::string whole = folder / "whole", parts = folder / "parts";
    const Words modern = {"--config", "modern", "--heads", "4", "--dropout", "0.1"};
    const Result trained = ran(train(file, joined(modern, {"--save", whole})));
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    CHECK(held_out(trained) < 1);
    REQUIRE(ran(train(file, joined(modern, {"--save", parts, "--stop-after", "30"}))).status == 0);
    CHECK(contains(ran({"info", parts}).out, "--config modern"));
    refused(2, {"train", "--resume", parts, "--config", "2017"}, "--config cannot be given again");
    const Result resumed = ran({"train", "--resume", parts, "--threads", "3"});
    CHECK(resumed.out == trained.out);
    CHECK(content(parts + "/model.safetensors") == content(whole + "/model.safetensors"));

    // It reads one character at a time; here all that is written so far is read again for the next one.
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
    CHECK(ran({whole, "--prompt", "once", "--tokens", "12", "--temperature", "0"}).out ==
          writer.tokenizer.decode(ids) + "\n");
    const std::string last = parts + "/last.safetensors";
    std::string bytes = content(last);
    bytes.replace(bytes.find("--config=modern"), 15, "--config=modarn");
    put(last, bytes);
    refused(1, {"train", "--resume", parts},
            last + ": --config must begin with 2017, gpt2 or modern: got 'modarn");
}

TEST_CASE("generate train: rows as long as the context are learned wherever they begin", "[apps][generate]") {
    // 80 steps of 8 pieces are less than a round of this text. The held-out part begins within a row.
    const Folder folder;
    const Result r = ran(train(folder.write("rows.txt", repeated("aaaaaaabbbbbbbb\n", 1000))));
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    const std::string last = losses(r).back();
    CHECK(held_out(r) < std::stod(last.substr(last.find("loss ") + 5)) + 0.2);
}

TEST_CASE("generate: without a prompt, a text begins as a line does", "[apps][generate]") {
    const auto read_at_first = [&](const std::string& text) {
        const models::Writer w = generate::new_model({}, {{"text", repeated(text, 40)}});
        return w.tokenizer.decode(w.encode(""));
    };
    CHECK(read_at_first("a\tb\n") == "\n");  // a tab is a smaller character
    CHECK(read_at_first("ba") == "a");
}

TEST_CASE("generate train learns bytes", "[apps][generate]") {
    const Folder folder;
    const std::string piece = std::string("\0\xff\r\n\x80z", 6), model = folder / "run";
    const std::string file = folder.write("data.bin", repeated(piece, 60));
    refused(1, train(file), file + ": there is a NUL byte in this file: it is not text");
    const Result r = ran(train(file, {"--bytes", "--save", model}));
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, ", over 35 tokens\n"));
    // What is no UTF-8 is written as U+FFFD.
    const std::string written("\0\xef\xbf\xbd\r\n\xef\xbf\xbdz", 10);
    const Words words = {model, "--prompt", "z", "--tokens", "12", "--temperature", "0"};
    CHECK(ran(words).out == "z" + written + written + "\n");
    CHECK(ran({"score", model, folder.write("other.txt", "never seen")}).status == 0);
    const std::string one = ran({model, "--prompt", "ab", "--tokens", "1", "--seed", "3"}).out,
                      two = ran({model, "--prompt", "ab", "--tokens", "1", "--seed", "3", "--n", "2"}).out;
    CHECK(two.starts_with(one + "---\nab"));
    // Later files are read as bytes without being told so.
    CHECK(ran({"score", model, file}).out == ran({"score", model, file, "--bytes"}).out);
    const Result further = ran({"train", model, file, "--steps", "1", "--save", folder / "further"});
    INFO(further.err);
    CHECK(further.status == 0);
    CHECK(contains(further.err, "324 tokens to learn from, 36 held out; "));
}

TEST_CASE("generate train --lines learns lines, and invents new ones", "[apps][generate]") {
    const Folder folder;
    std::string text;
    for (const char* first : {"ba", "ki", "lo", "mu", "ne"})
        for (const char* second : {"ra", "ti", "so", "du", "fe"})
            if (std::string(first) + second != "muti")
                text += std::string(first) + second + "\r\n\n";
    const std::string file = folder.write("names.txt", text), model = folder / "run";
    const Words lines = {"--lines", "--steps", "150"};
    const Result trained = ran(train(file, joined(lines, {"--save", model})));
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    CHECK(contains(trained.err, "22 lines to learn from, 2 held out; vocabulary 19\n"));
    CHECK(contains(trained.out, ", over 10 tokens\n"));  // 4 characters and the end, twice

    const Result written = ran({model, "--n", "40", "--temperature", "1.2"});
    INFO(written.out);
    CHECK(written.status == 0);
    const Words drawn = lines_of(written.out);
    REQUIRE(drawn.size() == 40);
    int fresh = 0, of_four = 0;
    for (const std::string& line : drawn) {
        fresh += contains("\n" + text, "\n" + line + "\r\n") ? 0 : 1;
        of_four += line.size() == 4 ? 1 : 0;
    }
    CHECK(fresh > 0);
    CHECK(of_four > 30);
    CHECK(std::set<std::string>(drawn.begin(), drawn.end()).size() > 10);
    for (const std::string& line : lines_of(ran({model, "--prompt", "ki", "--n", "3"}).out))
        CHECK(line.starts_with("ki"));

    // Each line is a text, however many are read at once.
    const Result measured = ran({"score", model, file});
    CHECK(contains(measured.out, ", over 120 tokens; "));
    const models::Writer w = models::Writer::load(model);
    double sum = 0;
    for (const std::string& line : lines_of(text))
        if (line.size() > 1) {
            std::vector<int32_t> ids = w.tokenizer.encode(line.substr(0, 4));
            const models::Tokens read(1, 5, ids);
            ids.erase(ids.begin());
            ids.push_back(models::kEos);
            sum += 5 * static_cast<double>(
                           w.model.loss(read, models::Tokens(1, 5, ids), nn::Mode::eval()).item());
        }
    CHECK(number_after(measured.out, file + ": ") == Approx(sum / 120).margin(6e-5));
    CHECK(lines_of(measured.err).size() == 1);
    // Longer than the context: read in pieces.
    const std::string longer = folder.write("longer.txt", text + repeated("ra", 8) + "\n");
    CHECK(contains(ran({"score", model, longer}).out, ", over 137 tokens; "));
    CHECK(ran({"train", model, longer, "--steps", "1", "--save", folder / "further"}).status == 0);
    const std::string info = ran({"info", model}).out;
    CHECK(info.starts_with(model + ": language model\nlayers: 1, 16 wide, feed-forward "));
    CHECK(contains(info, autograd::join("\nparameters: ", kit::grouped(nn::parameter_count(w.model)),
                                        ", products in float32\n")));
    refused(1, {model, "--prompt", repeated("ra", 20)}, "the prompt has 40 characters; the model takes 15");
    refused(1, train(folder.write("text.txt", repeated(repeated("word ", 300) + "\n", 20)), lines),
            "the longest has 1500 characters; --context 1501 allows it");
}

TEST_CASE("generate train --lines: the longest line fits, and a tenth is held out", "[apps][generate]") {
    const auto held_out_of = [](int lines, int64_t* longest = nullptr) {
        std::string text;
        for (int i = 0; i < lines; ++i)
            text += std::to_string(i) + "\n";
        const std::vector<kit::File> files = {{"text", text + std::string(30, '1')}};
        generate::TrainSettings s;
        s.lines = true, s.layers = 1, s.context = 16;
        const models::Writer w = generate::new_model(s, files);
        if (longest != nullptr)
            *longest = w.model.config.max_length;
        const generate::Corpus corpus = generate::corpus_of(w, files, 16);
        CHECK(std::ssize(corpus.training) + std::ssize(corpus.held_out) == lines + 1);
        return std::ssize(corpus.held_out);
    };
    int64_t longest = 0;
    CHECK(held_out_of(8999, &longest) == 900);
    CHECK(longest == 31);  // with <sos>
    CHECK(held_out_of(10'049) == 1000);
}

TEST_CASE("generate train --lines --check: short lines are known by heart, though some begin alike",
          "[apps][generate]") {
    const Folder folder;
    const std::string names =
        folder.write("names.txt", repeated("ann\nbo\ncy\ndan\neve\nflo\ngus\nhal\n", 20));
    const Result r = ran({"train", names, "--lines", "--check"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, "ok   one batch by heart: loss "));
}

TEST_CASE("generate train --lines selects the preset for names, unless another one is given",
          "[apps][generate]") {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 30; ++i)
        text += "name" + std::to_string(i) + "\n";
    const std::string file = folder.write("names.txt", text);
    const auto first_loss = [&](const Words& more) {
        const Result r = ran(joined({"train", file, "--lines", "--steps", "1"}, more));
        INFO(r.err);
        REQUIRE(r.status == 0);
        return losses(r).at(0);
    };
    const std::string usual = first_loss({});
    CHECK(usual == first_loss({"--preset", "names"}));
    CHECK(usual != first_loss({"--preset", "tiny"}));
}

TEST_CASE("generate train keeps the best model, and stops when its patience ends", "[apps][generate]") {
    // What the model learns from the first part is wrong for the last, so the loss there rises after a while.
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("abcd", 90) + repeated("dcba", 10));
    const std::string model = folder / "run", page = folder / "page.html";
    const Result r = ran(train(file, {"--steps", "5000", "--validate-every", "5", "--patience", "4", "--save",
                                      model, "--report", page}));
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    REQUIRE(std::filesystem::exists(page));  // written at the end of a run, whatever ends it
    CHECK(contains(content(page), R"(["generate",0,[)"));
    CHECK(contains(r.err, "(not better)"));
    CHECK_FALSE(contains(r.err, "step 5000"));
    CHECK(score(model, folder.write("last.txt", repeated("dcba", 10))) == Approx(held_out(r)).margin(0.1));
    CHECK(contains(ran({"train", "--resume", model}).err,
                   "; its steps or its --patience ended it, so a longer run must be a new one\n"));
}

TEST_CASE("generate train saves when it is interrupted", "[apps][generate]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    const std::string model = folder / "run";
    Running training("generate", train(file, {"--steps", "100000000", "--save", model}));
    REQUIRE(training.says("step       100/"));
    training.interrupt();
    const Result r = training.wait();
    INFO(r.err);
    CHECK(r.status == 130);
    CHECK(r.out.empty());
    CHECK(contains(r.err, "saved after step "));
    CHECK(contains(r.err, "; continue with --resume " + model + "\n"));
    CHECK(r.err.ends_with("generate: interrupted\n"));
    CHECK(ran({model, "--prompt", "", "--tokens", "5"}).status == 0);

    Running unsaved("generate", train(file, {"--steps", "100000000"}));
    REQUIRE(unsaved.says("step         1/"));
    unsaved.interrupt();
    const Result lost = unsaved.wait();
    CHECK(lost.status == 130);
    CHECK(contains(lost.err, "stopped; nothing was saved: there was no --save FOLDER\n"));
}

TEST_CASE("generate train says what is wrong with a text", "[apps][generate]") {
    const Folder folder;
    const std::string model = folder / "run";
    const auto wrong = [&](const std::string& text, const std::string& part, const Words& more = {}) {
        const std::string file = folder.write("text.txt", text);
        refused(1, train(file, joined({"--save", model}, more)), file + part);
    };
    wrong("", ": the file is empty");
    wrong("\xef\xbb\xbf", ": this text consists of one character only");
    wrong(repeated("a", 100), ": this text consists of one character only");
    wrong("short", ": a text of 5 tokens; at least 20 are needed");
    wrong("a\nb\nc", ": a text of 3 lines; at least 20 are needed", {"--lines"});
    for (const Words& lines : {Words{}, Words{"--lines"}})
        wrong(
            "good\nba\xff"
            "d\n",
            ":2: byte 3 of this line is not UTF-8", lines);
    refused(1, train(folder / "none.txt", {"--save", model}), "none.txt: cannot be opened: ");
    const std::string good = folder.write("good.txt", repeated("good ", 20));
    refused(1, train(good, {"--save", good}), "this folder cannot be made");
    refused(1, {"train", good, "--context", "600"},
            "; --context 600 needs more, because a tenth is held out");
    CHECK_FALSE(std::filesystem::exists(model));
}

TEST_CASE("generate says what is wrong with a model of characters", "[apps][generate]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    const std::string model = folder / "run", prompt = "--prompt";
    REQUIRE(ran(train(file, {"--steps", "2", "--save", model})).status == 0);
    refused(1, {model, prompt, "a\xff"}, "the prompt:1: byte 2 of this line is not UTF-8");
    refused(1, {"score", model, folder.write("empty.txt", "")}, "empty.txt: the file is empty");
    // Whatever is drawn is a known character, and the text has no end.
    const Result drawn = ran({model, prompt, "", "--temperature", "1e9", "--top-k", "0", "--tokens", "300"});
    CHECK((drawn.status == 0 && drawn.out.size() == 301 && !contains(drawn.out, "<")));

    const std::string whole = content(model + "/model.safetensors");
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1})
        refused(1, {folder.write("cut", whole.substr(0, size)), prompt, ""}, "cut: ");
    refused(1, {file, prompt, ""}, "text.txt: ");
    refused(1, {folder / "", prompt, ""}, ": there is no model in this folder: ");

    const models::Config config = {
        .vocabulary = 10, .max_length = 8, .n_layers = 1, .block = {.d_model = 8, .n_heads = 2, .d_ff = 8}};
    const std::string other = folder / "other";
    models::save(other, models::LanguageModel(config, models::Rng(1)));
    refused(1, {other, prompt, ""}, "model.safetensors: there is no tokenizer.json beside it; copy it from ");
    models::text::learn_characters({"abc"}).save(other);
    refused(1, {other, prompt, ""}, "other: the tokenizer has 7 ids, the model 10");
    folder.write("other/tokenizer.json", "{");
    refused(1, {other, prompt, ""}, "tokenizer.json: ");
    models::save(other, models::Classifier(models::with_classes(config, 2), models::Rng(1)));
    refused(1, {"score", other, file}, "config.json: a language model is needed: got a classifier");
}

TEST_CASE("generate train refuses wrong command lines", "[apps][generate]") {
    const Folder folder;
    const std::string file = folder.write("text.txt", repeated("once upon a time, ", 30));
    refused(2, {"train"}, "an argument is missing: FILE...");
    refused(2, {"--save", "x"}, "unknown option '--save'");
    refused(2, {"train", file, "--preset", "large"},
            "--preset must be one of tiny|small|names|further: got 'large'");
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
    for (const char* const size : {"--context", "--layers"})
        refused(2, {"train", file, size, "0"}, "a new model needs --layers and --context above 0");
    refused(2, {"train", file, "--steps", "0"}, "--steps needs ");
    for (const char* const command : {"train", "score", "new"}) {
        const Result r = ran({command, "--help"});
        CHECK(r.status == 0);
        CHECK(contains(r.out, "usage: ./apps/generate " + std::string(command) + " "));
    }
}
