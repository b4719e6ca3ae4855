// What all programs that train have in common: a folder with a log and checkpoints, --resume, a plan, info.
#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <optional>

#include "nn/checkpoint/safetensors.h"
#include "tests/apps/translator.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Texts to learn from, and a run of each program on them.
struct Programs : Texts {
    std::vector<Program> all = {
        {"reverse_task",
         150,
         {"--layers", "1", "--d-model", "16", "--d-ff", "16", "--heads", "2", "--steps", "150", "--batch",
          "8", "--save-every", "20"}},
        {"toy_translate",
         120,
         {"--pairs", pairs_file, "--preset", "article", "--epochs", "60", "--save-every", "9"}},
        {"tasks", 100, {"sort", "--steps", "100", "--save-every", "10"}},
        {"generate",
         400,
         {"train", text, "--layers", "1", "--heads", "2", "--d-model", "16", "--context", "16", "--steps",
          "400", "--batch", "4", "--validate-every", "60", "--save-every", "25"},
         {"train"}},
        {"classify",
         440,
         {"train", labelled, "--validation", "20", "--epochs", "40", "--d-model", "16", "--batch", "8",
          "--patience", "40"},
         {"train"}},
        {"translate",
         24,
         {"train",     pairs_file, "--validation", pairs_file, "--merges", "30", "--batch-tokens", "256",
          "--context", "32",       "--layers",     "2",        "--heads",  "2",  "--d-model",      "32",
          "--d-ff",    "64",       "--warmup",     "4",        "--steps",  "24", "--save-every",   "3"},
         {"train"}},
    };
};

// The step in the last row of the log, which is written with each checkpoint.
int64_t logged_steps(const std::string& run) {
    const Words rows = lines_of(content(run + "/log.csv"));
    return rows.size() < 2 ? 0 : std::stoll(rows.back());
}

}  // namespace

TEST_CASE("every program that trains: killed at three points and resumed, it ends with the same files",
          "[apps][runs][bits]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string whole = programs.folder / (p.name + "-whole"),
                          run = programs.folder / (p.name + "-run");
        const Words& train = p.train;
        const Result first = tests::run(p.name, joined(train, {"--save", whole}));
        INFO(first.err);
        REQUIRE(first.status <= 1);  // 1: after so few steps, the task is not solved
        for (int64_t i = 1; i <= 3; ++i) {
            Running now(p.name, i > 1 ? joined(p.begin, {"--resume", run}) : joined(train, {"--save", run}));
            while (logged_steps(run) < i * p.steps / 5 && now.runs())
                usleep(500);
            usleep(static_cast<unsigned>(1'000 * i));  // the log is written before the checkpoint
            now.interrupt(SIGKILL);
            CHECK(now.wait().status == 128 + SIGKILL);
            const auto checkpoint = nn::checkpoint::read(run + "/last.safetensors");
            CHECK(std::stoll(checkpoint.metadata().at("training.steps")) > 0);
            CHECK(content(run + "/tokenizer.json") == content(whole + "/tokenizer.json"));
        }
        CHECK(content(whole + "/tokenizer.json").empty() ==
              p.begin.empty());  // those with commands read text
        const Result last = tests::run(p.name, joined(p.begin, {"--resume", run, "--threads", "1"}));
        INFO(last.err);
        CHECK(last.status == first.status);
        if (p.name != "tasks" &&
            p.name != "toy_translate")  // these print seconds, and the losses of this call
            CHECK(last.out == first.out);
        for (const char* name : {"last.safetensors", "model.safetensors"}) {
            INFO(name);
            CHECK((content(run + "/" + name) == content(whole + "/" + name) &&
                   !content(run + "/" + name).empty()));
        }
        CHECK(content(run + "/best.safetensors") == content(whole + "/best.safetensors"));
        const Result ended = tests::run(p.name, joined(p.begin, {"--resume", run, "--save-every", "1000"}));
        INFO(ended.err);
        CHECK(contains(ended.err, "this run has ended, after step " + std::to_string(p.steps) + ": " + run +
                                      "/model.safetensors; "));
        CHECK(content(run + "/last.safetensors") == content(whole + "/last.safetensors"));
        const std::string log = content(run + "/log.csv");
        CHECK(log.starts_with("step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s\n1,"));
        CHECK(without_times(log) == without_times(content(whole + "/log.csv")));
    }
}

TEST_CASE("every program that trains: --precision bf16 is the run's, also when it is resumed",
          "[apps][runs][bf16]") {
    const Programs programs;
    const Words bf16 = {"--precision", "bf16"};
    for (const Program& p : programs.all) {
        INFO(p.name);
        const auto learn = [&](const std::string& run, const Words& more) {
            const Result r = tests::run(p.name, joined(p.train, joined({"--save", run}, more)));
            INFO(r.err);
            CHECK(r.status == 0);
            CHECK(contains(r.err, " parameters, products in bf16") == (more[0] == "--precision"));
            return nn::checkpoint::read(run + "/last.safetensors");
        };
        const std::string whole = programs.folder / (p.name + "-whole"), run = programs.folder / p.name;
        const auto rounded = learn(whole, joined(bf16, {"--stop-after", "3"}));
        const auto exact = learn(programs.folder / (p.name + "-float32"), {"--stop-after", "3"});
        CHECK(std::any_of(exact.entries().begin(), exact.entries().end(), [&](const auto& entry) {
            return !same_bits(exact.tensor(entry.name), rounded.tensor(entry.name));
        }));
        learn(run, joined(bf16, {"--stop-after", "2"}));
        for (const char* name : {"float32", "bf16"}) {
            const Result other = tests::run(p.name, joined(p.begin, {"--resume", run, "--precision", name}));
            CHECK(other.status == 2);
            CHECK(one_line(other.err, p.name + ": --resume continues the run with its settings: --precision "
                                               "cannot be given again; "));
        }
        const Result on = tests::run(p.name, joined(p.begin, {"--resume", run, "--stop-after", "1"}));
        INFO(on.err);
        CHECK(on.status == 0);
        CHECK((content(run + "/last.safetensors") == content(whole + "/last.safetensors")));
        CHECK(contains(tests::run(p.name, {"info", run}).out, "--precision bf16"));
    }
    const std::string run = programs.folder / "generate";
    const auto sample = [&](const Words& more) {
        return tests::run("generate", joined({run, "--prompt", "", "--tokens", "2000"}, more)).out;
    };
    const std::string text = sample({});
    CHECK(text.size() > 1000);
    CHECK(text == sample(bf16));
    CHECK(text != sample({"--precision", "float32"}));
}

// The folder opens, but the names of its files are longer than the system's 4,095 bytes.
TEST_CASE("every program that trains: --resume with a folder whose files cannot be named ends",
          "[apps][runs]") {
    const Programs programs;
    std::string run = "run";
    while (run.size() < 4080)
        run = "./" + run;
    std::filesystem::create_directory(programs.folder / "run");
    for (const Program& p : programs.all) {
        INFO(p.name);
        Running now(p.name, joined(p.begin, {"--resume", run}), {.folder = programs.folder.path});
        for (int tenths = 0; tenths < 600 && now.runs(); ++tenths)
            usleep(100'000);
        const bool ended = !now.runs();
        now.interrupt(SIGKILL);
        CHECK(ended);
        const Result r = now.wait();
        CHECK(r.status == 1);
        CHECK(one_line(r.err, p.name + ": ./"));
    }
    CHECK(std::filesystem::is_empty(programs.folder / "run"));
}

TEST_CASE("--plot draws the losses of the whole run, on every program that trains", "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string run = programs.folder / p.name, axis = std::string(71, '-') + "\n";
        const Result begun = tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "3"}));
        CHECK_FALSE(contains(begun.out, axis));
        const Result r =
            tests::run(p.name, joined(p.begin, {"--resume", run, "--stop-after", "2", "--plot"}));
        INFO(r.out << r.err);
        CHECK(contains(r.out, "loss: # training"));
        const std::size_t end = r.out.find(axis);
        REQUIRE(end != std::string::npos);
        const std::string numbers = lines_of(r.out.substr(end)).at(1);
        CHECK(numbers.starts_with("         1  "));
        CHECK(numbers.ends_with(" 5"));
        CHECK(numbers.size() == 80);
    }
}

TEST_CASE("a run that has ended says what continues it, and cannot end earlier", "[apps][runs]") {
    const Programs programs;
    const std::string run = programs.folder / "run";
    const auto toy = [&](const Words& words) {
        return tests::run("toy_translate", joined(words, {"hello"}));
    };
    REQUIRE(toy({"--epochs", "4", "--save", run}).status == 1);  // not yet learned
    CHECK(contains(toy({"--resume", run}).err, "; a larger --epochs continues it\n"));
    const std::string page = programs.folder / "page.html";
    CHECK(contains(toy({"--resume", run, "--report", page}).err,
                   "--report: nothing is trained; the page of this run is made by: report " + run + "\n"));
    CHECK_FALSE(std::filesystem::exists(page));
    const Result earlier = toy({"--resume", run, "--epochs", "3"});
    CHECK(earlier.status == 2);
    CHECK(earlier.err.ends_with("this run has done 4 steps already; it cannot end after 3\n"));
    CHECK(contains(toy({"--resume", run, "--epochs", "5"}).err, "step 5/5  loss "));
    REQUIRE(
        tests::run("reverse_task", {"--steps", "1", "--layers", "1", "--d-model", "4", "--save", run + "2"})
            .status == 1);
    CHECK(contains(tests::run("reverse_task", {"--resume", run + "2"}).err,
                   "; its steps or its --patience ended it, so a longer run must be a new one\n"));
}

TEST_CASE("every program that trains shows its plan, stops and resumes, and describes its run",
          "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string name = p.name + std::string(250 - p.name.size(), '_');  // as long as a name may be
        const std::string run = programs.folder / name;
        const Result r = tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "2"}));
        INFO(r.err);
        CHECK(r.status == 0);
        CHECK(contains(r.err, "memory: weights "));
        CHECK(contains(r.err, "\nstep 1/2  loss "));
        CHECK(r.err.ends_with("stopped after step 2; continue with --resume " + run + "\n"));
        CHECK(lines_of(content(run + "/log.csv")).size() == 3);
        const Result info = tests::run(p.name, {"info", run});
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
        CHECK(most < 12);  // without internal entries such as fingerprints
        CHECK(tests::run(p.name, joined(p.begin, {"--resume", run, "--seed", "2"})).status == 2);
        const Result again = tests::run(p.name, joined(p.train, {"--save", run}));
        CHECK(again.status == 1);
        CHECK(contains(again.err, "there is a run in this folder already"));
        const Words too_long = {"--save", programs.folder / std::string(256, 'x')};
        CHECK(one_line(tests::run(p.name, joined(p.train, too_long)).err, p.name + ": "));
        // More steps are possible if the learning rate does not depend on their number; else an error says
        // why not.
        const std::string steps = p.name == "classify" || p.name == "toy_translate" ? "--epochs" : "--steps";
        const Result more =
            tests::run(p.name, joined(p.begin, {"--resume", run, steps, "1000", "--stop-after", "1"}));
        const bool may = p.name == "toy_translate" || p.name == "translate";
        INFO(more.err);
        CHECK(more.status == (may ? 0 : 2));
        CHECK(contains(more.err,
                       may ? "stopped after step 3;" : "because the learning rate falls over all of them"));
    }
}

TEST_CASE("every program that trains: SIGTERM and SIGHUP save, and the run goes on from there",
          "[apps][runs]") {
    const Programs programs;
    const auto before = std::signal(SIGHUP, SIG_DFL);  // under nohup, the programs would ignore it
    for (const Program& p : programs.all)
        for (const int signal : {SIGTERM, SIGHUP}) {
            INFO(p.name << ", signal " << signal);
            const std::string run = programs.folder / (p.name + std::to_string(signal));
            const bool epochs = p.name == "classify" || p.name == "toy_translate";
            Running now(p.name, joined(p.train, {epochs ? "--epochs" : "--steps", "100000", "--save", run}));
            while (logged_steps(run) == 0 && now.runs())
                usleep(500);
            now.interrupt(signal);
            const Result stopped = now.wait();
            INFO(stopped.err);
            CHECK(stopped.status == 128 + signal);
            CHECK(stopped.err.ends_with(p.name + ": terminated\n"));
            const int64_t done = logged_steps(run);
            CHECK(done > 0);
            CHECK(contains(stopped.err,
                           "saved after step " + std::to_string(done) + "; continue with --resume "));
            const Result on = tests::run(p.name, joined(p.begin, {"--resume", run, "--stop-after", "1"}));
            INFO(on.err);
            CHECK(on.status == 0);
            CHECK(logged_steps(run) == done + 1);
        }
    std::signal(SIGHUP, before);
}

TEST_CASE("a folder that can be made only in part is not there afterwards", "[apps][runs]") {
    const Programs programs;
    const std::string made = programs.folder / "made";
    const Result r =
        tests::run("tasks", {"copy", "--steps", "1", "--save", made + "/" + std::string(300, 'x')});
    CHECK(r.status == 1);
    CHECK(contains(r.err, "this folder cannot be made: "));
    CHECK_FALSE(std::filesystem::exists(made));
}

TEST_CASE("a run that cannot be saved leaves no folder, and no file of somebody else is lost",
          "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string run = programs.folder / p.name;
        const Result full = tests::run(p.name, joined(p.train, {"--save", run}), {.largest_file = 4096});
        INFO(full.err);
        CHECK(full.status == 1);
        CHECK(full.err.ends_with("File too large; a file that was there is unchanged\n"));
        CHECK_FALSE(std::filesystem::exists(run));
    }
    const std::string run = programs.folder / "translate", mine = run + "/epoch-1.safetensors";
    std::filesystem::create_directories(run);
    put(mine, "mine");
    const Result r = tests::run("translate", joined(programs.all[5].train, {"--save", run}));
    INFO(r.err);
    CHECK(r.status == 1);
    CHECK(contains(r.err, "translate: " + mine + ": this belongs to a model, or to another run;"));
    CHECK(content(mine) == "mine");
}

TEST_CASE(
    "a new run takes no tokenizer.json of somebody else, and that of a run killed before its first step",
    "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        if (p.begin.empty())
            continue;
        INFO(p.name);
        const std::string run = programs.folder / p.name, name = run + "/tokenizer.json";
        const Words words = joined(p.train, {"--save", run});
        REQUIRE(tests::run(p.name, joined(words, {"--stop-after", "1"})).status == 0);
        const std::string mine = content(name);
        std::filesystem::remove_all(run);
        std::filesystem::create_directories(run);
        put(name, mine + " ");
        const Result other = tests::run(p.name, words);
        INFO(other.err);
        CHECK(other.status == 1);
        CHECK(other.err.ends_with("\n" + p.name + ": " + name +
                                  ": this belongs to a model, or to another run; give another folder\n"));
        CHECK(content(name) == mine + " ");
        CHECK_FALSE(std::filesystem::exists(run + "/last.safetensors"));
        put(name, mine);
        CHECK(tests::run(p.name, joined(words, {"--stop-after", "1"})).status == 0);
        std::filesystem::remove(name);
        const Result lost = tests::run(p.name, joined(p.begin, {"--resume", run}));
        if (p.name == "translate")  // which reads it there
            CHECK(contains(lost.err, run + "/last.safetensors: there is no tokenizer.json beside it"));
        else
            CHECK((lost.status == 0 && content(name) == mine));
    }
}

TEST_CASE("--check of a run that would be saved leaves nothing behind", "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string run = programs.folder / p.name;
        CHECK(tests::run(p.name, joined(p.train, {"--save", run, "--check"})).status <= 1);
        CHECK_FALSE(std::filesystem::exists(run));
    }
}

TEST_CASE("a model that no memory holds is refused before it is built", "[apps][runs]") {
    const Programs programs;
    const std::string run = programs.folder / "run";
    for (const auto& [name, words] : std::vector<std::pair<std::string, Words>>{
             {"reverse_task", {"--layers", "100", "--d-model", "4096", "--heads", "1", "--d-ff", "65536"}},
             {"generate", {"train", programs.text, "--layers", "100", "--d-model", "4096", "--context", "9"}},
             {"classify", {"train", programs.labelled, "--layers", "100", "--d-model", "8192"}},
             {"translate",
              {"train", programs.pairs_file, "--layers", "100", "--d-model", "8192", "--d-ff", "65536"}}}) {
        const Result r = tests::run(name, joined(words, {"--save", run}));
        INFO(r.err);
        CHECK(r.status == 1);
        CHECK(contains("\n" + r.err, "\n" + name + ": memory: weights at least "));
        CHECK(r.err.ends_with(" MiB are available; fewer layers, or a smaller width, need less\n"));
        CHECK_FALSE(std::filesystem::exists(run));
    }
}

TEST_CASE("a run resumes only with the data that it began with", "[apps][runs]") {
    const Programs programs;
    for (const Program& p : programs.all)
        if (p.name == "generate" || p.name == "classify" || p.name == "toy_translate") {
            INFO(p.name);
            const std::string run = programs.folder / p.name;
            REQUIRE(tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "1"})).status == 0);
            put(programs.text, pairs() + "one six two.\teins.\n");
            put(programs.labelled, labels() + "one\tone six two.\n");
            put(programs.pairs_file, pairs() + "one six two.\teins.\n");
            const Result r = tests::run(p.name, joined(p.begin, {"--resume", run}));
            CHECK(r.status == 1);
            CHECK(contains(r.err, "the run began with other training or validation data"));
            put(programs.text, pairs());
            put(programs.labelled, labels());
            put(programs.pairs_file, pairs());
            if (p.name != "classify")
                continue;
            put(programs.labelled, "two" + labels().substr(3));  // one label differs
            CHECK(contains(tests::run(p.name, {"train", "--resume", run}).err,
                           "the run began with other training or validation data"));
            put(programs.labelled, labels());
            CHECK(contains(tests::run(p.name, {"train", "--resume", run, "--validation", "19"}).err,
                           "the run began with other training or validation data"));  // or another split
        }
}

TEST_CASE("a run resumes from another folder, and with files that were renamed", "[apps][runs]") {
    const Programs programs;
    const Folder& folder = programs.folder;
    std::filesystem::create_directories(folder / "a/b");
    std::filesystem::create_directory_symlink(folder / "a/b", folder / "link");
    std::filesystem::copy(programs.text, folder / "a/only.txt");
    const auto begin = [&](const std::string& program, const Words& words) {
        const Result r = tests::run(program, joined(words, {"--save", folder / program, "--stop-after", "1"}),
                                    {.folder = folder.path});
        INFO(r.err);
        REQUIRE(r.status == 0);
    };
    const auto goes_on = [&](const std::string& program, const Words& words) {
        const Result r =
            tests::run(program, joined(words, {"--resume", folder / program, "--stop-after", "1"}));
        INFO(r.err);
        CHECK(r.status == 0);
    };
    begin("classify",
          {"train", "labelled.tsv", "--validation", "labelled.tsv", "--d-model", "16", "--patience", "9"});
    goes_on("classify", {"train"});
    std::filesystem::copy(programs.labelled, folder / "other.tsv");
    goes_on("classify", {"train", "--validation", folder / "other.tsv"});
    begin("toy_translate", {"--pairs", "pairs.tsv"});
    std::filesystem::rename(programs.pairs_file, folder / "moved.tsv");
    goes_on("toy_translate", {"--pairs", folder / "moved.tsv"});
    begin("generate",
          {"train", "link/../only.txt", "--layers", "1", "--heads", "1", "--d-model", "8"});  // a/only.txt
    goes_on("generate", {"train"});

    std::filesystem::rename(folder / "a/only.txt",
                            folder / "\xff");  // a name that cannot be saved in a checkpoint
    const Words small = {"train", folder / "\xff", "--layers", "1",       "--heads",
                         "1",     "--d-model",     "8",        "--steps", "1"};
    CHECK(tests::run("generate", small).status == 0);
    CHECK(tests::run("generate", joined(small, {"--save", folder / "ff"})).status == 1);
    for (const Words& nothing : {Words{"generate", ""}, Words{"classify", ""}, Words{"translate", "", ""}}) {
        const Result r = tests::run(nothing[0], joined({"train"}, joined({nothing.begin() + 1, nothing.end()},
                                                                         {"--save", folder / "no"})));
        INFO(r.err);
        CHECK(r.status == 2);
        CHECK(contains(r.err, "is empty"));
    }
}

TEST_CASE("info says into how many parts batches are cut", "[apps][runs]") {
    const Folder folder;
    for (const std::string parts : {"1", "6"}) {
        const std::string run = folder / parts;
        REQUIRE(tests::run("reverse_task", {"--parts", parts, "--stop-after", "1", "--save", run, "--layers",
                                            "1", "--d-model", "8", "--heads", "1"})
                    .status == 0);
        const std::string out = tests::run("reverse_task", {"info", run}).out;
        INFO(out);
        CHECK(contains(out, "parts of a batch: 6, for at most as many processes\n") == (parts == "6"));
    }
}

TEST_CASE("info names the best validation, as the log has it", "[apps][runs]") {
    const Folder folder;
    // What is held out is unlike the rest: the more is learned, the worse it is predicted.
    const std::string text = folder.write(
        "text.txt", std::string(900, 'a') + "bc" + std::string(900, 'a') + std::string(198, 'b'));
    const std::string run = folder / "run";
    REQUIRE(tests::run("generate",
                       {"train", text, "--layers", "1", "--heads", "2", "--d-model", "16", "--context", "16",
                        "--steps", "40", "--batch", "4", "--validate-every", "5", "--save", run})
                .status == 0);
    double best = INFINITY;
    int64_t at = 0, since = 0;
    const Words log = lines_of(content(run + "/log.csv"));
    for (std::size_t step = 1; step < log.size(); ++step) {
        const std::string loss = fields(log[step], ',').at(2);  // of the validation, if there was one
        if (loss.empty())
            continue;
        const bool better = std::stod(loss) < best;
        best = better ? std::stod(loss) : best;
        at = better ? static_cast<int64_t>(step) : at;
        since = better ? 0 : since + 1;
    }
    REQUIRE(since > 1);
    CHECK(contains(tests::run("generate", {"info", run}).out,
                   autograd::join("best validation: loss ", best, " at step ", at, "; ", since,
                                  " validations since\n")));
}

TEST_CASE("info refuses what is not a run of the program", "[apps][runs]") {
    const Programs programs;
    const std::string run = programs.folder / "run";
    const Program& reverse = programs.all[0];
    REQUIRE(tests::run(reverse.name, joined(reverse.train, {"--save", run, "--stop-after", "1"})).status ==
            0);
    for (const char* program : {"generate", "classify", "toy_translate", "tasks"}) {
        const Result r = tests::run(program, {"info", run});
        INFO(r.err);
        CHECK(r.status == 1);
        const bool opens_models = program == std::string("generate") || program == std::string("classify");
        CHECK(lines_of(r.err).size() == 1);
        CHECK(contains(r.err, opens_models ? " is needed: got a translation model\n"
                                           : run + ": this folder has no run of " + program + "\n"));
        CHECK(tests::run(program, {"info", run, run}).status == 2);
        const Words train = opens_models ? Words{"train"} : Words{};
        const Result resumed = tests::run(program, joined(train, {"--resume", run}));
        INFO(resumed.err);
        CHECK(resumed.status == 1);
        CHECK(one_line(resumed.err, std::string(program) + ": " + run +
                                        "/last.safetensors: this is a run of reverse_task, not of " +
                                        program));
        const Words data = program == std::string("generate") ? Words{programs.text} : Words{};
        if (program == std::string("classify") || program == std::string("tasks"))
            continue;
        const Result begun = tests::run(program, joined(joined(train, data), {"--save", run}));
        CHECK(begun.status == 1);
        CHECK(contains(begun.err, ": there is a run of reverse_task in this folder already; give another"));
    }
    CHECK(tests::run("generate", {"info", programs.text}).status == 1);

    const std::string lm = programs.folder / "lm", last = lm + "/last.safetensors";
    REQUIRE(
        tests::run("generate", joined(programs.all[3].train, {"--save", lm, "--stop-after", "60"})).status ==
        0);
    std::string bytes = content(last);
    const std::size_t at = bytes.find("validation loss");
    REQUIRE(at != bytes.npos);
    put(last, bytes.replace(at, 6, "\\u001b"));  // a terminal would take it for a command
    const Result r = tests::run("generate", {"info", lm});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, "\nlast validation: step 60  ?tion loss "));
}

TEST_CASE("options that need each other are refused alone", "[apps][runs]") {
    const Programs programs;
    const std::string run = programs.folder / "run";
    for (const Program& p : programs.all)
        if (p.name != "translate") {  // which needs --save anyway
            for (const auto& [options, message] :
                 {std::pair(Words{"--stop-after", "1"}, "--stop-after needs --save or --resume"),
                  {{"--save-every", "1"}, "--save-every needs --save or --resume"}}) {
                const Result r = tests::run(p.name, joined(p.train, options));
                INFO(p.name << r.err);
                CHECK(r.status == 2);
                CHECK(contains(r.err, message));
            }
        }
    const Result mt =
        tests::run("translate", {"train", programs.pairs_file, "--save", run, "--patience", "1"});
    CHECK(mt.status == 2);
    CHECK(contains(mt.err, "--patience needs --validation"));
    CHECK_FALSE(std::filesystem::exists(run));
}

TEST_CASE("runs: a batch too large for memory is refused before the first step, and leaves nothing behind",
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
             {"generate", {"train", longest, "--batch", "65536", "--context", "4096"}},
             {"classify", {"train", labelled, "--batch", "65536", "--layers", "20", "--d-model", "256"}}}) {
        const Result r = plaingrad::tests::run(name, joined(arguments, {"--save", run}));
        INFO(r.err);
        CHECK(r.status == 1);
        CHECK(contains(r.err, "a smaller --batch needs less\n"));
        CHECK(r.out.empty());
        CHECK_FALSE(std::filesystem::exists(run));
    }
}

// srun has started two, which cannot find each other: the build lacks MPI, or the variables are made up.
TEST_CASE("runs: of processes that all have one error, the first one says it", "[apps][runs]") {
    const auto started = [](const std::string& rank) {
        return tests::run("reverse_task", {}, {.env = {"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=" + rank}});
    };
    const Result first = started("0"), second = started("1");
    INFO(first.err << second.err);
    CHECK((first.status == 1 && one_line(first.err, "reverse_task: mpirun has started 2 processes, but ")));
    CHECK((second.status == 1 && second.err.empty() && second.out.empty()));
}

#if defined(__linux__)  // elsewhere the shell has no limit of memory, or the system ignores it
TEST_CASE("runs: what the system allows a process limits its memory, too", "[apps][runs]") {
    if (!environment("PLAINGRAD_RUN", "").empty() || !fast_build())
        SKIP("an emulator, or a sanitizer, takes more memory than that for itself");
    const Folder folder;
    const auto refused = [&](const std::string& begin, const std::string& end) {
        const std::string said = folder / "said";
        const int status = std::system((begin + "'" + apps() + "/reverse_task' --batch 16384 --steps 1" +
                                        end + " 2> '" + said + "' > /dev/null")
                                           .c_str());
        INFO(content(said));
        CHECK(WEXITSTATUS(status) == 1);
        CHECK(contains(content(said), "but only 512 MiB are available; a smaller --batch needs less\n"));
    };
    refused("ulimit -v 524288; ", "");  // KiB
    // The limit of a container, which is shown to a process as this file.
    if (std::system("unshare --mount true 2> /dev/null") == 0)
        refused(
            "unshare --mount sh -c \"mount -t tmpfs none /sys/fs/cgroup && "
            "echo 536870912 > /sys/fs/cgroup/memory.max && exec ",
            "\"");
    else
        WARN("skipped: a container's limit (no mount namespaces here)");
}
#endif

TEST_CASE("endless, compressed or empty input is an error in one line, in bounded memory", "[apps][runs]") {
    const Programs programs;
    const Folder& folder = programs.folder;
    const std::string packed = folder.write("t.gz", "\x1f\x8b\x08 and so on"),
                      csv = folder.write("t.csv", "a,b c\nd,e f\n"),
                      nul = folder.write("nul", std::string("one\0two\n", 8)),
                      wide = folder.write("wide", std::string("\xff\xfe"
                                                              "o\0n\0",
                                                              6));
    const auto refused = [](const std::string& program, const Words& words, const std::string& part) {
        const Result r = tests::run(program, words);
        INFO(program << " " << r.err);
        CHECK(r.status == 1);
        CHECK(one_line(r.err, program + ": "));
        CHECK(contains(r.err, part));
    };
    for (const std::string& program : {std::string("generate"), std::string("classify")}) {
        refused(program, {"train", "/dev/zero"}, "/dev/zero: this pipe or device has more than 256 MiB");
        refused(program, {"train", packed}, "t.gz: this file is compressed; unpack it first");
        refused(program, {"train", wide}, "wide: this file is UTF-16; convert it to UTF-8 first");
    }
    refused("toy_translate", {"--pairs", packed}, "t.gz: this file is compressed");
    refused("toy_translate", {"--pairs", "/dev/zero"}, "/dev/zero: this pipe or device has more than 256");
    const std::string no_run = folder / "no";
    refused("translate", {"train", packed, packed, "--save", no_run}, "t.gz: this file is compressed");
    refused("translate", {"train", "/dev/zero", "--save", no_run}, "/dev/zero: this pipe or device has");
    CHECK_FALSE(std::filesystem::exists(no_run));
    for (const char* opens : {"classify predict", "translate run", "translate info"}) {
        const Words words = {std::string(opens, std::strchr(opens, ' ')), std::strchr(opens, ' ') + 1};
        refused(words[0], {words[1], "/dev/zero"}, "/dev/zero: this is a pipe or a device; a file is needed");
    }
    refused("toy_translate", {"--pairs", csv},
            "t.csv:1: there is no tab; a line must be source<TAB>target, not CSV");
    refused("classify", {"train", csv}, "CSV must become label<TAB>text");
    refused("generate", {"train", folder.write("one", "abc\n"), "--lines"}, "a text of 1 line; at least 20");

    REQUIRE(tests::run("classify", joined(programs.all[4].train, {"--epochs", "1", "--save", folder / "c"}))
                .status == 0);
    REQUIRE(tests::run("translate", joined(programs.all[5].train, {"--steps", "1", "--save", folder / "t"}))
                .status == 0);
    if (!environment("PLAINGRAD_RUN", "").empty())
        return;  // a shell does not start the emulator
    const std::string in = std::filesystem::absolute(apps()).string() + "/", err = folder / "err";
    for (const std::string& command :
         {"classify predict " + (folder / "c"), "translate run " + (folder / "t"),
          std::string("toy_translate --epochs 1")}) {
        INFO(command);
        const std::string program = command.substr(0, command.find(' '));
        for (const auto& [input, error] : std::vector<std::pair<std::string, std::string>>{
                 {" < /dev/zero", "standard input:1: a line of 1048577 bytes"},
                 {" < " + packed, "standard input: this file is compressed"},
                 {" < " + nul, "standard input:1: this line contains a NUL byte"},
                 {" <&-", "standard input: cannot be read: Bad file descriptor"}}) {
            const int status = std::system((in + command + input + " > /dev/null 2> " + err).c_str());
            INFO(content(err));
            CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
            CHECK(contains(content(err), program + ": " + error));
        }
    }
}

// A run that reads its text from a named pipe, into which nobody writes, until the end of the test.
struct ReadingRun {
    Folder folder;
    std::string made = folder / "made";
    int end = -1;  // of the pipe: it opens once the program reads from the other
    std::optional<Running> run;

    explicit ReadingRun(const std::string& program) {
        const std::string pipe = folder / "pipe";
        REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
        run.emplace(program, Words{"train", pipe, "--save", made + "/run"});
        while (end < 0 && run->runs()) {
            end = open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
            usleep(1000);
        }
        REQUIRE(std::filesystem::is_directory(made + "/run"));
    }
    ~ReadingRun() { close(end); }
};

TEST_CASE("a signal while the data are read ends the program", "[apps][runs]") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        for (const std::string program : {"generate", "classify"}) {
            INFO(program << ", signal " << signal);
            const auto before = std::signal(signal, SIG_DFL);  // under nohup, SIGHUP is ignored
            ReadingRun reads(program);
            std::signal(signal, before);
            reads.run->interrupt(signal);
            const Result ended = reads.run->wait();
            CHECK(ended.status == 128 + signal);
            CHECK(ended.err.empty());
        }
}

TEST_CASE("a run that nohup has started goes on when its terminal is closed", "[apps][runs]") {
    const auto before = std::signal(SIGHUP, SIG_IGN);  // which the programs inherit
    ReadingRun reads("generate");
    Running trains("generate", {"train", reads.folder.write("text", std::string(500, 'a') + "b"), "--steps",
                                "1000000", "--save", reads.folder / "run"});
    std::signal(SIGHUP, before);
    REQUIRE(trains.says("\nstep "));
    for (Running* run : {&*reads.run, &trains}) {
        run->interrupt(SIGHUP);
        usleep(200'000);  // within which it would end
        CHECK(run->runs());
        run->interrupt(SIGTERM);
    }
    CHECK(reads.run->wait().status == 128 + SIGTERM);
    const Result saved = trains.wait();
    INFO(saved.err);
    CHECK(saved.status == 128 + SIGTERM);
    CHECK(contains(saved.err, "saved after step "));
}
