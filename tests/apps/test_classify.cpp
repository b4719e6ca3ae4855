// classify, run as a user runs it: train, predict, eval, the built-in sentences, and errors.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <sstream>

#include "models/text/learn_tokenizer.h"
#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result classify(const Words& arguments, const With& with = {}) { return run("classify", arguments, with); }

// Two labels, each told by one word; lines with a tab or without.
std::string moods(int lines) {
    const Words things = {"day", "road", "house", "song", "meal", "idea", "plan"};
    std::string text;
    for (int i = 0; i < lines; ++i) {
        const std::string& thing = things[static_cast<std::size_t>(i) % things.size()];
        text += i % 4 < 2 ? "glad" : "sad";
        text += i % 3 == 0 ? " " : "\t";
        text += i % 4 == 0   ? "what a lovely "
                : i % 4 == 1 ? "a wonderful, "
                : i % 4 == 2 ? "such an awful "
                             : "a horrible ";
        text += thing + " number " + std::to_string(i) + "\n";
    }
    return text;
}

const Words kSmall = {"--epochs", "12",   "--d-model", "32",        "--batch",
                      "8",        "--lr", "0.005",     "--dropout", "0.1"};

Result train(const std::string& file, const Words& more = {}) {
    Words words = {"train", file};
    words.insert(words.end(), kSmall.begin(), kSmall.end());
    words.insert(words.end(), more.begin(), more.end());
    return classify(words);
}

// An error: nothing on standard output, one line on standard error that contains all parts.
void refused(const Result& r, int status, const Words& parts) {
    INFO(r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    CHECK(one_line(r.err, "classify: "));
    for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(contains(r.err, part));
    }
}

// The line that begins with "accuracy", and the table below it, as numbers.
struct Report {
    double accuracy = -1;
    int right = -1, total = -1;
    std::vector<std::vector<int>> matrix;
    std::vector<int> texts;
    Words precision, recall;
};

Words blanks(const std::string& line) {
    Words all;
    std::istringstream stream(line);
    for (std::string word; stream >> word;)
        if (word != "%")
            all.push_back(word);
    return all;
}

// For labels of one word.
Report parse(const std::string& out) {
    Report report;
    const Words lines = lines_of(out.substr(std::min(out.find("accuracy "), out.size())));
    if (lines.size() < 6)
        return report;
    std::sscanf(lines[0].c_str(), "accuracy %lf %%: %d of %d texts", &report.accuracy, &report.right,
                &report.total);
    const std::size_t classes = blanks(lines[4]).size() - 2;
    for (std::size_t i = 0; i < classes; ++i) {
        const Words row = blanks(lines.at(5 + i));
        REQUIRE(row.size() == classes + 4);  // the row's number and label; recall and precision
        report.matrix.emplace_back();
        for (std::size_t j = 2; j < 2 + classes; ++j)
            report.matrix.back().push_back(row[j] == "." ? 0 : std::stoi(row[j]));
        report.recall.push_back(row[2 + classes]);
        report.precision.push_back(row[3 + classes]);
        report.texts.push_back(std::accumulate(report.matrix.back().begin(), report.matrix.back().end(), 0));
    }
    return report;
}

std::string percent(int part, int whole) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", 100.0 * part / whole);
    return whole == 0 ? "-" : text;
}

// Recall is a share of a row, precision of a column, and the diagonal is what was right.
void consistent(const Report& r) {
    int right = 0, total = 0;
    const std::size_t n = r.matrix.size();
    REQUIRE(n > 1);
    for (std::size_t i = 0; i < n; ++i) {
        int row = 0, column = 0;
        REQUIRE(r.matrix[i].size() == n);
        for (std::size_t j = 0; j < n; ++j) {
            row += r.matrix[i][j];
            column += r.matrix[j][i];
        }
        CHECK(r.recall[i] == percent(r.matrix[i][i], row));
        CHECK(r.precision[i] == percent(r.matrix[i][i], column));
        right += r.matrix[i][i];
        total += row;
    }
    CHECK(right == r.right);
    CHECK(total == r.total);
    CHECK(r.accuracy == Approx(100.0 * right / total).margin(0.051));
}

}  // namespace

TEST_CASE("classify tells sentences that are worded differently", "[apps][classify]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = classify({});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const Report report = parse(r.out);
    consistent(report);
    CHECK(report.accuracy >= 95);
    CHECK(report.matrix.size() == 8);
    CHECK(report.total > 50);
    CHECK(contains(r.out, "  ->  weather\n"));
    CHECK(classify({"--threads", "1"}).out == r.out);
}

// The commands in the help: those lines below "examples:" that are indented least.
TEST_CASE("classify: the examples of its help print what it says", "[apps][classify]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Folder folder;
    std::filesystem::create_directory_symlink(std::filesystem::absolute(apps()), folder / "apps");
    const std::string help = classify({"--help"}).out;
    std::string commands = "set -e; cd '" + (folder / "") + "'; exec 2>err >out\n";
    for (const std::string& line : lines_of(help.substr(help.find("\nexamples:"))))
        if (line.starts_with("  ") && line[2] != ' ')
            commands += line + "\n";
    INFO(commands);
    const std::string file = folder.write("examples.sh", commands);
    REQUIRE(std::system(("sh '" + file + "'").c_str()) == 0);
    std::string printed = lines_of(content(folder / "out")).back();
    std::replace(printed.begin(), printed.end(), '\t', ' ');
    CAPTURE(help);
    CHECK(contains(help, ": " + printed + "\n"));
    check_lost_output("classify", {"predict", folder / "moods", "hi"});
}

TEST_CASE("classify holds out fewer lines than asked for if a label would have none", "[apps][classify]") {
    const Folder folder;
    const std::string file = folder.write("four", "glad a\nglad b\nsad c\nsad d\n");
    const Result trained = train(file, {"--validation", "3"});
    CHECK(contains(trained.err, "2 texts to learn from, 2 held out"));
    CHECK(
        contains(trained.err, "only 2 of 3 lines can be held out: each label needs a text to learn from\n"));
}

TEST_CASE("classify eval sends no command in a label to the terminal", "[apps][classify]") {
    const Folder folder;
    std::string texts = moods(80);
    for (std::size_t at = 0; (at = texts.find("glad", at)) != texts.npos; at += 4)
        texts[at] = '\x1b';
    const std::string data = folder.write("moods.tsv", texts), model = folder / "m.safetensors";
    REQUIRE(train(data, {"--save", model, "--epochs", "1"}).status == 0);
    const Result measured = classify({"eval", model, data});
    CHECK(measured.status == 0);
    CHECK_FALSE(contains(measured.out, "\x1b"));
    CHECK(contains(measured.out, "?lad"));
}

TEST_CASE("classify trains, saves, predicts and evaluates", "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("moods.tsv", moods(80)), model = folder / "m.safetensors";
    const Result trained = train(data, {"--save", model});
    INFO(trained.out << trained.err);
    REQUIRE(trained.status == 0);
    consistent(parse(trained.out));
    CHECK(parse(trained.out).total == 8);
    CHECK(contains(trained.err, "72 texts to learn from, 8 held out; 2 labels\n"));
    CHECK(contains(trained.err, "saved " + model));

    const std::string others =
        folder.write("others.txt", "glad a lovely evening\r\nsad\tan awful evening\n\nsad so horrible\n");
    const Result measured = classify({"eval", model, others});
    consistent(parse(measured.out));
    CHECK(contains(measured.out, "accuracy 100.0 %: 3 of 3 texts\n"));

    const Result empty = classify({"predict", model, " "});
    CHECK((empty.status == 2 && empty.out.empty() && contains(empty.err, "classify: text 1 is empty\n")));
    const Result argument = classify({"predict", model, "a lovely evening", "an AWFUL one"});
    CHECK(argument.status == 0);
    CHECK(lines_of(argument.err).size() == 1);  // what it runs on
    const Words lines = lines_of(argument.out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with("glad\tglad=0."));
    CHECK(lines[1].starts_with("sad\tsad=0."));
    const Words first = fields(lines[0], '\t');
    REQUIRE(first.size() == 3);
    CHECK(std::stod(first[1].substr(5)) + std::stod(first[2].substr(4)) == Approx(1).margin(0.00011));
    // Through a pipe: the same answers, one line each.
    const Result pipe = classify({"predict", model}, {.input = "\xef\xbb\xbf"
                                                               "a lovely evening\r\n\nan AWFUL one"});
    CHECK(pipe.out == lines[0] + "\n\n" + lines[1] + "\n");
    CHECK(lines_of(pipe.err).size() == 1);
}

TEST_CASE("classify gives the same results for any number of threads, and another seed holds out other lines",
          "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("moods.tsv", moods(60));
    const Words more = {"--epochs", "2", "--patience", "5", "--save"};
    const auto with = [&](Words words, const std::string& file, const Words& rest) {
        words.push_back(file);
        words.insert(words.end(), rest.begin(), rest.end());
        return train(data, words);
    };
    const Result one = with(more, folder / "one", {"--threads", "1"});
    const Result three = with(more, folder / "three", {"--threads", "3"});
    INFO(one.err);
    CHECK(one.status == 0);
    CHECK(one.out == three.out);
    CHECK(losses(one) == losses(three));
    CHECK(content(folder / "one/model.safetensors") == content(folder / "three/model.safetensors"));
    CHECK(contains(one.err, "validation loss"));
    CHECK(losses(with(more, folder / "four", {"--seed", "2"})) != losses(one));
}

TEST_CASE("classify holds out lines, a file, or nothing, and never all texts of a label",
          "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("moods.tsv", moods(40));
    const std::string few =
        folder.write("few.tsv", "a\tx y\na\tx z\na\tx y\nb\tu v\nb\tu w\nc\tr r\nc\tr r\n");
    const auto held_out = [&](const std::string& file, const std::string& validation) {
        return train(file, {"--epochs", "1", "--validation", validation});
    };
    CHECK(parse(held_out(data, "13").out).total == 13);
    CHECK(parse(held_out(data, folder.write("v.tsv", "glad\tso lovely\nsad no\n")).out).total == 2);
    const Result nothing = held_out(data, "0");
    CHECK(nothing.status == 0);
    CHECK(nothing.out.empty());
    const Result lost = held_out(folder.write("none.tsv", "a\tx\na\ty\nb\tx\nb\ty\n"), "4");
    CHECK((lost.status == 0 ||
           contains(lost.err, "' are held out, under this label or another; hold out fewer")));
    // Of "x y" and "x z", one stays; of u one; of "r r" both lines, since they are one text.
    const Result all = held_out(few, "7");
    INFO(all.err);
    CHECK(all.status == 0);
    const std::vector<int> texts = parse(all.out).texts;
    REQUIRE(texts.size() == 3);
    CHECK((texts[0] == 1 || texts[0] == 2));
    CHECK(texts[1] == 1);
    CHECK(texts[2] == 0);
    CHECK(contains(all.out, " -"));  // recall is undefined without texts
}

TEST_CASE("classify learns from each text once in an epoch", "[apps][classify]") {
    const Folder folder;
    const std::string model = folder / "m";
    std::string texts;  // words that come once are known only by their parts, which are never dropped
    for (char c = 'a'; c < 'h'; ++c)
        texts += std::string(c % 2 == 0 ? "glad" : "sad") + "\t" + c + "x" + c + " y" + c + c + "\n";
    // With a rate of 0 a text always has the same loss.
    const Result r =
        train(folder.write("texts.tsv", texts), {"--epochs", "2", "--batch", "1", "--lr", "0", "--dropout",
                                                 "0", "--validation", "0", "--save", model});
    INFO(r.err);
    REQUIRE(r.status == 0);
    const Words rows = lines_of(content(model + "/log.csv"));
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

TEST_CASE("classify holds out a tenth of the lines, and at most 500", "[apps][classify]") {
    const Folder folder;
    const Result r = train(folder.write("moods.tsv", moods(5100)),
                           {"--d-model", "8", "--stop-after", "1", "--save", folder / "m"});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.err, "4,600 texts to learn from, 500 held out; 2 labels\n"));
}

TEST_CASE("classify --patience validates after each epoch, however many steps it has", "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("moods.tsv", moods(44)), model = folder / "m";
    const Result r = train(data, {"--validation", "4", "--epochs", "3", "--patience", "9", "--save", model});
    INFO(r.err);
    REQUIRE(r.status == 0);
    const Words rows = lines_of(content(model + "/log.csv"));
    REQUIRE(rows.size() == 1 + 15);  // 40 texts in batches of 8
    for (std::size_t step = 1; step <= 15; ++step) {
        const std::string loss = fields(rows[step], ',').at(2);  // of validation
        CHECK(loss.empty() == (step % 5 != 0));
        CHECK((loss.empty() || (std::stod(loss) > 0 && std::stod(loss) < 1)));  // a guess costs ln 2
    }
}

TEST_CASE("classify: unless it is told otherwise, 15 passes over all texts, and at least 300 steps",
          "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("moods.tsv", moods(30));
    for (const auto& [batch, last] : {std::pair("1", "step 450/450  "), std::pair("30", "step 300/300  ")}) {
        const Result r =
            train(data, {"--epochs", "0", "--batch", batch, "--d-model", "8", "--validation", "0"});
        INFO(r.err);
        REQUIRE_FALSE(losses(r).empty());
        CHECK(losses(r).back().starts_with(last));
    }
}

TEST_CASE("classify does not learn from other copies of a held-out text", "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("d", "a\tx y\na\tx y\na\tz y\nb\tu v\nb\tw v\n");
    int fewer = 0;
    for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
        const Result r = train(data, {"--epochs", "1", "--validation", "1", "--seed", seed});
        CHECK((contains(r.err, "4 texts to learn from, 1 held out") ||
               contains(r.err, "3 texts to learn from, 1 held out")));
        fewer += contains(r.err, "3 texts to learn from") ? 1 : 0;
    }
    CHECK(fewer > 0);
    CHECK(fewer < 8);
}

TEST_CASE("a saved classifier is the one that was trained, whatever the options", "[apps][classify]") {
    const Folder folder;
    const std::string data = folder.write("d", moods(40));
    // Some labels are wrong, and training is short, so that the model makes mistakes.
    std::string texts = moods(40);
    for (int i = 0; i < 9; ++i)
        texts += "glad Such An AWFUL plan number " + std::to_string(i) + "\n";
    const std::string held_out = folder.write("v", texts);
    for (const Words& words : std::vector<Words>{{}, {"--keep-case", "--context", "3"}}) {
        const std::string model = folder / ("m" + std::to_string(words.size()));
        Words more = {"--epochs", "1", "--validation", held_out, "--save", model};
        more.insert(more.end(), words.begin(), words.end());
        const Result trained = train(data, more), measured = classify({"eval", model, held_out});
        CHECK(trained.status == 0);
        consistent(parse(measured.out));
        CHECK(measured.out == trained.out);
        CHECK(contains(measured.err, "more than 3 words") == !words.empty());
        CHECK((classify({"predict", model, "a loveLY"}).out ==
               classify({"predict", model, "a lovely"}).out) == words.empty());
    }
}

TEST_CASE("classify reads bytes that are not UTF-8, long texts, and any labels", "[apps][classify]") {
    const Folder folder;
    const std::string label(40, 'x');
    std::string data;
    for (int i = 0; i < 12; ++i)
        data += label + "\tcaf\xe9 cr\xc3\xa8me " + std::to_string(i) +
                "\nété à Paris\tun deux trois quatre " + std::to_string(i) + "\n";
    const std::string model = folder / "m";
    const Result r = train(folder.write("d", data), {"--save", model, "--context", "4", "--validation", "6"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.err, "classify: " + (folder / "d") + ": bytes that are not text, read as U+FFFD: 12\n"));
    CHECK(contains(r.err, "texts of more than 4 words, read only that far: "));
    CHECK(contains(r.out, "xxxxxxxxxxx…"));
    const Words lines = lines_of(r.out);
    REQUIRE(lines.size() > 6);
    for (const std::size_t i : {std::size_t{5}, std::size_t{6}})  // columns stay under each other
        CHECK(std::count_if(lines[i].begin(), lines[i].end(), [](char c) { return (c & 0xc0) != 0x80; }) ==
              std::count_if(lines[4].begin(), lines[4].end(), [](char c) { return (c & 0xc0) != 0x80; }));
    const Result p =
        classify({"predict", model}, {.input = "caf\xe9 cr\xc3\xa8me\nun d\xffux trois quatre cinq\n"});
    CHECK(p.status == 0);
    CHECK(lines_of(p.out).size() == 2);
    CHECK(p.out.starts_with(label + "\t" + label + "=0."));
    CHECK(contains(p.err, "classify: standard input:1: bytes that are not text, read as U+FFFD: 1\n"));
    CHECK(contains(p.err, "classify: standard input:2: bytes that are not text, read as U+FFFD: 1\n"));
    CHECK(contains(p.err, "texts of more than 4 words"));
}

TEST_CASE("classify says what is wrong with a file, and writes nothing", "[apps][classify]") {
    const Folder folder;
    const std::string model = folder / "m.safetensors";
    const auto bad = [&](const std::string& text, const Words& parts) {
        refused(train(folder.write("d", text), {"--save", model}), 1, parts);
    };
    bad("", {": the file is empty"});
    bad("\n  \n", {"there is no line with a label and a text"});
    bad("a one\na two\n", {"all lines have the label 'a'", "nothing to tell apart"});
    bad("a one\nb two\na three\n", {"d:2: the label 'b' has only this line"});
    bad("a one\nb\na three\n", {"d:2: no text follows the label 'b'"});
    bad("a one\nb\t  \na three\n", {"d:2: no text follows the label 'b'"});
    bad("a one\n\tb two\n", {"d:2: there is no label before the tab"});
    bad("a one\nb tw" + std::string(1, '\0') + "o\n", {"d:2: ", "NUL"});
    refused(train(folder / "missing", {"--save", model}), 1, {"missing: cannot be opened"});
    refused(train(folder / "", {"--save", model}), 1, {"this is a folder"});

    const std::string good = folder.write("good", moods(20));
    refused(train(good, {"--save", good}), 1, {"this folder cannot be made"});
    refused(train(good, {"--save", model, "--validation", folder.write("v", "glad x\nmad y\n")}), 1,
            {"v:2: the label 'mad' is not among those that were learned: glad, sad"});
    CHECK_FALSE(std::filesystem::exists(model));
}

TEST_CASE("classify says what is wrong with a command line", "[apps][classify]") {
    const Folder folder;
    const std::string good = folder.write("good", moods(20));
    refused(classify({"learn"}), 2, {"unknown command 'learn'; there are train, predict, eval, info"});
    refused(classify({"train"}), 2,
            {"classify: an argument is missing: FILE; ./apps/classify train --help shows more"});
    refused(classify({"predict"}), 2, {"missing: MODEL [TEXT...]"});
    refused(classify({"eval", "m"}), 2,
            {"an argument is missing: MODEL FILE; ./apps/classify eval --help shows more"});
    refused(train(good, {"--heads", "3"}), 2, {"--d-model 32 must be a multiple of --heads 3"});
    refused(train(good, {"--validation", "21"}), 2, {"--validation", "from 0 to 20: got '21'"});
    refused(train(good, {"--validation", "0", "--patience", "1"}), 2,
            {"--patience needs lines that are held out"});
    refused(train(good, {"--validation", "-1"}), 2,
            {"--validation needs a whole number from 0 to 20: got '-1'"});
    const std::string before = content(good);
    refused(train(good, {"--save", folder / "./good"}), 1, {"this folder cannot be made"});
    CHECK(content(good) == before);
    refused(train(good, {"--save", "/dev/full"}), 1, {"/dev/full: this folder cannot be made"});
}

namespace {

// A model's file with another value of config.KEY. The header keeps its length, or grows by a multiple of 8.
std::string edited(const std::string& config, const std::string& key, const std::string& value) {
    const std::string name = "\"" + key + "\": ";
    const std::size_t at = config.find(name) + name.size();
    return config.substr(0, at) + value + config.substr(config.find(',', at));
}

}  // namespace

TEST_CASE("classify refuses files that are not its models", "[apps][classify]") {
    const Folder folder;
    const std::string model = folder / "m", data = folder.write("d", moods(20));
    REQUIRE(train(data, {"--save", model, "--epochs", "1"}).status == 0);
    const std::string bytes = content(model + "/model.safetensors");
    const auto bad = [&](const std::string& file, const Words& parts) {
        refused(classify({"predict", file, "x"}), 1, parts);
        refused(classify({"eval", file, data}), 1, parts);
    };
    bad(folder / "missing", {"missing"});
    bad(data, {folder / "d"});
    std::filesystem::create_directory(folder / "closed");
    std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
    if (geteuid() != 0)  // who may read everything
        bad(folder / "closed", {"closed: this folder cannot be read: Permission denied"});
    bad(folder.write("cut", bytes.substr(0, bytes.size() - 5)), {folder / "cut"});
    bad(folder.write("cut", bytes.substr(0, 100)), {folder / "cut"});
    bad(folder.write("cut", ""), {folder / "cut"});
    const std::string text = folder.write("text", std::string(300, 'a') + std::string(300, 'b'));
    REQUIRE(run("generate", {"train", text, "--steps", "1", "--d-model", "8", "--heads", "1", "--layers", "1",
                             "--save", folder / "lm"})
                .status == 0);
    bad(folder / "lm/model.safetensors", {"config.json: a classifier is needed: got a language model"});
    // Sizes that the tensors in the file cannot have: refused at once, before such a model is built.
    const std::string config = content(model + "/config.json"), other = folder / "other";
    std::filesystem::copy(model, other);
    for (const auto& [key, value] : {std::pair{"n_layers", "90000"},
                                     {"d_model", "90000000"},
                                     {"classes", "99999999"},
                                     {"vocabulary", "999999999"},
                                     {"max_length", "99999999999"}}) {
        put(other + "/config.json", edited(config, key, value));
        bad(other, {other});
    }
    std::string thin = config;  // the file has enough numbers for so many layers, but not the tensors
    for (const auto& [key, value] : {std::pair{"n_layers", "1500"},
                                     {"d_model", "1"},
                                     {"n_heads", "1"},
                                     {"d_ff", "1"},
                                     {"max_length", "8"}})
        thin = edited(thin, key, value);
    put(other + "/config.json", thin);
    bad(other, {"model.safetensors: the tensors are too few for the sizes in config.json"});
    put(other + "/config.json", config);
    models::text::learn_features({"a lovely day", "a lovely day"}, {}).save(other);
    bad(other, {"other: the tokenizer has ", " ids, the model "});
    const Result mad = classify({"eval", model, folder.write("v", "glad x\nmad y\n")});
    CHECK((mad.status == 1 && mad.out.empty()));
    CHECK(contains(mad.err, "v:2: the label 'mad' is not among those that were learned: glad, sad\n"));
}

TEST_CASE("classify saves what it has when it is interrupted", "[apps][classify]") {
    const Folder folder;
    const std::string model = folder / "m", data = folder.write("d", moods(40));
    Running program("classify", {"train", data, "--epochs", "1000000", "--save", model});
    REQUIRE(program.says("step   "));
    program.interrupt();
    const Result r = program.wait();
    INFO(r.err);
    CHECK(r.status == 130);
    CHECK(r.out.empty());
    CHECK(contains(r.err, "saved after step "));
    CHECK(contains(r.err, "; continue with --resume " + model + "\n"));
    CHECK(classify({"predict", model, "a lovely day"}).status == 0);
}

namespace {

// Of some texts, the accuracy of a model that learned others of their kind.
int right_of(const std::string& model, const std::string& file) {
    const Result r = classify({"eval", model, file});
    INFO(r.err);
    CHECK(r.status == 0);
    return parse(r.out).right;
}

// label: "music" or "weather", told by one word in the middle; `between` is between all words.
std::string requests(int from, int to, const std::vector<Words>& words, const std::string& between,
                     const std::string& before = "", const std::string& after = "") {
    std::string text;
    for (int i = from; i < to; ++i) {
        text += i % 2 == 0 ? "music\t" : "weather\t";
        int mixed = i / 2 * 7919;  // nothing but the third word tells the label
        for (std::size_t w = 0; w < words.size(); ++w, mixed /= 3) {
            const Words& some = words[w];
            const std::size_t half = some.size() / 2;  // of the telling words: the first half tells music
            const std::size_t which =
                w == 2 ? static_cast<std::size_t>(i % 2) * half + static_cast<std::size_t>(mixed) % half
                       : static_cast<std::size_t>(mixed) % some.size();
            text += (w == 0 ? "" : between) + before + some[which] + after;
        }
        text += "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("classify reads words between any quotes, dashes and spaces as those between plain ones",
          "[apps][classify]") {
    const std::vector<Words> words = {{"we", "you", "they", "she"},
                                      {"describe", "discuss", "hear", "remember"},
                                      {"orchestra", "concerts", "songs", "rain", "weather", "wind"},
                                      {"in school", "at home", "at work"}};
    const Folder folder;
    const std::string model = folder / "m";
    REQUIRE(train(folder.write("d", requests(0, 120, words, " ")), {"--validation", "0", "--save", model})
                .status == 0);
    const auto right = [&](const std::string& text) { return right_of(model, folder.write("t", text)); };
    const int plain = right(requests(120, 200, words, " "));
    CHECK(plain >= 76);                                                                             // of 80
    CHECK(right(requests(120, 200, words, " ", "\u201c", "\u201d")) == Approx(plain).margin(1.6));  // 2 %
    CHECK(right(requests(120, 200, words, " ", "\u00ab\u00a0", "\u00a0\u00bb")) == Approx(plain).margin(1.6));
    CHECK(right(requests(120, 200, words, "\u00a0")) == Approx(plain).margin(1.6));
    CHECK(right(requests(120, 200, words, "\u2014")) == Approx(plain).margin(1.6));
    CHECK(right(requests(120, 200, words, "\u3000")) == Approx(plain).margin(1.6));
}

TEST_CASE("classify tells Chinese texts as well as the same texts with spaces", "[apps][classify]") {
    const std::vector<Words> words = {{"大家都", "小王也", "昨天他", "请问你"},
                                      {"想知道关于", "一直在说", "刚刚听到", "认真研究"},
                                      {"音乐", "歌曲", "唱片", "天气", "气温", "下雨"},
                                      {"的最新消息", "这件事情", "的很多问题"}};
    const Folder folder;
    std::vector<int> right;
    for (const std::string between : {" ", ""}) {
        const std::string model = folder / ("m" + between), text = requests(0, 120, words, between);
        REQUIRE(train(folder.write("d" + between, text), {"--validation", "0", "--save", model}).status == 0);
        right.push_back(right_of(model, folder.write("t", requests(120, 200, words, between))));
    }
    CHECK(right[0] >= 76);  // of 80
    CHECK(right[1] == Approx(right[0]).margin(1.6));
}

TEST_CASE("classify answers each line before it reads the next one", "[apps][classify]") {
    const Folder folder;
    const std::string model = folder / "m";
    REQUIRE(train(folder.write("d", moods(20)), {"--save", model, "--epochs", "1"}).status == 0);
    // The next line is written only when the answer to the last one has come through the pipe.
    const std::string script =
        "cd " + folder.path + "; mkfifo in out; '" + std::filesystem::absolute(apps()).string() +
        "/classify' predict m < in > out &" + "cd " + folder.path +
        "; exec 3> in 4< out; for i in 1 2 3; do echo text $i >&3; " +
        "timeout 60 sh -c 'read -r answer <&4 && echo \"$answer\"' || exit 1; done > answers";
    if (!environment("PLAINGRAD_RUN", "").empty())
        return;  // a shell does not start the emulator
    CHECK(std::system(script.c_str()) == 0);
    CHECK(lines_of(content(folder / "answers")).size() == 3);
}

TEST_CASE("the examples in classify's help work as pasted", "[apps][classify]") {
    const Result help = classify({"--help"});
    CHECK(help.status == 0);
    for (const std::string command : {"train", "predict", "eval"}) {
        const Result r = classify({command, "--help"});
        CHECK(r.status == 0);
        CHECK(r.err.empty());
        CHECK(contains(help.out, "  " + command));
    }
    if (!environment("PLAINGRAD_RUN", "").empty())
        return;  // a shell does not start the emulator
    const Folder folder;
    std::filesystem::create_directory_symlink(std::filesystem::absolute(apps()), folder / "apps");
    std::string script = "cd " + folder.path;
    for (const std::string& line : lines_of(help.out))
        if (contains(line, "moods"))
            script += " && " + line;
    CHECK(std::system(("(" + script + ") 2> /dev/null > " + (folder / "out")).c_str()) == 0);
    CHECK(content(folder / "out").starts_with("good\tgood=0."));
}
