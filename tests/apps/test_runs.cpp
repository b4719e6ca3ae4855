// What all programs that train have in common: a folder with a log and checkpoints, --resume, a plan, info.
#include "tests/apps/translator.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

struct Program {
    std::string name, folder;  // whose run it is in that of --save
    Words train;               // a small run, without --save
    Words begin = {};          // the words before the options of --resume
};

// The first word of each pair, which six have, and the pair.
std::string labels() {
    std::string lines;
    for (const std::string& line : lines_of(pairs()))
        lines.append(line.substr(0, line.find(' ')))
            .append("\t")
            .append(line.substr(0, line.find('\t')))
            .append("\n");
    return lines;
}

// Texts to learn from, and a run of each program on them.
struct Programs {
    Folder folder;
    std::string pairs_file = folder.write("pairs.tsv", pairs()), text = folder.write("text.txt", pairs()),
                labelled = folder.write("labelled.tsv", labels());
    std::vector<Program> all = {
        {"reverse_task",
         "",
         {"--layers", "1", "--d-model", "16", "--d-ff", "16", "--heads", "2", "--steps", "150", "--batch",
          "8", "--save-every", "20"}},
        {"toy_translate",
         "",
         {"--data", pairs_file, "--preset", "article", "--epochs", "60", "--save-every", "9"}},
        {"tasks", "sort", {"sort", "--steps", "100", "--save-every", "10"}},
        {"char_lm",
         "",
         {"train", text, "--layers", "1", "--heads", "2", "--d-model", "16", "--context", "16", "--steps",
          "400", "--batch", "4", "--validate-every", "60", "--save-every", "25"},
         {"train"}},
        {"classify",
         "",
         {"train", labelled, "--validation", "20", "--epochs", "40", "--d-model", "16", "--batch", "8",
          "--patience", "40"},
         {"train"}},
        {"translate",
         "",
         {"train",        pairs_file, "--validation", pairs_file, "--merges", "30", "--batch-tokens", "256",
          "--max-length", "32",       "--layers",     "2",        "--heads",  "2",  "--d-model",      "32",
          "--d-ff",       "64",       "--warmup",     "4",        "--steps",  "24", "--average",      "2",
          "--save-every", "3"},
         {"train"}},
    };
};

std::string folder_of(const Program& p, const std::string& run) {
    return p.folder.empty() ? run : run + "/" + p.folder;
}

std::string file(const Program& p, const std::string& run, const std::string& name) {
    return content(folder_of(p, run) + "/" + name);
}

// A log without its last two columns, the times.
std::string without_times(const std::string& log) {
    std::string rows;
    for (std::string row : lines_of(log)) {
        for (int column = 0; column < 2; ++column)
            row.erase(row.rfind(','));
        rows += row + '\n';
    }
    return rows;
}

}  // namespace

TEST_CASE("every program that trains: killed at three points and resumed, it ends with the same files",
          "[apps][runs][bits]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string whole = programs.folder / (p.name + "-whole"),
                          run = programs.folder / (p.name + "-run");
        const Result first = tests::run(p.name, joined(p.train, {"--save", whole}));
        INFO(first.err);
        REQUIRE(first.status <= 1);  // 1: so little was learned that the task is not done
        int killed = 0;
        for (int i = 0; i < 3; ++i) {
            std::error_code none;
            const bool begun = std::filesystem::exists(folder_of(p, run) + "/last.safetensors", none);
            Running now(p.name,
                        begun ? joined(p.begin, {"--resume", run}) : joined(p.train, {"--save", run}));
            if (begun)
                REQUIRE(now.says("speed: "));
            while (!std::filesystem::exists(folder_of(p, run) + "/last.safetensors", none))
                usleep(1000);
            usleep(static_cast<unsigned>(2'000 * (i + 1)));
            now.interrupt(SIGKILL);
            killed += now.wait().status == 128 + SIGKILL ? 1 : 0;
        }
        CHECK(killed == 3);
        const Result last = tests::run(p.name, joined(p.begin, {"--resume", run, "--threads", "1"}));
        INFO(last.err);
        CHECK(last.status == first.status);
        if (p.name != "tasks" &&
            p.name != "toy_translate")  // these print seconds, and the losses of this call
            CHECK(last.out == first.out);
        for (const char* name : {"last.safetensors", "model.safetensors"}) {
            INFO(name);
            CHECK((file(p, run, name) == file(p, whole, name) && !file(p, run, name).empty()));
        }
        CHECK(file(p, run, "best.safetensors") == file(p, whole, "best.safetensors"));
        const std::string log = file(p, run, "log.csv");
        CHECK(log.starts_with("step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s\n1,"));
        CHECK(without_times(log) == without_times(file(p, whole, "log.csv")));
    }
}

TEST_CASE("every program that trains shows its plan, stops and goes on, and says what a run is",
          "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string run = programs.folder / p.name;
        const Result r = tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "2"}));
        INFO(r.err);
        CHECK(r.status == 0);
        CHECK(contains(r.err, "memory: weights "));
        CHECK(contains(r.err, " MiB; files up to "));
        CHECK(contains(r.err, " tokens/s; 2 steps: "));
        CHECK(r.err.ends_with("stopped after step 2; --resume " + folder_of(p, run) + " goes on\n") ==
              p.folder.empty());
        CHECK(lines_of(file(p, run, "log.csv")).size() == 3);
        const Result info = tests::run(p.name, {"info", folder_of(p, run)});
        INFO(info.out << info.err);
        CHECK(info.status == 0);
        CHECK(contains(info.out, "training: step 2, "));
        CHECK(contains(info.out, "loss "));
        CHECK(contains(info.out, "settings: "));
        CHECK(contains(info.out, p.train[p.train.size() - 2] + " " + p.train.back()));
        const std::string digits = "0123456789";
        int64_t together = 0, most = 0;
        for (const char c : info.out)
            most = std::max(most, together = digits.find(c) != digits.npos ? together + 1 : 0);
        CHECK(most < 12);  // no fingerprints
        CHECK(tests::run(p.name, joined(p.begin, {"--resume", run, "--seed", "2"})).status == 2);
        const Result again = tests::run(p.name, joined(p.train, {"--save", run}));
        CHECK(again.status == 1);
        CHECK(contains(again.err, "there is a run in this folder already"));
    }
}

TEST_CASE("a run is resumed with the data that it began with, and no others", "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all)
        if (p.name == "char_lm" || p.name == "classify" || p.name == "toy_translate") {
            INFO(p.name);
            const std::string run = programs.folder / p.name;
            REQUIRE(tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "1"})).status == 0);
            put(programs.text, pairs() + "one six two.\teins.\n");
            put(programs.labelled, labels() + "one\tone six two.\n");
            put(programs.pairs_file, pairs() + "one six two.\teins.\n");
            const Result r = tests::run(p.name, joined(p.begin, {"--resume", run}));
            CHECK(r.status == 1);
            CHECK(contains(r.err, "the run began with other data"));
            put(programs.text, pairs());
            put(programs.labelled, labels());
            put(programs.pairs_file, pairs());
        }
}

TEST_CASE("runs: a batch that no memory holds is refused before the first step, and nothing is left",
          "[apps][runs]") {
    const Programs programs;
    const std::string run = programs.folder / "run";
    const std::string longest = programs.folder.write("longest.txt", std::string(200'000, 'a') + "b\n");
    std::string texts = "a\tword\na\tword word\nb\tword\nb\t";
    for (int i = 0; i < 200; ++i)
        texts += "word ";
    const std::string labelled = programs.folder.write("long.tsv", texts + "\n");
    for (const auto& [name, arguments] : std::vector<std::pair<std::string, Words>>{
             {"reverse_task", {"--batch", "1048576", "--d-model", "256", "--heads", "4"}},
             {"char_lm", {"train", longest, "--batch", "65536", "--context", "4096"}},
             {"classify", {"train", labelled, "--batch", "65536", "--layers", "20", "--d-model", "256"}}}) {
        const Result r = plaingrad::tests::run(name, joined(arguments, {"--save", run}));
        INFO(r.err);
        CHECK(r.status == 1);
        CHECK(contains(r.err, "a smaller --batch takes less\n"));
        CHECK(r.out.empty());
        CHECK_FALSE(std::filesystem::exists(run));
    }
}
