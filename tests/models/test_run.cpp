// A training run without a terminal: its folder; it can be stopped and resumed with the same bits.
#include <cmath>

#include "nn/checkpoint/safetensors.h"
#include "tests/calls.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/counting.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
namespace fs = std::filesystem;

namespace {

// A batch that is never cut, and its loss.
struct Any {};
Any part_of(const Any& any, const nn::StepPart&) { return any; }
int64_t row_count(const Any&) { return 1; }
auto counts(const LanguageModel& model) {
    return [&model](const Any&, const Mode& mode) {
        const auto first = static_cast<int32_t>(kFirstFreeId);
        return nn::StepLoss{
            model.loss(Tokens(1, 2, {first, first + 1}), Tokens(1, 2, {first + 1, first + 2}), mode), 2};
    };
}

std::vector<Real> weights_of(const std::string& path) {
    return values(nn::parameters(load_model<LanguageModel>(path)));
}

}  // namespace

TEST_CASE("run: stopped twice and resumed without a terminal, it ends with the same files",
          "[models][run][bits]") {
    const Folder folder;
    const std::string one = folder / "whole", parts = folder / "parts";
    Counting whole({.save = one});
    CHECK(whole());
    CHECK(whole.saved_step == 8);  // of the best validation
    CHECK_FALSE(Counting({.save = parts, .stop_after = 3})());
    CHECK_FALSE(fs::exists(parts + "/model.safetensors"));
    fs::remove(parts + "/config.json");  // a resumed run writes it again
    Counting stopped({.resume = parts});
    stopped.stop_at = 7;
    CHECK_FALSE(stopped());
    CHECK(Counting({.resume = parts})());
    for (const char* name :
         {"/config.json", "/last.safetensors", "/best.safetensors", "/model.safetensors"}) {
        INFO(name);
        CHECK((content(parts + name) == content(one + name) && !content(one + name).empty()));
    }
    // What was learned is the best weights, and they are not the last ones.
    CHECK(content(one + "/model.safetensors") == content(one + "/best.safetensors"));
    CHECK(weights_of(one + "/best.safetensors") != weights_of(one + "/last.safetensors"));
    const std::string log = content(parts + "/log.csv");
    CHECK(std::count(log.begin(), log.end(), '\n') == 13);  // a heading and 12 rows

    // A run that has ended keeps its model, also when the weights it came from are gone.
    const std::string model = content(one + "/model.safetensors");
    const auto again = [&] {
        Counting resumed({.resume = one});
        return resumed() ? resumed.saved_step : -1;
    };
    fs::remove(one + "/model.safetensors");  // as if the run was killed before it saved this
    CHECK((again() == 8 && content(one + "/model.safetensors") == model));
    fs::remove(one + "/best.safetensors");
    CHECK((again() == 8 && content(one + "/model.safetensors") == model));
    fs::remove(one + "/model.safetensors");
    CHECK(contains(error_of(again), "whole/model.safetensors: cannot be opened: No such file"));
    // One that has trained does not take an older model for what it has learned.
    Counting longer({.save = folder / "other"});
    longer.lost = folder / "other/best.safetensors";
    CHECK(contains(error_of([&] { longer(); }), "other/best.safetensors: cannot be opened: No such file"));
}

TEST_CASE("run: a resumed one says at once that its best weights are damaged or gone", "[models][run]") {
    const Folder folder;
    const std::string run = folder / "run", best = run + "/best.safetensors";
    CHECK_FALSE(Counting({.save = run, .stop_after = 7})());
    const std::string last = content(run + "/last.safetensors"), before = content(best);
    for (const std::string error :
         {": this is no safetensors file, or it is cut off", ": cannot be opened: No such"}) {
        fs::remove(best);
        if (error.ends_with("off"))
            put(best, before.substr(0, 1000));
        CHECK(contains(error_of([&] { Counting({.resume = run})(); }), best + error));
    }
    CHECK(content(run + "/last.safetensors") == last);
}

TEST_CASE("run: settings in a checkpoint are restored, and those that may change can be given",
          "[models][run]") {
    const Folder folder;
    Counting first({.save = folder / "run", .stop_after = 3});
    first.width = 24;
    first.data = "texts; tokens 1";
    CHECK_FALSE(first());
    Counting again({.resume = folder / "run"});  // its width is 12, the checkpoint's is 24
    again.data = first.data;
    CHECK(again());
    CHECK((again.width == 24 && again.steps == 12));
    for (const char* const data : {"other; tokens 1", "texts; tokens 12", "texts"}) {
        again.data = data;
        CHECK(contains(error_of([&] { again(); }),
                       "the run began with other training or validation data than these files, or with "
                       "another tokenizer"));
    }
}

// As a tokenizer.json, which would be read in place of the new one.
TEST_CASE("run: takes no text of somebody else's model, and that of a run killed before its first step",
          "[models][run]") {
    const Folder folder;
    const std::string run = folder / "run", text = run + "/tokenizer.json";
    const auto error = [&] {
        Counting counting({.save = run, .stop_after = 1});
        counting.texts = {{"tokenizer.json", "mine"}};
        return error_of([&] { counting(); });
    };
    fs::create_directory(run);
    for (const std::string name :
         {"vocab.txt", "merges.txt", "config.json", "chat_template.jinja", "model.safetensors.index.json",
          "model-00001-of-00002.safetensors", "tokenizer.json"}) {
        const std::string file = run + "/" + name;
        put(file, "mine, too");
        CHECK(error() == file + ": this belongs to a model, or to another run; give another folder");
        CHECK((content(file) == "mine, too" && !fs::exists(run + "/last.safetensors")));
        fs::remove(file);
    }
    CHECK(folder.files() == 1);
    put(text, "mine");
    CHECK(error() == "");
    fs::remove(text);
    Counting resumed({.resume = run});
    resumed.texts = {{"tokenizer.json", "mine"}};
    CHECK((resumed() && content(text) == "mine"));
}

TEST_CASE("run: a step with a loss or a gradient that is not finite is not saved", "[models][run]") {
    const Folder folder;
    const RunFolder run("p", {.save = folder / "run", .save_every = 1});
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    Run learning(run, run_model(model), {.steps = 10, .learning_rate = nn::ConstantSchedule{0.01}});
    REQUIRE(learning.next());
    const std::string before = content(run.last());  // saved before the first step
    CHECK_FALSE(before.empty());
    const Tensor least = Tensor::full({1}, std::numeric_limits<Real>::denorm_min()).require_grad();
    const Tensor w = learning.model.parameters[0].tensor;
    for (const Tensor& loss : {autograd::sum(w) * Real(NAN), autograd::sum(w * autograd::log(least)[0])})
        CHECK(contains(error_of([&] {
                           learning.training.adam.zero_grad();
                           learning.learn(Any(), [&](const Any&, const Mode&) {
                               return nn::StepLoss{loss, 1};
                           });
                       }),
                       "step 1: "));
    CHECK(content(run.last()) == before);
    CHECK(learning.training.adam.steps() == 0);
}

TEST_CASE("run: a step has the seconds since the run began, and must change the weights", "[models][run]") {
    using Clock = std::chrono::steady_clock;
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    const RunFolder nowhere("p", {});
    Watched learning(nowhere, run_model(model), {.steps = 2, .learning_rate = nn::ConstantSchedule{0.01}});
    const Clock::time_point before = Clock::now();
    REQUIRE(learning.next());
    CHECK(learning.last() == 2);
    learning.learn(Any(), counts(model));
    REQUIRE(learning.next());
    CHECK((learning.seconds > 0 &&
           learning.seconds <= std::chrono::duration<double>(Clock::now() - before).count()));
    CHECK(contains(error_of([&] { learning.next(); }), "[run] step 2 has not changed the weights"));
}

TEST_CASE("run: its numbers are checked, and it may have no step", "[models][run]") {
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    const RunFolder nowhere("p", {});
    const auto error = [&](RunOptions options, bool has_rate = true) {
        if (has_rate)
            options.learning_rate = nn::ConstantSchedule{0.01};
        return error_of([&] { autograd::check(!Run(nowhere, run_model(model), options).next(), "a step"); });
    };
    CHECK(error({.steps = 0}) == "");
    for (const RunOptions& wrong :
         {RunOptions{.steps = -1}, {.clip = -1}, {.accumulate = 0}, {.validate_every = -1}, {.patience = -1}})
        CHECK(contains(error(wrong), "[train] a run needs a learning rate, and numbers that are not"));
    CHECK(contains(error({}, false), "[train] a run needs a learning rate"));
}

namespace {

// Trains a Transformer, each step by take(model, run). Returns its weights, and the losses.
std::vector<Real> trained(const Config& config, const RunSettings& settings, const RunOptions& options,
                          const std::function<void(const Transformer& model, Run& run)>& take) {
    const RunFolder nowhere("p", settings);
    const Transformer model(config, Rng(1));
    Run run(nowhere, run_model(model), options);
    while (run.next())
        take(model, run);
    std::vector<Real> all = values(nn::parameters(model));
    all.insert(all.end(), run.losses.begin(), run.losses.end());
    return all;
}
void learn(const Transformer& model, Run& run, const std::vector<Batch>& batches) {
    run.learn(batches,
              [&](const Batch& part, const Mode& mode) { return teacher_forcing(model, part, mode); });
}

}  // namespace

// Batches of two sentences each, of several lengths, with dropout.
TEST_CASE("run: a step that is spelled out has the bits of one that is not", "[models][run][bits]") {
    Config config = small("paper");
    config.block.dropout.sublayers = Real(0.3);
    const auto batches_of = [](const Run& run) {
        const auto batch = [](int64_t step) {
            return make_batch(
                {{{4, 5, static_cast<int32_t>(4 + step % 3)}, {6, 5}}, {{7, 8}, {4}}, {{5}, {5, 6, 7}}});
        };
        std::vector<Batch> batches = {batch(run.step())};
        if (run.step() % 2 == 0 && run.options.accumulate == 2)
            batches.push_back(batch(run.step() + 1));
        return batches;
    };
    const auto spelled = [&](const Transformer& model, Run& run) {
        nn::Adam& adam = run.training.adam;
        adam.zero_grad();
        for (const auto& part : run.parts(batches_of(run))) {
            const Tensor loss = model.loss(part.src, part.read(), part.said(), run.mode(part));
            run.backward({loss, part.tokens()}, part);
        }
        const nn::StepGradient gradient = run.gradients();
        adam.step(run.rate(), gradient.scale * nn::clip_scale(gradient.norm, 1));
    };
    for (const int64_t parts : {1, 2, 5})
        for (const int64_t accumulate : {1, 2}) {
            CAPTURE(parts, accumulate);
            const RunOptions options = {
                .steps = 4, .learning_rate = nn::ConstantSchedule{0.01}, .accumulate = accumulate, .seed = 7};
            CHECK(same_bits(trained(config, {.parts = parts}, options, spelled),
                            trained(config, {.parts = parts}, options, [&](const auto& model, Run& run) {
                                learn(model, run, batches_of(run));
                            })));
        }
}

// With beta1 = beta2 = 0 and a large eps, Adam's step is lr g / eps: it shows the gradient.
TEST_CASE("training: the gradient of several batches is that of one large one", "[models][run][training]") {
    const std::vector<Pair> pairs = {{{4, 5, 6}, {6, 5}}, {{4, 4, 5}, {4}}, {{6, 6, 5, 4}, {4, 5, 6, 6, 6}}};
    const auto trained_in = [&](const std::vector<Batch>& batches) {
        Config config = small("paper");
        config.block.dropout = {.embeddings = 0, .sublayers = 0, .feed_forward = 0, .attention = 0};
        const RunOptions options = {.steps = 3,
                                    .learning_rate = nn::ConstantSchedule{1e3},
                                    .adam = {.beta1 = 0, .beta2 = 0, .eps = 1e3},
                                    .clip = 0.1,
                                    .accumulate = std::ssize(batches)};
        return trained(config, {}, options, [&](const auto& model, Run& run) { learn(model, run, batches); });
    };
    CHECK(worst_error(trained_in({make_batch({pairs[0]}), make_batch({pairs[1]}), make_batch({pairs[2]})}),
                      trained_in({make_batch(pairs)})) < 1e-4);
}

namespace {

// What happens to a run without a folder that validates every two steps, or where an epoch of three ends.
struct Scripted {
    std::vector<double> losses;
    int64_t patience = 0, every = 2, epoch = 0;
    nn::Parameter x{Tensor::from({2}, {5, -5})};
    std::vector<int64_t> validated = {};
    std::vector<std::vector<Real>> seen = {};  // the weights at each validation
    int64_t best_step = 0, steps = 0;

    bool operator()(int64_t n) {
        const RunFolder nowhere("p", {});
        Run run(nowhere, {.parameters = {{"x", x}}},
                {.steps = n,
                 .learning_rate = nn::ConstantSchedule{0.5},
                 .validate_every = every,
                 .patience = patience});
        while (run.next()) {
            run.learn(Any(), [&](const Any&, const Mode&) {
                return nn::StepLoss{autograd::sum(x.tensor()), 3};
            });
            if (epoch > 0 && run.step() % epoch == 0)
                run.end_epoch();
            if (epoch > 0 && run.step() > 1)  // of the steps before this one
                CHECK(run.epoch.tokens == 3 * ((run.step() - 1) % epoch));
            if (run.validates()) {
                seen.push_back(x->to_vector());
                run.validated(losses.at(validated.size()));
                validated.push_back(run.step());
            }
        }
        steps = run.step();
        best_step = run.training.best_step;
        run.finish();
        return run.has_ended();
    }
};

}  // namespace

TEST_CASE("run: without a folder, the weights of the best validation are kept", "[models][run]") {
    Scripted s{.losses = {3, 1, 2, 5}};
    CHECK(s(7));
    CHECK(s.validated == std::vector<int64_t>{2, 4, 6, 7});  // and the last step
    CHECK(s.best_step == 4);
    CHECK(same_bits(s.x->to_vector(), s.seen[1]));
    CHECK_FALSE(same_bits(s.x->to_vector(), s.seen[3]));
    Scripted infinite{.losses = {HUGE_VAL, HUGE_VAL}};  // none is the best
    CHECK(infinite(4));
    CHECK((infinite.best_step == 0 && same_bits(infinite.x->to_vector(), infinite.seen[1])));
    Scripted wrong{.losses = {1, std::nan("")}};
    CHECK(contains(error_of([&] { wrong(9); }), "step 4: the validation loss is not a number"));
}

TEST_CASE("run: ends after so many validations in a row without improvement", "[models][run]") {
    struct Row {
        std::vector<double> losses;
        int64_t patience, steps, best;
    };
    for (const Row& r :
         {Row{{1, 2, 3, 0}, 2, 6, 2}, Row{{1, 2, 0}, 1, 4, 2}, Row{{1, 1, 1}, 2, 6, 2},
          Row{{3, 4, 2, 3, 1, 2, 3, 0}, 2, 14, 10}, Row{{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 0, 20, 2}}) {
        Scripted s{.losses = r.losses, .patience = r.patience};
        CHECK(s(20));
        INFO("patience " << r.patience << ", ends after " << r.steps);
        CHECK((s.steps == r.steps && s.best_step == r.best));
        CHECK(same_bits(s.x->to_vector(), s.seen[static_cast<std::size_t>(r.best / 2 - 1)]));
    }
}

TEST_CASE("run: an epoch's end is validated, also if there are validations in between", "[models][run]") {
    Scripted s{.losses = {1, 1, 1, 1, 1}, .epoch = 3};
    CHECK(s(7));
    CHECK(s.validated == std::vector<int64_t>{2, 3, 4, 6, 7});
    Scripted epochs{.losses = {1, 1, 1}, .every = 0, .epoch = 3};
    CHECK(epochs(7));
    CHECK(epochs.validated == std::vector<int64_t>{3, 6, 7});
}

TEST_CASE("run: processes that differ are refused, and told in what", "[models][run]") {
    struct Process {
        std::string program = "p", data = "texts 1";
        int64_t steps = 12, d_ff = 20;
        std::string error = "";  // if process 1 is so
    };
    const std::string than = " than process 0: '";
    for (const Process& other :
         {Process(),
          {.program = "q", .error = "process 1 has another program or version" + than + "q "},
          {.data = "texts 2", .error = "process 1 has other data" + than + "texts 2', not 'texts 1'"},
          {.steps = 13, .error = "process 1 has other settings" + than + "--steps=13', not '--steps=12'"},
          {.d_ff = 21, .error = "process 1 has another model" + than}}) {
        const std::string error = error_of([&] {
            run_team(2, [&](nn::Team& team) {
                Process process = team.leads() ? Process() : other;
                kit::Options settings({"p", "learns", 0, nullptr, {}, &team});
                settings.add("--steps", "N", "steps", process.steps);
                const RunFolder nowhere(process.program, {}, settings);
                Config config = small_stack("gpt2");
                config.block.d_ff = process.d_ff;
                const LanguageModel model(config, Rng(1));
                Run(nowhere, run_model(model, process.data), {.learning_rate = nn::ConstantSchedule{0.01}});
            });
        });
        INFO(error);
        CHECK((other.error.empty() ? error.empty() : error.starts_with(other.error)));
    }
}

TEST_CASE("run: all processes begin with the weights of process 0", "[models][run]") {
    const Config config = small_stack("gpt2");
    std::vector<Real> weights[2];
    run_team(2, [&](nn::Team& team) {
        const RunFolder nowhere("p", {}, team);
        const LanguageModel model(config, Rng(static_cast<uint64_t>(team.rank())));
        const Run run(nowhere, run_model(model), {.learning_rate = nn::ConstantSchedule{0.01}});
        weights[team.rank()] = values(nn::parameters(model));
    });
    for (const std::vector<Real>& of : weights)
        CHECK(of == values(nn::parameters(LanguageModel(config, Rng(0)))));
}

namespace {

// So many processes train for two steps in these folders, or the last one is told to stop after one. Returns
// the error of one of them, or "".
std::string error_of_team(
    int64_t processes, const RunSettings& where,
    const std::function<void(const RunFolder&)>& also = [](const RunFolder&) {}, bool stops = false) {
    try {
        run_team(processes, [&](nn::Team& team) {
            const RunFolder folder("p", where, team);
            also(folder);
            const LanguageModel model(small_stack("gpt2"), Rng(1));
            Watched run(folder, run_model(model), {.steps = 2, .learning_rate = nn::ConstantSchedule{0.01}});
            run.stop_at = stops && team.rank() == processes - 1 ? 1 : 0;
            while (run.next())
                run.learn(Any(), counts(model));
            autograd::check(!stops || (run.step() == 1 && !run.has_ended()), "it is not stopped");
        });
        return "";
    } catch (const std::exception& error) {  // a SettingError, too
        return error.what();
    }
}

}  // namespace

TEST_CASE("run: a process that is told to stop stops all of them", "[models][run][team]") {
    CHECK(error_of_team(
              2, {.parts = 2}, [](const RunFolder&) {}, true) == "");
}

TEST_CASE("run: processes share a folder, into which process 0 writes", "[models][run]") {
    const Folder folder;
    const RunSettings settings = {.save = folder / "run", .stop_after = 1, .parts = 2};
    CHECK(error_of_team(2, settings, [&](const RunFolder& run) {
              autograd::check(run.writes() == run.team().leads() && run.parts == 2, "who writes?");
          }) == "");
    std::error_code none;
    CHECK(nn::checkpoint::names_in(folder / "run", none) ==
          std::vector<std::string>{"config.json", "last.safetensors", "log.csv"});
    CHECK(nn::checkpoint::read(folder / "run/last.safetensors").metadata().at("p.parts") == "2");
    CHECK(error_of_team(3, {.resume = folder / "run"}) ==
          "a batch of this run is cut into 2 parts, so at most as many processes can share it: got 3");
    CHECK(error_of_team(2, {.save = folder / "new", .parts = 1}) ==
          "a batch of this run is cut into 1 part, so at most as many processes can share it: got 2; --parts "
          "sets the number");
    CHECK_FALSE(fs::exists(folder / "new"));
    // One process alone goes on with the two parts.
    CHECK(error_of_team(1, {.resume = folder / "run"}, [](const RunFolder& run) {
              autograd::check(run.parts == 2, "parts: ", run.parts);
          }) == "");
    CHECK(content(folder / "run/log.csv").find("\n2,") != std::string::npos);
    // Without settings there is no folder, and each process has a part.
    CHECK(error_of_team(2, {}, [](const RunFolder& nowhere) {
              const RunSettings& usual = nowhere.run;
              autograd::check(!nowhere.exists() && nowhere.parts == 2 && usual.save_every == 0 &&
                                  usual.stop_after == 0 && usual.parts == 0 && usual.report.empty(),
                              "other settings");
          }) == "");
}

TEST_CASE("run: a folder that is not a run's is left unchanged", "[models][run]") {
    const Folder folder;
    for (const char* name : {"log.csv", "report.jsonl", "epoch-1.safetensors"}) {
        const Folder other;
        other.write(name, "mine");
        CHECK(error_of([&] { RunFolder("p", {.save = other.path}); }) ==
              other / name + ": this belongs to a model, or to another run; give another folder");
        CHECK(content(other / name) == "mine");
    }
    CHECK_THROWS_AS(RunFolder("p", {.stop_after = 1}), SettingError);
    for (const char* name : {"best.safetensors", "model.safetensors"}) {  // where a file cannot be written
        INFO(name);
        const std::string run = folder / ("run-" + std::string(name));
        CHECK_FALSE(Counting({.save = run, .stop_after = 1})());
        fs::create_directories(run + "/" + name);
        Counting again({.resume = run});
        CHECK(contains(error_of([&] { again(); }), name));
        CHECK(again.saved_step == 0);
        CHECK(nn::checkpoint::read(run + "/last.safetensors").metadata().at("training.steps") == "1");
    }
}

TEST_CASE("run: where there is no run, or none can be, it is said why, and nothing is made",
          "[models][run]") {
    const Folder folder;
    const std::string lost = folder / "lost", file = folder.write("file", "text"), name(300, 'x');
    fs::create_symlink("loop", folder / "loop");
    fs::create_symlink("nowhere", lost);
    std::string deep = folder.path;  // which opens, but its files would have longer names than the system's
    while (deep.size() < 4080)
        deep += "/.";
    for (const auto& [where, error] : std::vector<std::pair<RunSettings, std::string>>{
             {{.resume = folder / "loop"}, "loop: this folder cannot be opened: "},
             {{.save = lost}, ": this folder cannot be made: this is a link to something that is not there"},
             {{.resume = deep}, deep + "/last.safetensors: "},
             {{.resume = folder.path}, ": there is no run in this folder ("},
             {{.resume = folder / "none"}, "none: there is no run in this folder ("},
             {{.resume = file + "/within"}, "file/within: there is no run in this folder ("},
             {{.save = folder / name}, "cannot be looked at: File name too long"},
             {{.save = folder / "made/" + name}, "this folder cannot be made: "}}) {
        const std::string said = error_of([settings = where] { RunFolder("p", settings); });
        CHECK(contains(said, error));
        CHECK(said.starts_with(where.save.empty() ? where.resume : where.save));
    }
    CHECK(folder.files() == 3);
}

#ifdef PLAINGRAD_ASKS_ABOUT_CALLS
TEST_CASE("run: a folder that cannot be locked is refused, but not where there are no locks",
          "[models][run]") {
    const Folder folder;
    const auto error = [&](std::string_view failing, int why) {
        const Calls calls(
            [=](std::string_view call, bool) { return Fate{.error = call == failing ? why : 0}; });
        return error_of([&] { RunFolder("p", {.save = folder / "run"}); });
    };
    // When no more files can be opened, nor can the folder, to be locked, and two runs could write into it.
    CHECK(contains(error("open", EMFILE), "run: this folder cannot be opened: Too many open files"));
    CHECK(error("flock", ENOLCK) == "");
}
#endif

TEST_CASE("run: a folder belongs to one run, and a refused run leaves no trace", "[models][run]") {
    const Folder parent;
    const RunSettings settings = {.save = parent / "a/new"};
    {
        const RunFolder first("p", settings);
        CHECK_THROWS_WITH(RunFolder("p", settings),
                          settings.save + ": another run is writing into this folder");
        CHECK(fs::exists(settings.save));
    }
    CHECK_FALSE(fs::exists(parent / "a"));  // the first run made both folders, and has left nothing in them
    fs::create_directories(settings.save);
    { const RunFolder second("p", settings); }
    CHECK(fs::exists(settings.save));  // this run has not made it
    std::string line_break = "a\nb";
    kit::Options wrong({"p", "learns"});
    wrong.add("--text", "TEXT", "which no checkpoint can keep", line_break);
    CHECK_THROWS_AS(RunFolder("p", {.save = parent / "refused"}, wrong), autograd::Error);
    CHECK_FALSE(fs::exists(parent / "refused"));
}
