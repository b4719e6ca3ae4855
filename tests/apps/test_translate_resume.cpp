// What a run of the translator keeps of its epochs, and that it goes on with them after any step.
#include "models/saved.h"
#include "tests/apps/translator.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

// The loss of a model, by `translate score`.
double loss_of(const std::string& model, const std::string& data) {
    const Result r = translate({"score", model, data, "--beam", "1"});
    REQUIRE(contains(r.out, " nats per token = "));
    return std::stod(r.out);
}

TEST_CASE("translate: what is kept is the better of the average and the best epoch", "[apps][translate]") {
    const Files f;
    // The average over all epochs of a short run is worse than its last epoch; at a high learning rate it is
    // better.
    for (const auto& [run, rate, says] :
         {std::tuple(f.folder / "short", words_of("--steps 28 --lr 0.0005"), "the weights of step "),
          {f.folder / "long", words_of("--steps 72 --lr 0.2"),
           "the average of the last 10 epochs: validation loss "}}) {
        const Words options = {"--save", run, "--validation", f.data, "--patience", "0", "--threads", "1"};
        const std::string err = must_run("translate", f.train(joined(options, rate))).err;
        const double kept = loss_of(run + "/model.safetensors", f.data),
                     best = loss_of(run + "/best.safetensors", f.data);
        const bool is_short = run.ends_with("short");
        CHECK((is_short ? kept == best : kept < best));
        check_says(err, {std::string("model.safetensors: ") + says,
                         is_short ? "of the best validation: loss " : "(not better)"});
        CHECK(loss_of(run, f.data) == kept);
        for (const std::string& line : lines_of(err))
            CHECK((!line.starts_with("epoch ") || line.size() <= 75));  // room for longer numbers
    }
}

TEST_CASE("translate: an epoch that the run's end cuts short is measured and logged", "[apps][translate]") {
    const Files f;
    check_says(must_run("translate", f.train({"--save", f.run, "--validation", f.data, "--steps", "3"})).err,
               {"epoch 1  step 3  loss "});
    CHECK(std::filesystem::exists(f.run + "/epoch-1.safetensors"));
    CHECK(std::filesystem::exists(f.run + "/best.safetensors"));
}

TEST_CASE("translate: the model is the average of the last epochs, and older ones are removed",
          "[apps][translate]") {
    const Files f;
    const Words quick = {"--preset", "quick", "--steps", "60", "--save"};  // an average of 5
    const std::string err = must_run("translate", f.train(joined(quick, {f.run}))).err;
    const auto parameters = [](const std::string& file) {
        return nn::parameters(models::load_model<models::Transformer>(file));
    };
    std::vector<std::vector<nn::NamedParameter>> last;
    for (int64_t epoch = 1; epoch < 60; ++epoch)
        if (const std::string file = autograd::join(f.run, "/epoch-", epoch, ".safetensors");
            std::filesystem::exists(file))
            last.push_back(parameters(file));
    REQUIRE((last.size() == 5 && !std::filesystem::exists(f.run + "/epoch-1.safetensors")));
    const auto average = parameters(f.run + "/model.safetensors");
    double worst = 0, apart = 0;
    for (std::size_t i = 0; i < average.size(); ++i)
        for (int64_t j = 0; j < average[i].tensor.numel(); ++j) {
            const auto value = [&](const auto& model) {
                return static_cast<double>(model[i].tensor.data()[j]);
            };
            double sum = 0;
            for (const auto& one : last)
                sum += value(one);
            worst = std::max(worst, std::abs(value(average) - sum / 5));
            apart = std::max(apart, std::abs(value(average) - value(last[0])));
        }
    CHECK(worst < 1e-7);
    CHECK(apart > 1e-4);

    // A run that was killed between the model of its seventh epoch and the checkpoint is resumed.
    const std::string parts = f.folder / "parts",
                      six = std::to_string(6 * std::llround(number_after(err, " pairs, ")));
    must_run("translate", f.train(joined(quick, {parts, "--stop-after", six})));
    REQUIRE(std::filesystem::remove(parts + "/epoch-2.safetensors"));  // as the seventh epoch does
    REQUIRE(std::filesystem::exists(parts + "/epoch-6.safetensors"));
    must_run("translate", {"train", "--resume", parts});
    CHECK((f.file("parts", "model.safetensors") == f.file("run", "model.safetensors")));
}

TEST_CASE("translate --accumulate: a step has so many batches, but no more than are left of its epoch",
          "[apps][translate]") {
    const Files f;
    const std::string err =
        must_run("translate",
                 f.train({"--accumulate", "1000", "--steps", "2", "--save", f.run, "--validation", f.data}))
            .err;
    // The training loss of an epoch is that of its only step.
    const Words steps = lines_of(f.file("run", "log.csv"));  // step, loss, ...
    REQUIRE(steps.size() == 3);
    for (const std::size_t i : {1u, 2u})
        CHECK(number_after(err, autograd::join("epoch ", i, "  step ", i, "  loss ")) ==
              Approx(std::stod(fields(steps[i], ',').at(1))).margin(1e-4));
    // The next batch is the first of the third one.
    check_says(must_run("translate", {"info", f.run}).out, {"training: step 2, epoch 2, "});
    CHECK(contains(f.file("run", "last.safetensors"), "\"translate.epoch_first\":\"3\""));
}
