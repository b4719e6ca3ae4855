// The translator: what it learns, writes, and refuses; and that a run which was stopped, however, ends like one that
// was not.
#include <sys/stat.h>

#include <cstdlib>

#include "apps/kit/saved.h"
#include "autograd/random.h"
#include "tests/apps/run.h"
#include "tests/autograd/values.h"

using namespace tests;

namespace {

Result translate(const Words& arguments, const With& with = {}) {
    return Running("translate", arguments, with).wait();
}

Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// English numbers and what they are in German, the other way round: 120 pairs.
std::string pairs() {
    const Words en = {"one", "two", "three", "four", "five", "six"},
                de = {"eins", "zwei", "drei", "vier", "fünf", "sechs"};
    std::string lines;
    for (std::size_t a = 0; a < 6; ++a)
        for (std::size_t b = 0; b < 6; ++b)
            for (std::size_t c = 0; c < 6; c += 2)
                lines.append(en[a])
                    .append(" ")
                    .append(en[b])
                    .append(c > 0 ? " " + en[c] : "")
                    .append(".\t")
                    .append(c > 0 ? de[c] + " " : "")
                    .append(de[b])
                    .append(" ")
                    .append(de[a])
                    .append(".\n");
    return lines;
}

struct Files {
    Folder folder;
    std::string data = folder.write("pairs.tsv", pairs());
    std::string run = folder / "run";

    // Two epochs are 12 to 16 steps.
    Words train(const Words& more = {}) const {
        return joined({"train", data, "--merges", "30", "--batch-tokens", "128", "--max-length", "32",
                       "--warmup", "4", "--steps", "14", "--average", "2"},
                      more);
    }
    std::string file(const std::string& of, const std::string& name) const {
        return content((std::filesystem::path(folder.path) / of / name).string());
    }
};

void refused(int status, const Result& r, const std::string& part) {
    INFO(r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    CHECK(contains(r.err, part));
    CHECK(r.err.find("translate: ") != std::string::npos);
}

}  // namespace

TEST_CASE("translate learns, saves, translates in a pipe, and scores", "[apps][translate][slow]") {
    const Files f;
    const Result trained =
        translate(f.train({"--steps", "700", "--lr", "0.001", "--warmup", "100", "--dropout", "0.1",
                           "--batch-tokens", "256", "--average", "5", "--save", f.run}));
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    CHECK(contains(trained.err, "vocabulary: "));
    CHECK(contains(trained.err, "memory: weights "));
    for (const char* name : {"last.safetensors", "model.safetensors", "log.csv"})
        CHECK(!f.file("run", name).empty());

    const With input = {.input = "one two.\r\n\nsix five three."};
    const Result r = translate({"run", f.run}, input);
    CHECK(r.status == 0);
    CHECK(r.out == "zwei eins.\n\ndrei fünf sechs.\n");
    CHECK(translate({"run", f.run, f.folder.write("in.txt", input.input)}).out == r.out);
    CHECK(translate({"run", f.run, "--batch", "1", "--beam", "2"}, input).out == r.out);
    const Result best = translate({"run", f.run, "--n-best", "2"}, input);
    CHECK(best.out.starts_with("0 ||| zwei eins. ||| -"));
    CHECK(std::count(best.out.begin(), best.out.end(), '\n') == 5);

    const Result score = translate({"score", f.run, f.data});
    CHECK(score.status == 0);
    CHECK(score.out.starts_with("loss 0."));
    CHECK(contains(score.out, "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0 "));
    const Result info = translate({"info", f.run});
    CHECK(contains(info.out, "plaingrad.model: translation model\n"));
    CHECK(contains(info.out, "config.d_model: 128\n"));
}

TEST_CASE("translate: a run that was stopped after any step ends as one that was not",
          "[apps][translate][bits]") {
    const Files f;
    const Words whole = f.train({"--save", f.folder / "whole", "--validation", f.data});
    REQUIRE(translate(whole).status == 0);
    const auto same = [&](const std::string& run) {
        for (const char* name : {"last.safetensors", "best.safetensors", "model.safetensors", "log.csv"}) {
            INFO(name);
            CHECK((f.file("whole", name) == f.file(run, name) && !f.file(run, name).empty()));
        }
    };
    for (int k = 1; k < 14; k += fast_build() ? 1 : 6) {
        const std::string number = std::to_string(k), name = "run" + number, folder = f.folder / name;
        const Result first =
            translate(f.train({"--save", folder, "--validation", f.data, "--stop-after", number}));
        INFO(number << ": " << first.err);
        REQUIRE(first.status == 0);
        CHECK(f.file(name, "model.safetensors").empty());
        const Result rest = translate({"train", "--resume", folder, "--threads", k % 2 == 0 ? "1" : "3"});
        INFO(rest.err);
        REQUIRE(rest.status == 0);
        same(name);
    }
}

TEST_CASE("translate: killed at any moment, a run goes on to the same end", "[apps][translate][bits][slow]") {
    const Files f;
    const Words options = {"--save-every", "2"};
    REQUIRE(translate(f.train(joined(options, {"--save", f.folder / "whole"}))).status == 0);
    const autograd::Rng moments = autograd::Rng(7).fork("moments");
    const int kills = fast_build() ? 50 : 5;
    int killed = 0;
    for (uint64_t i = 0; killed < kills && i < 400; ++i) {
        std::error_code none;
        const bool begun = std::filesystem::exists(f.run + "/last.safetensors", none);
        Running run("translate",
                    begun ? Words{"train", "--resume", f.run} : f.train(joined(options, {"--save", f.run})));
        usleep(static_cast<unsigned>(300'000 * moments.uniform(i)));
        run.interrupt(SIGKILL);
        const Result r = run.wait();
        INFO(r.err);
        REQUIRE((r.status == 128 + SIGKILL || r.status == 0));
        killed += r.status == 0 ? 0 : 1;
        if (r.status == 0) {  // it was through: another one
            CHECK(f.file("run", "model.safetensors") == f.file("whole", "model.safetensors"));
            std::filesystem::remove_all(f.run);
        }
    }
    CHECK(killed == kills);
    std::error_code none;
    if (std::filesystem::exists(f.run + "/last.safetensors", none)) {
        const Result r = translate({"train", "--resume", f.run});
        INFO(r.err);
        REQUIRE(r.status == 0);
        CHECK(f.file("run", "model.safetensors") == f.file("whole", "model.safetensors"));
        CHECK(f.file("run", "last.safetensors") == f.file("whole", "last.safetensors"));
    }
}

TEST_CASE("translate saves when it is interrupted or terminated, and goes on", "[apps][translate]") {
    for (const int signal : {SIGINT, SIGTERM}) {
        const Files f;
        Running run("translate", f.train({"--steps", "100000000", "--save", f.run}));
        REQUIRE(run.says("step         1/"));
        run.interrupt(signal);
        const Result r = run.wait();
        INFO(r.err);
        CHECK(r.status == 128 + signal);
        CHECK(r.err.ends_with(signal == SIGINT ? "translate: interrupted\n" : "translate: terminated\n"));
        CHECK(translate({"train", "--resume", f.run, "--stop-after", "1"}).status == 0);
    }
}

TEST_CASE("translate: the model is the average of the last epochs, older ones are gone",
          "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--steps", "20"})).status == 0);
    std::vector<models::Transformer> last;
    int64_t newest = 0;
    for (int64_t epoch = 1; epoch < 20; ++epoch) {
        const std::string file = f.run + "/epoch-" + std::to_string(epoch) + ".safetensors";
        if (std::filesystem::exists(file))
            last.push_back(kit::load_transformer(file)), newest = epoch;
    }
    REQUIRE((last.size() == 2 && newest >= 3));
    const auto average = nn::parameters(kit::load_transformer(f.run + "/model.safetensors"));
    const auto one = nn::parameters(last[0]), two = nn::parameters(last[1]);
    double worst = 0, apart = 0;
    for (std::size_t i = 0; i < average.size(); ++i) {
        const auto a = average[i].tensor.to_vector(), x = one[i].tensor.to_vector(),
                   y = two[i].tensor.to_vector();
        for (std::size_t j = 0; j < a.size(); ++j) {
            worst =
                std::max(worst, std::abs(static_cast<double>(a[j]) - (static_cast<double>(x[j]) + y[j]) / 2));
            apart = std::max(apart, std::abs(static_cast<double>(x[j]) - static_cast<double>(y[j])));
        }
    }
    CHECK(worst < 1e-7);
    CHECK(apart > 1e-4);
}

TEST_CASE("translate in lower case says so in BLEU's signature, and compares so", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--lower-case", "--stop-after", "1"})).status == 0);
    const std::string last = f.run + "/last.safetensors";
    const Result r = translate({"score", last, f.data, "--beam", "1"});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, "BLEU|nrefs:1|case:lc|"));
}

TEST_CASE("translate learn-bpe writes the field's codes", "[apps][translate]") {
    const Folder folder;
    const std::string text = folder.write("text", "low low low lower lowest newer newer\n");
    CHECK(translate({"learn-bpe", "--merges", "2", text}).out == "#version: 0.2\nl o\nw e\n");
    refused(1, translate({"learn-bpe", folder / "none"}), "none: ");
}

TEST_CASE("translate says what is wrong, and nothing is lost", "[apps][translate]") {
    const Files f;
    const auto train = [&](const Words& more) { return translate(joined({"train"}, more)); };
    const std::string en = f.folder.write("en", "a\nb\nc\n"), de = f.folder.write("de", "A\nB\n");
    refused(2, translate({}), "a command is needed");
    refused(2, translate({"fly"}), "unknown command 'fly'");
    refused(2, train({}), "two files, or one TSV");
    refused(1, train({en, de, "--save", f.run}), "3 lines");
    refused(1, train({f.folder / "none", "--save", f.run}), "none: ");
    refused(1, train({f.folder.path, "--save", f.run}), f.folder.path);
    refused(1, train({f.folder.write("empty", ""), "--save", f.run}), "empty");
    refused(2, train({f.data, "--save", f.run, "--max-length", "200", "--batch-tokens", "100"}),
            "--max-length 200");
    refused(1, train({f.data, "--save", en}), en);
    refused(1, train({"--resume", f.folder / "none"}), "there is no run in this folder");
    refused(2, train({f.data}), "--save FOLDER is needed");
    refused(2, train({f.data, "--save", f.run, "--validation", "a,"}), "--validation takes SOURCE,TARGET");
    refused(1, translate({"run", f.data}), f.data);
    refused(1, translate({"run", f.folder.path}), "no model in it");

    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "2"})).status == 0);
    const std::string last = f.run + "/last.safetensors", before = content(last);
    refused(1, translate(f.train({"--save", f.run})), "there is a run in this folder already");
    refused(2, train({"--resume", f.run, "--merges", "50"}), "--merges can't be given again");
    refused(2, train({"--resume", f.run, "--save", f.folder / "other"}), "--save can't be given again");
    put(f.data, pairs() + "one\teins\n");
    refused(1, train({"--resume", f.run}), "it can only go on with the same");
    put(f.data, pairs());
    CHECK(content(last) == before);
    for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{2000}, before.size() - 1}) {
        put(last, before.substr(0, length));
        refused(1, train({"--resume", f.run}), "last.safetensors");
        refused(1, translate({"run", last}), "last.safetensors");
    }
    put(last, before);
    CHECK(train({"--resume", f.run}).status == 0);
}

TEST_CASE("translate looks at the data first", "[apps][translate]") {
    const Files f;
    put(f.data, pairs() + "\nonly\none two.\tzwei eins.\n");
    const Result r = translate(f.train({"--check-data"}));
    INFO(r.err);
    CHECK(r.status == 1);  // a line without a tab
    CHECK(contains(r.err, "pairs.tsv:110"));
    put(f.data, pairs() + "\none two.\tzwei eins.\n");
    const Result good = translate(f.train({"--check-data"}));
    CHECK(good.status == 0);
    CHECK(contains(good.err, "duplicate"));
}
