// What all programs that train have in common: a folder with a log and checkpoints, --resume, a plan, info.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <optional>

#include "tests/apps/run.h"
#include "tests/apps/small_runs.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// A run of a program, in its folder.
struct RunOf {
    const Program& p;
    std::string folder;

    Result train(const Words& more = {}) const { return did(p.train, "--save", more); }
    Result resume(const Words& more = {}) const { return did(p.begin, "--resume", more); }
    Result did(const Words& begin, const std::string& how, const Words& more) const {
        return tests::run(p.name, joined(begin, joined({how, folder}, more)));
    }
    std::string info() const { return must_run(p.name, {"info", folder}).out; }
    std::string file(const std::string& name) const { return content(folder + "/" + name); }
    std::string log() const { return without_times(file("log.csv")); }
    // The step in the last row of the log, which is written with each checkpoint.
    int64_t logged_steps() const {
        const Words rows = lines_of(file("log.csv"));
        return rows.size() < 2 ? 0 : std::stoll(rows.back());
    }
};

// Of a run that was stopped after its second step.
void check_info(const RunOf& run) {
    const std::string info = run.info();
    const Words& train = run.p.train;
    check_says(info,
               {"training: step 2, ", "loss ", "settings: ", train[train.size() - 2] + " " + train.back()});
    int64_t together = 0, most = 0;
    for (const char c : info)
        most = std::max(most, together = c >= '0' && c <= '9' ? together + 1 : 0);
    CHECK(most < 12);  // without internal entries such as fingerprints
}

// The losses of its first step, and of the two that it had taken before.
void check_plot(const std::string& out) {
    const std::string axis = std::string(71, '-') + "\n";
    CHECK(contains(out, "loss: # training"));
    REQUIRE(contains(out, axis));
    const std::string numbers = lines_of(out.substr(out.find(axis))).at(1);
    CHECK((numbers.starts_with("         1  ") && numbers.ends_with(" 3") && numbers.size() == 80));
}

}  // namespace

TEST_CASE("every program that trains: stopped, killed and resumed, it ends with the same files",
          "[apps][runs][bits]") {
    const SmallRuns programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string name = p.name + std::to_string(p.steps), page = programs.folder / "page.html";
        const RunOf whole{p, programs.folder / name},
            run{p, whole.folder + std::string(250 - name.size(), '_')};  // as long as a name may be
        const Result first = whole.train();
        INFO(first.err);
        REQUIRE(first.status <= 1);  // 1: after so few steps, the task is not solved

        const Result stopped = run.train({"--stop-after", "2"});
        REQUIRE(stopped.status == 0);
        check_says(stopped.err, {"memory: weights ", "\nstep 1/2  loss "});
        CHECK(stopped.err.ends_with("stopped after step 2; continue with --resume " + run.folder + "\n"));
        CHECK(run.logged_steps() == 2);
        CHECK_FALSE(contains(stopped.out, "------"));
        check_info(run);
        CHECK(run.resume({"--seed", "2"}).status == 2);
        const bool epochs = p.name == "classify" || p.name == "toy_translate",
                   may_be_longer = p.name == "translate" || p.name == "toy_translate";
        const std::string length = epochs ? "--epochs" : "--steps";
        if (!may_be_longer)
            check_refused(p.name, run.resume({length, "1000"}), 2,
                          "because the learning rate falls over all of them");
        check_plot(run.resume({"--stop-after", "1", "--plot"}).out);

        Running now(p.name, joined(p.begin, {"--resume", run.folder}));
        now.says("\nstep ");
        now.interrupt(SIGKILL);
        const bool killed = now.wait().status == 128 + SIGKILL;  // and had not ended before
        const Result last = run.resume({"--threads", "1"});
        INFO(last.err);
        CHECK((last.status == first.status || !killed));
        if (killed && p.name != "tasks" && p.name != "toy_translate")  // which print the seconds of this call
            CHECK(last.out == first.out);
        const std::string done = std::to_string(p.steps), model = run.folder + "/model.safetensors; ";
        check_says(
            run.resume({"--save-every", "1000", "--report", page}).err,
            {"this run has ended, after step " + done + ": " + model +
                 (epochs && may_be_longer ? "a larger --epochs continues it\n"
                  : may_be_longer
                      ? "a larger --steps or, if --patience ended it, a larger --patience continues it\n"
                      : "its steps or its --patience ended it, so a longer run must be a new one\n"),
             "--report: nothing is trained; the page of this run is made by: report " + run.folder});
        CHECK_FALSE(std::filesystem::exists(page));
        for (const char* file :
             {"last.safetensors", "model.safetensors", "best.safetensors", "tokenizer.json"}) {
            INFO(file);
            CHECK((run.file(file) == whole.file(file)));
        }
        CHECK_FALSE((run.file("last.safetensors").empty() || run.file("model.safetensors").empty()));
        CHECK(run.file("tokenizer.json").empty() == p.begin.empty());  // the others learn from a text
        CHECK(run.log().starts_with("step,loss,validation loss,learning rate,gradient norm\n1,"));
        CHECK(run.log() == whole.log());
        CHECK(run.file("log.csv").starts_with(lines_of(run.log())[0] + ",seconds,tokens/s\n"));
        if (!may_be_longer)
            continue;
        check_refused(p.name, run.resume({length, "1"}), 2,
                      "this run has done " + done + " steps already; it cannot end after ");
        CHECK((run.file("last.safetensors") == whole.file("last.safetensors")));
        run.resume(epochs ? Words{"--epochs", "4"}
                          : Words{"--steps", "9", "--patience", "9"});  // an epoch: two
        CHECK(run.logged_steps() == (epochs ? 8 : 9));
    }
}

TEST_CASE("every program that trains: --precision bf16 is the run's, also when it is resumed",
          "[apps][runs][bf16]") {
    const SmallRuns programs;
    const Words bf16 = {"--precision", "bf16"};
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string folder = programs.folder / (p.name + std::to_string(p.steps));
        const RunOf run{p, folder}, whole{p, folder + "-whole"}, exact{p, folder + "-float32"};
        const auto check_trains = [](const RunOf& r, const Words& words) {
            const Result done = r.train(words);
            INFO(done.err);
            CHECK(done.status == 0);
            CHECK(contains(done.err, " parameters, products in bf16") == (words[0] == "--precision"));
        };
        check_trains(whole, joined(bf16, {"--stop-after", "3"}));
        check_trains(run, joined(bf16, {"--stop-after", "2"}));
        check_trains(exact, {"--stop-after", "3"});
        CHECK(exact.log() != whole.log());
        check_refused(p.name, run.resume(bf16), 2,
                      "--resume continues the run with its settings: --precision cannot be given again; ");
        CHECK(run.resume({"--stop-after", "1"}).status == 0);
        CHECK((run.file("last.safetensors") == whole.file("last.safetensors")));
        CHECK(contains(run.info(), "--precision bf16"));
    }
    const auto sample = [&](const Words& more) {
        const Words words = {programs.folder / "generate12", "--prompt", "", "--tokens", "2000"};
        return must_run("generate", joined(words, more)).out;
    };
    const std::string text = sample({});
    CHECK(text.size() > 1000);
    CHECK(text == sample(bf16));
    CHECK(text != sample({"--precision", "float32"}));
}

TEST_CASE("every program that trains: a signal saves, and the run goes on from there", "[apps][runs]") {
    const SmallRuns programs;
    const auto before = std::signal(SIGHUP, SIG_DFL);  // under nohup, the programs would ignore it
    for (std::size_t i = 0; i < programs.all.size(); ++i) {
        const Program& p = programs.all[i];
        const int signal = std::array{SIGTERM, SIGHUP, SIGINT}[i % 3];
        INFO(p.name << ", signal " << signal);
        const RunOf run{p, programs.folder / std::to_string(i)};
        const bool epochs = p.name == "classify" || p.name == "toy_translate";
        Running now(p.name,
                    joined(p.train, {epochs ? "--epochs" : "--steps", "100000", "--save", run.folder}));
        while (run.logged_steps() == 0 && now.runs())
            usleep(500);
        now.interrupt(signal);
        const Result stopped = now.wait();
        INFO(stopped.err);
        CHECK(stopped.status == 128 + signal);
        CHECK(stopped.err.ends_with(p.name + (signal == SIGINT ? ": interrupted\n" : ": terminated\n")));
        const int64_t done = run.logged_steps();
        CHECK(done > 0);
        check_says(stopped.err, {"\nfinishing this step; a second Ctrl-C quits at once\n",
                                 "saved after step " + std::to_string(done) + "; continue with --resume "});
        CHECK(run.resume({"--stop-after", "1"}).status == 0);
        CHECK(run.logged_steps() == done + 1);
    }
    std::signal(SIGHUP, before);
}

// The system also sends a signal, which would kill. (tests/models/test_disturbed_run.cpp fails each call.)
TEST_CASE("runs: a limit on the size of files is an error, and leaves nothing behind", "[apps][runs]") {
    const SmallRuns programs;
    const std::string run = programs.folder / "run";
    const Words words = joined(programs.of("generate").train, {"--save", run});
    check_refused("generate", tests::run("generate", words, {.largest_file = 4096}), 1,
                  "File too large; a file that was there is unchanged");
    CHECK_FALSE(std::filesystem::exists(run));
}

TEST_CASE("runs: what no memory holds is refused before the first step, and leaves nothing behind",
          "[apps][runs]") {
    const SmallRuns programs;
    const std::string run = programs.folder / "run";
    const std::string longest = programs.folder.write("longest.txt", std::string(200'000, 'a') + "b\n");
    std::string texts = "a\tword\na\tword word\nb\tword\nb\t";
    for (int i = 0; i < 200; ++i)
        texts += "word ";
    const std::string labelled = programs.folder.write("long.tsv", texts + "\n");
    // A model, which is refused before it is built, or a batch.
    for (const Words& words : std::vector<Words>{
             {"reverse_task", "--layers", "100", "--d-model", "4096", "--heads", "1", "--d-ff", "65536"},
             {"generate", "train", programs.text, "--layers", "100", "--d-model", "4096", "--context", "9"},
             {"classify", "train", programs.labelled, "--layers", "100", "--d-model", "8192"},
             {"translate", "train", programs.pairs_file, "--layers", "100", "--d-model", "8192"},
             {"reverse_task", "--batch", "1048576", "--d-model", "256", "--heads", "4"},
             {"generate", "train", longest, "--batch", "65536", "--context", "4096"},
             {"classify", "train", labelled, "--batch", "65536", "--layers", "20", "--d-model", "256"}}) {
        const Result r = tests::run(words[0], joined({words.begin() + 1, words.end()}, {"--save", run}));
        const bool is_model = std::count(words.begin(), words.end(), "100") > 0;
        CHECK(contains("\n" + r.err, "\n" + words[0] + ": memory: at least ") == is_model);
        check_refused(words[0], r, 1, "; a smaller model needs less, and so do smaller batches");
        CHECK_FALSE(std::filesystem::exists(run));
    }
}

TEST_CASE("a run goes on from another folder, and only with the data it began with, wherever they are",
          "[apps][runs]") {
    const SmallRuns programs;
    const Folder& folder = programs.folder;
    std::filesystem::create_directories(folder / "a/b");
    std::filesystem::create_directory_symlink(folder / "a/b", folder / "link");
    std::filesystem::copy(programs.text, folder / "a/only.txt");
    folder.write("held_out.tsv", "one two.\tzwei eins.\n");
    const std::string more = "one six two.\teins.\n", small = " --layers 1 --heads 1 --d-model 8",
                      translate = "train pairs.tsv --validation held_out.tsv --merges 30" + small,
                      classify = "train labelled.tsv --d-model 16",
                      other = "the run began with other training or validation data";
    struct Row {
        std::string program, begun;  // in the folder of the data
        std::string data, changed;   // at first they have another content, and then they move
        std::string moved;           // and are given by these words
    };
    for (const Row& row :
         {Row{"toy_translate", "--pairs pairs.tsv", "pairs.tsv", pairs() + more, "--pairs moved"},
          Row{"generate", "train link/../only.txt" + small, "a/only.txt", pairs() + more, "train moved"},
          Row{"translate", translate, "pairs.tsv", pairs() + more, "train moved"},
          Row{"translate", translate, "held_out.tsv", more, "train --validation moved"},
          Row{"classify", classify, "labelled.tsv", "two" + labels().substr(3), "train moved"},  // a label
          Row{"classify", classify + " --validation labelled.tsv", "labelled.tsv", labels() + "one\t" + more,
              "train moved --validation moved"}}) {
        INFO(row.program << ": " << row.data);
        const std::string run = folder / "run", data = folder / row.data, before = content(data),
                          begin = row.program == "toy_translate" ? "" : "train";
        const auto step = [&](const std::string& words, const char* how, const std::string& in = "") {
            return tests::run(row.program, joined(words_of(words), {how, run, "--stop-after", "1"}),
                              {.folder = in});
        };
        REQUIRE(step(row.begun, "--save", folder.path).status == 0);
        put(data, row.changed);
        check_refused(row.program, step(begin, "--resume"), 1, other);
        put(data, before);
        CHECK(step(begin, "--resume").status == 0);
        std::filesystem::rename(data, folder / "moved");
        check_refused(row.program, step(begin, "--resume"), 1,
                      row.data.substr(row.data.find('/') + 1) + ": ");
        CHECK(step(row.moved, "--resume", folder.path).status == 0);
        std::filesystem::rename(folder / "moved", data);
        std::filesystem::remove_all(run);
    }
    const RunOf split{programs.of("classify"), folder / "split"};
    REQUIRE(split.train({"--stop-after", "1"}).status == 0);
    check_refused("classify", split.resume({"--validation", "19"}), 1, other);
    std::filesystem::copy(programs.text, folder / "\xff");  // a name that cannot be saved in a checkpoint
    const Words strange = joined({"train", folder / "\xff", "--steps", "1"}, words_of(small));
    CHECK(tests::run("generate", strange).status == 0);
    CHECK(tests::run("generate", joined(strange, {"--save", folder / "ff"})).status == 1);
}

TEST_CASE("a folder is that of one program's run, or of none", "[apps][runs]") {
    const SmallRuns programs;
    const RunOf run{programs.of("reverse_task"), programs.folder / "run"};
    REQUIRE(run.train({"--stop-after", "1", "--parts", "6"}).status == 0);
    CHECK(contains(run.info(), "parts of a batch: 6, for at most as many processes\n"));
    const int folder = open(run.folder.c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE((folder >= 0 && flock(folder, LOCK_EX) == 0));
    for (const Program& p : programs.all)
        check_refused(p.name, RunOf{p, run.folder}.resume(), 1,
                      run.folder + ": another run is writing into this folder");
    close(folder);
    for (const std::size_t other : {1u, 2u, 3u, 4u}) {
        const Program& p = programs.all[other];
        const RunOf wrong{p, run.folder};
        check_refused(p.name, tests::run(p.name, {"info", run.folder}), 1,
                      p.begin.empty() ? run.folder + ": this folder has no run of " + p.name
                                      : " is needed: got a translation model");  // it opens models
        check_refused(p.name, wrong.resume(), 1,
                      "last.safetensors: this is a run of reverse_task, not of " + p.name);
        check_refused(p.name, wrong.train(), 1,
                      ": there is a run in this folder already; continue it with --resume, or give another");
    }
    CHECK(tests::run("generate", {"info", programs.text}).status == 1);
    CHECK(tests::run("generate", {"info", run.folder, run.folder}).status == 2);
}

TEST_CASE("options that need each other are refused alone, and so is an empty name", "[apps][runs]") {
    const SmallRuns programs;
    programs.folder.refuses(
        {{"tasks sort --stop-after 1", 2, "--stop-after needs --save or --resume"},
         {"tasks sort --save-every 1", 2, "--save-every needs --save or --resume"},
         {"translate train pairs.tsv --save run --patience 1", 2, "--patience needs --validation"},
         {"translate train '' '' --save run", 2, "is empty"},
         {"generate train '' --save run", 2, "is empty"},
         {"classify train '' --save run", 2, "is empty"}});
    CHECK_FALSE(std::filesystem::exists(programs.folder / "run"));
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
        CHECK(contains(content(said), "but only 512 MiB are available; a smaller model needs less, "));
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

// (The words for each kind of file are those of tests/models/text/test_lines.cpp.)
TEST_CASE("endless, compressed or empty input is an error in one line, in bounded memory", "[apps][runs]") {
    const SmallRuns programs;
    const Place& folder = programs.folder;
    folder.write("t.gz", "\x1f\x8b\x08 and so on"), folder.write("t.csv", "a,b c\nd,e f\n");
    folder.write("one", "abc\n");
    const std::string compressed = "t.gz: this file is compressed; unpack it first",
                      no_file = "/dev/zero: this is a pipe or a device; a file is needed",
                      endless = "standard input:1: a line of 1048577 bytes",
                      unreadable = "standard input: cannot be read: Is a directory";
    const RunOf labels{programs.of("classify"), folder / "labels"},
        pairs{programs.of("translate"), folder / "pairs"};
    REQUIRE(labels.train({"--epochs", "1"}).status + pairs.train({"--steps", "1"}).status == 0);
    folder.refuses({{"generate train /dev/zero", 1, "/dev/zero: this pipe or device has more than 256 MiB"},
                    {"generate train one --lines", 1, "a text of 1 line; at least 20"},
                    {"classify train t.gz", 1, compressed},
                    {"classify train t.csv", 1, "CSV must become label<TAB>text"},
                    {"classify predict /dev/zero", 1, no_file},
                    {"classify predict labels", 1, endless, {.in = "/dev/zero"}},
                    {"classify predict labels", 1, unreadable, {.in = folder.path}},
                    {"toy_translate --pairs t.csv", 1, "t.csv:1: there is no tab; a line must be "},
                    {"translate train t.gz t.gz --save none", 1, compressed},
                    {"translate run /dev/zero", 1, no_file},
                    {"translate info /dev/zero", 1, no_file},
                    {"translate run pairs", 1, endless, {.in = "/dev/zero"}},
                    {"translate run pairs", 1, unreadable, {.in = folder.path}}});
    CHECK_FALSE(std::filesystem::exists(folder / "none"));
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
