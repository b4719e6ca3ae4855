// What all programs that train have in common: a folder with a log and checkpoints, --resume, a plan, info.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <optional>

#include "nn/checkpoint/safetensors.h"
#include "tests/apps/run.h"
#include "tests/apps/small_runs.h"
#include "tests/autograd/values.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// The step in the last row of the log, which is written with each checkpoint.
int64_t logged_steps(const std::string& run) {
    const Words rows = lines_of(content(run + "/log.csv"));
    return rows.size() < 2 ? 0 : std::stoll(rows.back());
}

// Of a run that was stopped after its second step.
void check_info(const Program& p, const std::string& run) {
    const Result info = tests::run(p.name, {"info", run});
    INFO(info.out << info.err);
    CHECK(info.status == 0);
    for (const std::string part : {"training: step 2, ", "loss ", "settings: "})
        CHECK(contains(info.out, part));
    CHECK(contains(info.out, p.train[p.train.size() - 2] + " " + p.train.back()));
    int64_t together = 0, most = 0;
    for (const char c : info.out)
        most = std::max(most, together = c >= '0' && c <= '9' ? together + 1 : 0);
    CHECK(most < 12);  // without internal entries such as fingerprints
}

}  // namespace

TEST_CASE("every program that trains: stopped, killed and resumed, it ends with the same files",
          "[apps][runs][bits]") {
    const SmallRuns programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string name = p.name + std::to_string(p.steps), whole = programs.folder / name,
                          run = whole + std::string(250 - name.size(), '_');  // as long as a name may be
        const auto resume = [&](const Words& more) {
            return tests::run(p.name, joined(p.begin, joined({"--resume", run}, more)));
        };
        const Result first = tests::run(p.name, joined(p.train, {"--save", whole}));
        INFO(first.err);
        REQUIRE(first.status <= 1);  // 1: after so few steps, the task is not solved

        const Result stopped = tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "2"}));
        INFO(stopped.err);
        REQUIRE(stopped.status == 0);
        CHECK(contains(stopped.err, "memory: weights "));
        CHECK(contains(stopped.err, "\nstep 1/2  loss "));
        CHECK(stopped.err.ends_with("stopped after step 2; continue with --resume " + run + "\n"));
        CHECK(lines_of(content(run + "/log.csv")).size() == 3);
        const std::string axis = std::string(71, '-') + "\n";
        CHECK_FALSE(contains(stopped.out, axis));
        check_info(p, run);
        CHECK(resume({"--seed", "2"}).status == 2);
        if (p.name != "toy_translate" && p.name != "translate") {
            const Result more = resume({p.name == "classify" ? "--epochs" : "--steps", "1000"});
            CHECK(more.status == 2);
            CHECK(contains(more.err, "because the learning rate falls over all of them"));
        }
        const Result drawn = resume({"--stop-after", "1", "--plot"});
        CHECK(contains(drawn.out, "loss: # training"));
        REQUIRE(contains(drawn.out, axis));
        const std::string numbers = lines_of(drawn.out.substr(drawn.out.find(axis))).at(1);
        CHECK((numbers.starts_with("         1  ") && numbers.ends_with(" 3") && numbers.size() == 80));

        Running now(p.name, joined(p.begin, {"--resume", run}));
        now.says("\nstep ");
        now.interrupt(SIGKILL);
        const bool killed = now.wait().status == 128 + SIGKILL;  // and had not ended before
        const Result last = resume({"--threads", "1"});
        INFO(last.err);
        CHECK((last.status == first.status || !killed));
        if (killed && p.name != "tasks" && p.name != "toy_translate")  // which print the seconds of this call
            CHECK(last.out == first.out);
        const Result ended = resume({"--save-every", "1000"});
        CHECK(contains(ended.err, "this run has ended, after step " + std::to_string(p.steps) + ": " + run +
                                      "/model.safetensors; "));
        for (const char* file :
             {"last.safetensors", "model.safetensors", "best.safetensors", "tokenizer.json"}) {
            INFO(file);
            CHECK((content(run + "/" + file) == content(whole + "/" + file)));
        }
        CHECK_FALSE(
            (content(run + "/last.safetensors").empty() || content(run + "/model.safetensors").empty()));
        CHECK(content(run + "/tokenizer.json").empty() == p.begin.empty());  // the others learn from a text
        const std::string log = content(run + "/log.csv");
        CHECK(log.starts_with("step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s\n1,"));
        CHECK(without_times(log) == without_times(content(whole + "/log.csv")));
    }
}

TEST_CASE("every program that trains: --precision bf16 is the run's, also when it is resumed",
          "[apps][runs][bf16]") {
    const SmallRuns programs;
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
        const std::string run = programs.folder / (p.name + std::to_string(p.steps)), whole = run + "-whole";
        const auto rounded = learn(whole, joined(bf16, {"--stop-after", "3"}));
        const auto exact = learn(run + "-float32", {"--stop-after", "3"});
        CHECK(std::any_of(exact.entries().begin(), exact.entries().end(), [&](const auto& entry) {
            return !same_bits(exact.tensor(entry.name), rounded.tensor(entry.name));
        }));
        learn(run, joined(bf16, {"--stop-after", "2"}));
        const Result other = tests::run(p.name, joined(p.begin, joined({"--resume", run}, bf16)));
        CHECK(other.status == 2);
        CHECK(one_line(other.err, p.name + ": --resume continues the run with its settings: --precision "
                                           "cannot be given again; "));
        const Result on = tests::run(p.name, joined(p.begin, {"--resume", run, "--stop-after", "1"}));
        INFO(on.err);
        CHECK(on.status == 0);
        CHECK((content(run + "/last.safetensors") == content(whole + "/last.safetensors")));
        CHECK(contains(tests::run(p.name, {"info", run}).out, "--precision bf16"));
    }
    const std::string run = programs.folder / "generate12";
    const auto sample = [&](const Words& more) {
        return tests::run("generate", joined({run, "--prompt", "", "--tokens", "2000"}, more)).out;
    };
    const std::string text = sample({});
    CHECK(text.size() > 1000);
    CHECK(text == sample(bf16));
    CHECK(text != sample({"--precision", "float32"}));
}

TEST_CASE("a run that has ended says what continues it, and cannot end earlier", "[apps][runs]") {
    const SmallRuns programs;
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

TEST_CASE("every program that trains: a signal saves, and the run goes on from there", "[apps][runs]") {
    const SmallRuns programs;
    const auto before = std::signal(SIGHUP, SIG_DFL);  // under nohup, the programs would ignore it
    for (std::size_t i = 0; i < programs.all.size(); ++i) {
        const Program& p = programs.all[i];
        const int signal = std::array{SIGTERM, SIGHUP, SIGINT}[i % 3];
        INFO(p.name << ", signal " << signal);
        const std::string run = programs.folder / std::to_string(i);
        const bool epochs = p.name == "classify" || p.name == "toy_translate";
        Running now(p.name, joined(p.train, {epochs ? "--epochs" : "--steps", "100000", "--save", run}));
        while (logged_steps(run) == 0 && now.runs())
            usleep(500);
        now.interrupt(signal);
        const Result stopped = now.wait();
        INFO(stopped.err);
        CHECK(stopped.status == 128 + signal);
        CHECK(stopped.err.ends_with(p.name + (signal == SIGINT ? ": interrupted\n" : ": terminated\n")));
        const int64_t done = logged_steps(run);
        CHECK(done > 0);
        CHECK(contains(stopped.err, autograd::join("saved after step ", done, "; continue with --resume ")));
        CHECK(tests::run(p.name, joined(p.begin, {"--resume", run, "--stop-after", "1"})).status == 0);
        CHECK(logged_steps(run) == done + 1);
    }
    std::signal(SIGHUP, before);
}

TEST_CASE("a limit on the size of files: a new run leaves no folder, another one loses nothing",
          "[apps][runs]") {
    const SmallRuns programs;
    for (const Program& p : programs.all) {
        INFO(p.name);
        const std::string run = programs.folder / (p.name + std::to_string(p.steps)),
                          last = run + "/last.safetensors";
        const auto limited = [&](const Words& words) {
            const Result r = tests::run(p.name, words, {.largest_file = 4096});
            INFO(r.err);
            CHECK(r.status == 1);
            CHECK(r.err.ends_with("File too large; a file that was there is unchanged\n"));
        };
        limited(joined(p.train, {"--save", run}));
        CHECK_FALSE(std::filesystem::exists(run));
        REQUIRE(tests::run(p.name, joined(p.train, {"--save", run, "--stop-after", "1"})).status == 0);
        const std::string before = content(last);
        limited(joined(p.begin, {"--resume", run}));
        CHECK((content(last) == before && !before.empty()));
    }
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
        INFO(words[0] << ": " << r.err);
        CHECK((r.status == 1 && r.out.empty()));
        const bool is_model = std::count(words.begin(), words.end(), "100") > 0;
        CHECK(contains("\n" + r.err, "\n" + words[0] + ": memory: at least ") == is_model);
        CHECK(r.err.ends_with("; a smaller model needs less, and so do smaller batches\n"));
        CHECK_FALSE(std::filesystem::exists(run));
    }
}

TEST_CASE("a run resumes only with the data that it began with", "[apps][runs]") {
    const SmallRuns programs;
    const std::string held_out = programs.folder.write("held_out.tsv", "one two.\tzwei eins.\n"),
                      more = "one six two.\teins.\n";
    const Program &toy = programs.of("toy_translate"), &generate = programs.of("generate"),
                  &classify = programs.of("classify"), &translate = programs.of("translate");
    struct Row {
        Program program;
        std::string changed, to;
        Words options = {};
    };
    for (const Row& row :
         {Row{toy, programs.pairs_file, pairs() + more}, Row{generate, programs.text, pairs() + more},
          Row{classify, programs.labelled, labels() + "one\t" + more},
          Row{classify, programs.labelled, "two" + labels().substr(3)},        // another label
          Row{classify, programs.labelled, labels(), {"--validation", "19"}},  // another split
          Row{translate, programs.pairs_file, pairs() + more}, Row{translate, held_out, more}}) {
        const Program& p = row.program;
        const std::string run = programs.folder / "run", before = content(row.changed);
        Words train = joined(p.train, {"--save", run, "--stop-after", "1"});
        if (p.name == "translate")
            train[3] = held_out;
        REQUIRE(tests::run(p.name, train).status == 0);
        put(row.changed, row.to);
        const Result r = tests::run(p.name, joined(p.begin, joined({"--resume", run}, row.options)));
        put(row.changed, before);
        INFO(p.name << ", " << row.changed << ": " << r.err);
        CHECK(r.status == 1);
        CHECK(contains(r.err, "the run began with other training or validation data"));
        CHECK(tests::run(p.name, joined(p.begin, {"--resume", run, "--stop-after", "1"})).status == 0);
        std::filesystem::remove_all(run);
    }
}

TEST_CASE("a run resumes from another folder, and with files that have moved", "[apps][runs]") {
    const SmallRuns programs;
    const Folder& folder = programs.folder;
    std::filesystem::create_directories(folder / "a/b");
    std::filesystem::create_directory_symlink(folder / "a/b", folder / "link");
    std::filesystem::copy(programs.text, folder / "a/only.txt");
    const Words small = {"--layers", "1", "--heads", "1", "--d-model", "8"};
    struct Row {
        std::string program;
        Words begun;       // in the folder of the data
        std::string data;  // which then moves
        Words moved;       // and is given by these
    };
    for (const Row& row :
         {Row{"classify",
              {"train", "labelled.tsv", "--validation", "labelled.tsv", "--d-model", "16"},
              "labelled.tsv",
              {"train", "moved", "--validation", "moved"}},
          Row{"toy_translate", {"--pairs", "pairs.tsv"}, "pairs.tsv", {"--pairs", "moved"}},
          Row{"generate", joined({"train", "link/../only.txt"}, small), "a/only.txt", {"train", "moved"}},
          Row{"translate",
              joined({"train", "pairs.tsv", "--merges", "30"}, small),
              "pairs.tsv",
              {"train", "moved"}}}) {
        const std::string &name = row.program, run = folder / name;
        REQUIRE(
            tests::run(name, joined(row.begun, {"--save", run, "--stop-after", "1"}), {.folder = folder.path})
                .status == 0);
        const Words on = {"--resume", run, "--stop-after", "1"};
        const Words begin = name == "toy_translate" ? Words{} : Words{"train"};
        CHECK(tests::run(name, joined(begin, on)).status == 0);
        std::filesystem::rename(folder / row.data, folder / "moved");
        const Result lost = tests::run(name, joined(begin, on));
        CHECK(lost.status == 1);
        CHECK(contains(lost.err, row.data.substr(row.data.find('/') + 1) + ": "));
        const Result found = tests::run(name, joined(row.moved, on), {.folder = folder.path});
        INFO(name << ": " << found.err);
        CHECK(found.status == 0);
        std::filesystem::rename(folder / "moved", folder / row.data);
    }
    std::filesystem::copy(programs.text, folder / "\xff");  // a name that cannot be saved in a checkpoint
    const Words strange = joined({"train", folder / "\xff", "--steps", "1"}, small);
    CHECK(tests::run("generate", strange).status == 0);
    CHECK(tests::run("generate", joined(strange, {"--save", folder / "ff"})).status == 1);
    for (const Words& nothing : {Words{"generate", ""}, Words{"classify", ""}, Words{"translate", "", ""}}) {
        const Result r = tests::run(nothing[0], joined({"train"}, joined({nothing.begin() + 1, nothing.end()},
                                                                         {"--save", folder / "no"})));
        CHECK((r.status == 2 && contains(r.err, "is empty")));
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
    std::string bytes = content(run + "/last.safetensors");
    REQUIRE(contains(bytes, "validation loss"));
    put(run + "/last.safetensors", bytes.replace(bytes.find("validation loss"), 6, "\\u001b"));
    // A terminal would take it for a command.
    CHECK(contains(tests::run("generate", {"info", run}).out, "\nlast validation: step 40  ?tion loss "));
}

TEST_CASE("a folder is that of one program's run, or of none", "[apps][runs]") {
    const SmallRuns programs;
    const std::string run = programs.folder / "run";
    REQUIRE(tests::run("reverse_task", joined(programs.of("reverse_task").train,
                                              {"--save", run, "--stop-after", "1", "--parts", "6"}))
                .status == 0);
    const auto refused = [](const std::string& program, const Words& words, const std::string& error) {
        const Result r = tests::run(program, words);
        INFO(program << ": " << r.err);
        CHECK(r.status == 1);
        CHECK((one_line(r.err, program + ": ") && contains(r.err, error)));
    };
    CHECK(contains(tests::run("reverse_task", {"info", run}).out,
                   "parts of a batch: 6, for at most as many processes\n"));
    const int folder = open(run.c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE((folder >= 0 && flock(folder, LOCK_EX) == 0));
    for (const Program& p : programs.all)
        refused(p.name, joined(p.begin, {"--resume", run}),
                run + ": another run is writing into this folder");
    close(folder);
    for (const std::size_t other : {1u, 2u, 3u, 4u}) {
        const Program& p = programs.all[other];
        const bool opens_models = !p.begin.empty();
        refused(p.name, {"info", run},
                opens_models ? " is needed: got a translation model\n"
                             : run + ": this folder has no run of " + p.name + "\n");
        CHECK(tests::run(p.name, {"info", run, run}).status == 2);
        refused(p.name, joined(p.begin, {"--resume", run}),
                run + "/last.safetensors: this is a run of reverse_task, not of " + p.name);
        refused(p.name, joined(p.train, {"--save", run}),
                ": there is a run in this folder already; continue it with --resume, or give another");
    }
    CHECK(tests::run("generate", {"info", programs.text}).status == 1);
}

TEST_CASE("--check of a run that would be saved leaves nothing behind", "[apps][runs]") {
    const SmallRuns programs;
    const std::string run = programs.folder / "run";
    CHECK(tests::run("tasks", {"sort", "--steps", "5", "--save", run, "--check"}).status == 0);
    CHECK_FALSE(std::filesystem::exists(run));
}

TEST_CASE("options that need each other are refused alone", "[apps][runs]") {
    const SmallRuns programs;
    for (const auto& [program, options, message] :
         {std::tuple("tasks", Words{"sort", "--stop-after", "1"}, "--stop-after needs --save or --resume"),
          {"tasks", {"sort", "--save-every", "1"}, "--save-every needs --save or --resume"},
          {"translate",
           {"train", programs.pairs_file, "--save", programs.folder / "run", "--patience", "1"},
           "--patience needs --validation"}}) {
        const Result r = tests::run(program, options);
        INFO(r.err);
        CHECK((r.status == 2 && contains(r.err, message)));
    }
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
    const Folder& folder = programs.folder;
    const std::string packed = folder.write("t.gz", "\x1f\x8b\x08 and so on"),
                      csv = folder.write("t.csv", "a,b c\nd,e f\n"), one = folder.write("one", "abc\n"),
                      zero = "/dev/zero", none = folder / "none";
    const std::string compressed = "t.gz: this file is compressed; unpack it first",
                      no_file = "/dev/zero: this is a pipe or a device; a file is needed";
    for (const auto& [program, words, error] : std::vector<std::tuple<std::string, Words, std::string>>{
             {"generate", {"train", zero}, "/dev/zero: this pipe or device has more than 256 MiB"},
             {"generate", {"train", one, "--lines"}, "a text of 1 line; at least 20"},
             {"classify", {"train", packed}, compressed},
             {"classify", {"train", csv}, "CSV must become label<TAB>text"},
             {"classify", {"predict", zero}, no_file},
             {"toy_translate", {"--pairs", csv}, "t.csv:1: there is no tab; a line must be "},
             {"translate", {"train", packed, packed, "--save", none}, compressed},
             {"translate", {"run", zero}, no_file},
             {"translate", {"info", zero}, no_file}}) {
        const Result r = tests::run(program, words);
        INFO(program << " " << r.err);
        CHECK(r.status == 1);
        CHECK((one_line(r.err, program + ": ") && contains(r.err, error)));
    }
    CHECK_FALSE(std::filesystem::exists(none));

    const std::string labels_run = folder / "c", pairs_run = folder / "t", err = folder / "err";
    const auto trained = [&](const std::string& program, const Words& more) {
        REQUIRE(tests::run(program, joined(programs.of(program).train, more)).status == 0);
    };
    trained("classify", {"--epochs", "1", "--save", labels_run});
    trained("translate", {"--steps", "1", "--save", pairs_run});
    if (!environment("PLAINGRAD_RUN", "").empty())
        return;  // a shell does not start the emulator
    for (const Words& words : {Words{"classify", "predict", labels_run},
                               {"translate", "run", pairs_run},
                               {"toy_translate", "--epochs", "1"}})
        for (const auto& [input, error] :
             {std::pair(" < /dev/zero", "standard input:1: a line of 1048577 bytes"),
              {" <&-", "standard input: cannot be read: Bad file descriptor"}}) {
            const std::string command = "'" + std::filesystem::absolute(apps()).string() + "/" + words[0] +
                                        "' " + words[1] + " '" + words[2] + "'" + input;
            const int status = std::system((command + " > /dev/null 2> '" + err + "'").c_str());
            INFO(command << ": " << content(err));
            CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
            CHECK(contains(content(err), words[0] + ": " + error));
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
