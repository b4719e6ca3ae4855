// What the recorder of a run writes about a model, and the plan's estimate of its memory.
#include <unistd.h>

#include <fstream>
#include <limits>

#include "apps/kit/report.h"
#include "apps/kit/run.h"
#include "autograd/inspect.h"
#include "tests/apps/shown.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using autograd::Tensor;
using autograd::Tokens;

TEST_CASE("recorder: how the finite numbers of a tensor are spread", "[kit][page]") {
    const auto snapshot = [](const std::vector<autograd::Real>& values) {
        kit::RunPlan plan;
        const auto size = static_cast<int64_t>(values.size());
        plan.report_model.parameters = {{"w", nn::Parameter(Tensor::from({1, size}, values))}};
        kit::Recorder recorder(plan, 10);
        recorder.snapshot(0);
        return recorder.lines();
    };
    const auto none = std::numeric_limits<autograd::Real>::quiet_NaN();
    const auto infinite = std::numeric_limits<autograd::Real>::infinity();
    CHECK(contains(snapshot({none, infinite}), R"("weights":[["w: nothing finite",0,0,0,0,[1]]])"));
    // Two at the lowest, one in the middle and one at the highest; the mean and the deviation are 0.5.
    const std::string line = snapshot({0, 0, 1, 1, none});
    CHECK(contains(line, R"(["w",0,1,0.5,0.5,[2,0,)"));
    CHECK(contains(line, R"(,0,2]])"));
    CHECK(contains(snapshot({3, 3}), R"(["w",3,3,3,0,[2,0,)"));
}

TEST_CASE("recorder: ten snapshots, most of them early", "[kit][page]") {
    const kit::RunPlan plan;
    const kit::Recorder recorder(plan, 81);
    std::vector<int64_t> due;
    for (int64_t step = 0; step <= 81; ++step)
        if (recorder.is_due(step))
            due.push_back(step);
    CHECK(due == std::vector<int64_t>{0, 1, 4, 9, 16, 25, 36, 49, 64, 81});
}

TEST_CASE("plan: what a forward pass keeps, by layers, widths and words", "[kit]") {
    models::Config c = {.kind = models::Kind::causal};
    c.vocabulary = 100;
    c.n_layers = 3;
    c.block.d_model = 8;
    c.block.d_ff = 32;
    const double number = 1.5 * sizeof(autograd::Real);
    CHECK(kit::activation_bytes(c, 10) == number * (10 * 3 * (7 * 8 + 32) + 512 * 100));
    c.block.gated = true;
    CHECK(kit::activation_bytes(c, 10) == number * (10 * 3 * (7 * 8 + 2 * 32) + 512 * 100));
    models::Config pair;
    pair.src_vocabulary = 50;
    pair.vocabulary = 100;
    pair.block = c.block;
    pair.n_layers = 1;
    pair.n_decoder_layers = 2;
    CHECK(kit::activation_bytes(pair, 10) == number * (10 * 5 * (7 * 8 + 2 * 32) + 512 * 100));
}

TEST_CASE("recorder: the numbers of a matrix in bytes, from the lowest to the highest", "[kit][page]") {
    kit::RunPlan plan;
    plan.report_model.embedding = Tensor::from({3, 3}, {9, 9, 9, -2, 0, 2, 2, -2, 0});
    plan.report_model.names = {"<pad>", "a", "b"};
    kit::Recorder recorder(plan, 10);
    recorder.snapshot(0);
    // 1, 128, 255; 255, 1, 128
    CHECK(contains(recorder.lines(), R"("labels":["a","b"],"vectors":["",2,2,"0180ffff0180"]})"));
}

TEST_CASE("recorder: a page looks at the first 64 positions of a model with one stack", "[kit][page]") {
    models::Config config = small_stack("gpt2");
    config.max_length = 100;
    const models::LanguageModel model(config, autograd::Rng(1));
    const std::vector<int32_t> ids(70, 5);
    const kit::ReportModel report_model =
        kit::report_model_of(model, {Tokens(1, 70, ids)}, {"<pad>", "<sos>"});
    CHECK(report_model.texts[0].ids() == std::vector<int32_t>(64, 5));
}

static const models::RunOptions kThousand = {.steps = 1000, .learning_rate = [](int64_t) { return 0.1; }};

static kit::RunPlan plan_with(const std::function<Tensor()>& loss) {
    return {.objective = {.loss = [=](const kit::Examples&, const nn::Mode&) { return loss(); },
                          .examples = [](int64_t) { return kit::Examples(); }}};
}

TEST_CASE("recorder: the machine, and how long each layer takes", "[kit][page]") {
    const Folder folder;
    const nn::Parameter x(Tensor::from({2}, {5, -5}));
    const models::RunFolder of_run("p", {.save = folder / "run"});
    const models::Run run(of_run, {.parameters = {{"layer.weight", x}}}, kThousand);
    const kit::RunPlan plan = plan_with([&] {  // two ops after the first, 20 ms each
        Tensor y = x.tensor() * x.tensor();
        for (int i = 0; i < 2; ++i) {
            usleep(20'000);
            y = y * x.tensor();
        }
        return sum(y);
    });
    kit::Recorder recorder(plan, 1000);
    recorder.begin(run);
    recorder.after_step(run, {.step = 4}, {{"BLEU", 12.5}});
    CHECK_FALSE(std::filesystem::exists(folder / "run/report.jsonl"));  // nothing is new
    recorder.after_step(run, {.step = 5, .validation = 1.5},
                        {{"BLEU", 12.5}});                           // scores come with validations
    const std::string lines = content(folder / "run/report.jsonl");  // and are not lost with the process
    CAPTURE(lines);
    CHECK(contains(lines, "{\"kind\":\"score\",\"step\":5,\"name\":\"BLEU\",\"value\":12.5}\n"));
    CHECK_FALSE(contains(lines, "\"kind\":\"score\",\"step\":4"));
    const std::string layer = "[\"layer\",";
    REQUIRE(contains(lines, layer));
    CHECK(std::stod(lines.substr(lines.find(layer) + layer.size())) >= 0.0399);

    std::ifstream info("/proc/cpuinfo");
    std::string processor;
    for (std::string line; processor.empty() && std::getline(info, line);)
        if (line.starts_with("model name"))
            processor = line.substr(line.find(": ") + 2) + ", ";
    CHECK(contains(lines, "[\"machine\",\"" + processor + autograd::instruction_set() + ", "));
}

TEST_CASE("recorder: the page of a run that goes on loads itself again", "[kit][page]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    const nn::Parameter x(Tensor::from({2}, {5, -5}));
    const models::RunFolder nowhere("p", {.report = page});
    const models::Run run(nowhere, {.parameters = {{"x", x}}}, kThousand);
    const kit::RunPlan plan = plan_with([&] { return sum(x.tensor() * x.tensor()); });
    kit::Recorder recorder(plan, 1000);  // whose snapshots are after steps 0, 12, ...
    recorder.begin(run);
    const auto is_written = [&](int64_t step, std::optional<double> validation = {}) {
        std::filesystem::remove(page);
        recorder.after_step(run, {.step = step, .validation = validation});
        return std::filesystem::exists(page);
    };
    CHECK_FALSE(is_written(1));
    CHECK(is_written(2, 1.5));
    CHECK(contains(content(page), R"(["p",5,[)"));  // after so many seconds
    CHECK_FALSE(is_written(3));
    CHECK(is_written(12));
    CHECK(is_written(0));  // the last step: this run has taken none, so it ends at step 0
    CHECK(contains(content(page), R"(["p",0,[)"));
    // Where it cannot be written any more, the run goes on, and says so once, and at the end.
    std::filesystem::remove(page);
    std::filesystem::create_directory(page);
    const auto said = [&](int64_t step) {
        return printed_by([&] { recorder.after_step(run, {.step = step}); });
    };
    CHECK(contains(said(12), "page.html: "));
    CHECK(said(49) == "");
    CHECK(contains(said(0), "page.html: "));
}
