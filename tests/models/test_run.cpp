// A training run without a terminal: its folder; it can be stopped and resumed with the same bits.
#include "models/run.h"

#include <sys/resource.h>

#include <cmath>

#include "nn/checkpoint/safetensors.h"
#include "nn/schedule.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/small.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
namespace fs = std::filesystem;

namespace {

// A user's program: a language model that learns to count, with one setting that may change and one that may
// not.
struct Program {
    int64_t steps = 12, width = 12;
    RunSettings run = {};
    std::string data = "";
    Settings settings = {};

    Program() {
        settings.add("--steps", "N", "steps", steps).may_change();
        settings.add("--width", "N", "width", width);
    }

    // Returns whether the run has come to its end. stop_at: where the watch stops it.
    bool operator()(int64_t stop_at = 0) {
        const RunFolder folder("count", run, settings);
        Config config = small_stack("gpt2");
        config.block.d_model = width;
        const LanguageModel model(config, Rng(1));
        Run learning(folder, run_model(model, {{"count.text", "4 5 6"}}, data));
        const auto ids = [](int64_t step) {
            const auto first = static_cast<int32_t>(kFirstFreeId + step % 3);
            return Tokens(1, 3, {first, first + 1, first + 2});
        };
        const bool ended = learning.train(
            [&](const nn::StepPart& at, const Mode& mode) {
                return nn::StepLoss{model.loss(ids(at.step), ids(at.step + 1), mode), 3};
            },
            {.steps = steps,
             .learning_rate = nn::ConstantSchedule{0.01},
             .validate_every = 4,
             .validation_loss =
                 [&] { return std::abs(static_cast<double>(learning.training.adam.steps() - 8)); }},
            {.should_stop = [&] { return learning.training.adam.steps() == stop_at; }});
        if (ended)
            saved_step = learning.finish();
        return ended;
    }
    int64_t saved_step = 0;
};

std::vector<Real> weights_of(const std::string& path) {
    return values(nn::parameters(load_model<LanguageModel>(path)));
}

}  // namespace

TEST_CASE("run: stopped twice and resumed without a terminal, it ends with the same files",
          "[models][run][bits]") {
    const Folder folder;
    Program whole;
    whole.run.save = folder / "whole";
    CHECK(whole());
    CHECK(whole.saved_step == 8);  // of the best validation

    Program first;
    first.run = {.save = folder / "parts", .stop_after = 3};
    CHECK_FALSE(first());
    CHECK_FALSE(fs::exists(folder / "parts/model.safetensors"));
    Program second;
    second.run.resume = folder / "parts";
    CHECK_FALSE(second(7));  // the watch says so
    Program third;
    third.run.resume = folder / "parts";
    CHECK(third());
    for (const char* name : {"/last.safetensors", "/best.safetensors", "/model.safetensors"}) {
        INFO(name);
        CHECK((content(folder / "parts" + name) == content(folder / "whole" + name) &&
               !content(folder / "whole" + name).empty()));
    }
    // What was learned is the best weights, and they are not the last ones.
    CHECK(content(folder / "whole/model.safetensors") == content(folder / "whole/best.safetensors"));
    CHECK(weights_of(folder / "whole/best.safetensors") != weights_of(folder / "whole/last.safetensors"));
    const std::string log = content(folder / "parts/log.csv");
    CHECK(std::count(log.begin(), log.end(), '\n') == 13);  // a heading and 12 rows
    CHECK(nn::checkpoint::read(folder / "whole/model.safetensors").metadata().at("count.text") == "4 5 6");
}

TEST_CASE("run: one that had ended keeps its best model, also when the weights it came from are gone",
          "[models][run]") {
    const Folder folder;
    Program first;
    first.run.save = folder / "run";
    REQUIRE(first());
    const std::string model = content(folder / "run/model.safetensors");
    const auto again = [&] {
        Program resumed;
        resumed.run.resume = folder / "run";
        return resumed() ? resumed.saved_step : -1;
    };
    fs::remove(folder / "run/model.safetensors");  // as if the run was killed before it saved this
    CHECK((again() == 8 && content(folder / "run/model.safetensors") == model));
    fs::remove(folder / "run/best.safetensors");
    CHECK((again() == 0 && content(folder / "run/model.safetensors") == model));
    fs::remove(folder / "run/model.safetensors");
    CHECK(contains(error_of(again), "run/best.safetensors: the weights of the best validation, of step 8, "));
    CHECK_FALSE(fs::exists(folder / "run/model.safetensors"));
}

TEST_CASE("run: settings in a checkpoint are restored, and those that may change can be given",
          "[models][run]") {
    const Folder folder;
    Program first;
    first.width = 24;
    first.run = {.save = folder / "run", .stop_after = 3};
    CHECK_FALSE(first());
    Program again;  // its width is 12, the checkpoint's is 24
    again.run.resume = folder / "run";
    CHECK(again());
    CHECK((again.width == 24 && again.steps == 12));
    Program other;
    other.run.resume = folder / "run";
    other.data = "other";
    CHECK(contains(error_of([&] { other(); }), "the run began with other training or validation data"));
    Program with;
    with.run.save = folder / "tokens";
    with.data = "texts; tokens 1";
    REQUIRE(with());
    Program more;
    more.run.resume = folder / "tokens";
    more.data = "texts; tokens 12";
    CHECK(contains(error_of([&] { more(); }), "or with another tokenizer"));
    more.data = "texts";
    CHECK(contains(error_of([&] { more(); }), "or with another tokenizer"));
}

TEST_CASE("run: a setting whose value has an equals sign is restored", "[models][run]") {
    Settings begun, resumed;
    std::string file = "lr=0.1/held=out.tsv", restored;
    begun.add("--validation", "FILE", "to measure by", file);
    resumed.add("--validation", "FILE", "to measure by", restored);
    resumed.resume(begun.kept(), "last.safetensors");
    CHECK(restored == "lr=0.1/held=out.tsv");
}

TEST_CASE("run: a step with a loss that is not a number is not saved", "[models][run]") {
    const Folder folder;
    Settings none;
    const RunFolder run("p", {.save = folder / "run", .save_every = 1}, none);
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    Run learning(run, run_model(model));
    learning.begin(10);
    const std::string before = content(run.last());  // saved before the first step
    CHECK_FALSE(before.empty());
    for (const nn::StepReport& report : {nn::StepReport{.step = 1, .loss = std::nan("")},
                                         nn::StepReport{.step = 1, .loss = 1, .grad_norm = INFINITY}})
        CHECK(contains(error_of([&] { learning.after_step(report); }), "step 1: "));
    CHECK(content(run.last()) == before);
    CHECK(learning.after_step({.step = 1, .loss = 1, .grad_norm = 1}));
    static_assert(!std::is_move_constructible_v<Run>);  // its watch points to it
}

TEST_CASE("run: once it is over, it holds nothing of what its watch captured", "[models][run]") {
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    Settings none;
    const RunFolder nowhere("p", {}, none);
    Run learning(nowhere, run_model(model));
    auto captured = std::make_shared<int>(0);
    learning.begin(10, {.on_step = [captured](const nn::StepReport&) {}});
    CHECK(captured.use_count() == 2);
    CHECK_FALSE(learning.stop());
    CHECK(captured.use_count() == 1);
}

TEST_CASE("run: the seconds of a step are those since the run began", "[models][run]") {
    using Clock = std::chrono::steady_clock;
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    Settings none;
    const RunFolder nowhere("p", {}, none);
    Run learning(nowhere, run_model(model));
    CHECK((learning.last() == 0 && learning.stop()));  // nothing to do was given yet
    double seconds = -1;
    const Clock::time_point before = Clock::now();
    learning.begin(10, {.on_step = [&](const nn::StepReport& report) { seconds = report.seconds; }});
    CHECK(learning.last() == 10);
    learning.after_step({.step = 1, .loss = 1, .grad_norm = 1});
    CHECK((seconds >= 0 && seconds <= std::chrono::duration<double>(Clock::now() - before).count()));
}

TEST_CASE("run: a page is written at the end, and parts are as many as processes, unless it is said",
          "[models][run]") {
    const RunSettings usual;
    CHECK((usual.save_every == 0 && usual.stop_after == 0 && usual.report_every == 0 && usual.parts == 0));
    CHECK((usual.save.empty() && usual.resume.empty() && usual.report.empty()));
}

TEST_CASE("run: processes that differ are refused, and told in what", "[models][run]") {
    struct Process {
        std::string program = "p", data = "texts 1";
        int64_t steps = 12, d_ff = 20;
        uint64_t seed = 1;
    };
    const auto error = [](const std::function<void(Process&)>& change) {
        return error_of([&] {
            run_team(2, [&](nn::Team& team) {
                Process process;
                if (!team.leads())
                    change(process);
                Settings settings;
                settings.add("--steps", "N", "steps", process.steps);
                settings.team = &team;
                const RunFolder nowhere(process.program, {}, settings);
                Config config = small_stack("gpt2");
                config.block.d_ff = process.d_ff;
                const LanguageModel model(config, Rng(process.seed));
                Run(nowhere, run_model(model, {}, process.data));
            });
        });
    };
    CHECK(error([](Process&) {}) == "");
    CHECK(contains(error([](Process& p) { p.program = "q"; }),
                   "process 1 has another program or version than process 0: 'q "));
    CHECK(error([](Process& p) { p.steps = 13; }) ==
          "process 1 has other settings than process 0: '--steps=13', not '--steps=12'");
    CHECK(error([](Process& p) { p.data = "texts 2"; }) ==
          "process 1 has other data than process 0: 'texts 2', not 'texts 1'");
    CHECK(contains(error([](Process& p) { p.d_ff = 21; }), "process 1 has another model than process 0: '"));
    CHECK(contains(error([](Process& p) { p.seed = 2; }),
                   "process 1 has other weights to begin with than process 0: '"));
}

namespace {

// What a step of training does with a part of a batch: the same for each.
nn::LossOf counts(const LanguageModel& model) {
    return [&model](const nn::StepPart&, const Mode& mode) {
        const auto first = static_cast<int32_t>(kFirstFreeId);
        return nn::StepLoss{
            model.loss(Tokens(1, 2, {first, first + 1}), Tokens(1, 2, {first + 1, first + 2}), mode), 2};
    };
}

// So many processes train for two steps in these folders. Returns the error of one of them, or "".
std::string error_of_team(
    int64_t processes, const RunSettings& where,
    const std::function<void(const RunFolder&)>& also = [](const RunFolder&) {}) {
    try {
        run_team(processes, [&](nn::Team& team) {
            Settings settings;
            settings.team = &team;
            const RunFolder folder("p", where, settings);
            also(folder);
            const LanguageModel model(small_stack("gpt2"), Rng(1));
            Run learning(folder, run_model(model));
            learning.train(counts(model), {.steps = 2, .learning_rate = nn::ConstantSchedule{0.01}});
        });
        return "";
    } catch (const std::exception& error) {  // a SettingError, too
        return error.what();
    }
}

}  // namespace

TEST_CASE("run: processes share a folder, into which process 0 writes", "[models][run]") {
    const Folder folder;
    const RunSettings settings = {.save = folder / "run", .stop_after = 1, .parts = 2};
    CHECK(error_of_team(2, settings, [&](const RunFolder& run) {
              autograd::check(run.writes() == run.team().leads() && run.parts == 2, "who writes?");
              if (run.team().leads())
                  put(run.path + "/there", "");
              run.team().gather("");  // all have come here
              // What is there belongs to somebody: process 0 says so, and no other asks.
              const std::string error = error_of([&] { run.claim("there"); });
              autograd::check(error.empty() == !run.team().leads(), "claimed: ", error);
              run.team().gather("");  // all have come here
          }) == "");
    std::error_code none;
    CHECK(nn::checkpoint::names_in(folder / "run", none) ==
          std::vector<std::string>{"last.safetensors", "log.csv", "there"});
    CHECK(nn::checkpoint::read(folder / "run/last.safetensors").metadata().at("p.parts") == "2");
    CHECK(error_of_team(3, {.resume = folder / "run"}) ==
          "a batch of this run is cut into 2 parts, so at most as many processes can share it: got 3");
    CHECK(error_of_team(2, {.save = folder / "new", .parts = 1}) ==
          "a batch of this run is cut into 1 part, so only one process can have it: got 2; --parts sets the "
          "number");
    CHECK_FALSE(fs::exists(folder / "new"));
    // One process alone goes on with the two parts.
    CHECK(error_of_team(1, {.resume = folder / "run"}, [](const RunFolder& run) {
              autograd::check(run.parts == 2, "parts: ", run.parts);
          }) == "");
    CHECK(content(folder / "run/log.csv").find("\n2,") != std::string::npos);
}

TEST_CASE("run: without a folder nothing is written, and no hook is told that it will be", "[models][run]") {
    CHECK(error_of_team(2, {}) == "");
    const Folder folder;
    for (const bool saves : {false, true}) {
        Settings none;
        const RunFolder where("p", {.save = saves ? folder / "run" : ""}, none);
        const LanguageModel model(small_stack("gpt2"), Rng(1));
        int told = 0;
        Run learning(where, run_model(model), {.after_step = [&](const nn::StepReport&) { ++told; }});
        CHECK(learning.train(counts(model), {.steps = 2, .learning_rate = nn::ConstantSchedule{0.01}}));
        CHECK(told == (saves ? 2 : 0));
    }
}

TEST_CASE("run: a folder that is not a run's is left unchanged", "[models][run]") {
    const Folder folder;
    Settings none;
    folder.write("log.csv", "mine");
    CHECK(contains(error_of([&] { RunFolder("p", {.save = folder.path}, none); }),
                   "log.csv: this belongs to a model, or to another run; give another folder"));
    CHECK(content(folder / "log.csv") == "mine");
    for (const RunSettings& wrong :
         {RunSettings{.save = folder / "a", .save_every = -1},
          RunSettings{.save = folder / "a", .stop_after = -1}, RunSettings{.stop_after = 1},
          RunSettings{.log = "json"}, RunSettings{.save = folder / "a", .report_every = 1},
          RunSettings{.save = folder / "a", .report_every = -1},
          RunSettings{.save = folder / "a", .parts = -1}})
        CHECK_THROWS_AS(RunFolder("p", wrong, none), SettingError);
    CHECK_FALSE(fs::exists(folder / "a"));
    for (const char* name : {"best.safetensors", "model.safetensors"}) {  // where a file cannot be written
        INFO(name);
        const std::string run = folder / ("run-" + std::string(name));
        Program first;
        first.run = {.save = run, .stop_after = 1};
        CHECK_FALSE(first());
        fs::create_directories(run + "/" + name);
        Program again;
        again.run.resume = run;
        CHECK(contains(error_of([&] { again(); }), name));
        CHECK(again.saved_step == 0);
        CHECK(nn::checkpoint::read(run + "/last.safetensors").metadata().at("training.steps") == "1");
    }
}

TEST_CASE("run: a folder that cannot be looked into is not one without a run", "[models][run]") {
    const Folder folder;
    Settings none;
    fs::create_symlink("loop", folder / "loop");
    CHECK(contains(error_of([&] { RunFolder("p", {.resume = folder / "loop"}, none); }),
                   "loop: this folder cannot be opened: "));
    for (const char* missing : {"none", "file/within"}) {
        folder.write("file", "text");
        CHECK(contains(error_of([&] { RunFolder("p", {.resume = folder / missing}, none); }),
                       std::string(missing) + ": there is no run in this folder ("));
    }
}

// When no more files can be opened, nor can the folder, to be locked, and two runs could write into it.
TEST_CASE("run: a folder that cannot be locked is refused", "[models][run]") {
    const Folder folder;
    Settings none;
    rlimit usual{};
    getrlimit(RLIMIT_NOFILE, &usual);
    const rlimit no_more = {0, usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &no_more);
    const std::string error = error_of([&] { RunFolder("p", {.save = folder / "run"}, none); });
    setrlimit(RLIMIT_NOFILE, &usual);
    CHECK(contains(error, "run: this folder cannot be opened: Too many open files"));
}

TEST_CASE("run: a folder belongs to one run, and a refused run leaves no trace", "[models][run]") {
    const Folder parent;
    Settings none;
    const RunSettings settings = {.save = parent / "a/new"};
    {
        const RunFolder first("p", settings, none);
        CHECK_THROWS_WITH(RunFolder("p", settings, none),
                          settings.save + ": another run is writing into this folder");
        CHECK(fs::exists(settings.save));
    }
    CHECK_FALSE(fs::exists(parent / "a"));  // the first run made both folders, and has left nothing in them
    { const RunFolder within("p", settings, none, "task"); }
    CHECK_FALSE(fs::exists(parent / "a"));
    fs::create_directories(settings.save);
    { const RunFolder second("p", settings, none, "task"); }
    CHECK(fs::exists(settings.save));  // this run has not made it
    CHECK_FALSE(fs::exists(settings.save + "/task"));
    std::string line_break = "a\nb";
    Settings wrong;
    wrong.add("--text", "TEXT", "which no checkpoint can keep", line_break);
    CHECK_THROWS_AS(RunFolder("p", {.save = parent / "refused"}, wrong), autograd::Error);
    CHECK_FALSE(fs::exists(parent / "refused"));
    const std::string long_name = parent / std::string(300, 'x');
    CHECK(
        contains(error_of([&] { RunFolder("p", {.save = long_name}, none); }), "this folder cannot be made"));
}
