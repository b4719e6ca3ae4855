// What a run of the translator keeps of its epochs, and that it goes on with them after any step.
#include "models/saved.h"
#include "tests/apps/translator.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

TEST_CASE("translate: with any options, a run that was stopped after any step ends like one that was not",
          "[apps][translate][bits][slow]") {
    if (!fast_build())
        SKIP("this build is too slow for so many runs");
    for (const Words& more : {Words{"--bpe-dropout", "0.2", "--accumulate", "2", "--save-every", "3"},
                              {"--bytes", "--lower-case"},
                              {"--tokenized", "--min-count", "20"}}) {
        const Files f;
        const std::string comma = f.folder / "a,b";  // the checkpoint keeps each file name separately
        std::filesystem::create_directory(comma);
        put(comma + "/v.tsv", pairs());
        const auto begin = [&](const std::string& run, const Words& last) {
            const Words options = joined(more, {"--validation", comma + "/v.tsv", "--save", run});
            REQUIRE(translate(f.train(joined(options, last))).status == 0);
        };
        begin(f.folder / "whole", {});
        for (int k = 1; k < 14; ++k) {
            const std::string number = std::to_string(k), run = f.folder / number;
            begin(run, {"--stop-after", number});
            CHECK(f.file(number, "model.safetensors").empty());
            const Result rest = translate({"train", "--resume", run, "--threads", k % 2 == 0 ? "1" : "3"});
            INFO(number << ": " << rest.err);
            REQUIRE(rest.status == 0);
            for (const char* name : {"last.safetensors", "best.safetensors", "model.safetensors"})
                CHECK((f.file("whole", name) == f.file(number, name) && !f.file(number, name).empty()));
        }
    }
}

// The loss of a model, by `translate score`.
double loss_of(const std::string& model, const std::string& data) {
    const Result r = translate({"score", model, data, "--beam", "1"});
    REQUIRE(contains(r.out, " nats per token = "));
    return std::stod(r.out);
}

TEST_CASE("translate: what is kept is the better of the average and the best epoch", "[apps][translate]") {
    const Files f;
    for (const bool short_run : {true, false}) {
        const std::string run = f.folder / (short_run ? "short" : "long");
        // The average over all epochs of a short run is worse than its last epoch; at a high learning rate it
        // is better.
        const Result r =
            translate(f.train({"--save", run, "--validation", f.data, "--patience", "0", "--threads", "1",
                               "--steps", short_run ? "28" : "72", "--lr", short_run ? "0.0005" : "0.2"}));
        INFO(r.err);
        REQUIRE(r.status == 0);
        const double kept = loss_of(run + "/model.safetensors", f.data),
                     best = loss_of(run + "/best.safetensors", f.data);
        if (short_run) {
            CHECK(kept == best);
            CHECK(contains(r.err, "model.safetensors: the weights of step "));
            CHECK(contains(r.err, "of the best validation: loss "));
        } else {
            CHECK(kept < best);
            CHECK(contains(r.err, "model.safetensors: the average of the last 10 epochs: validation loss "));
        }
        CHECK(loss_of(run, f.data) == kept);
    }
}

TEST_CASE("translate: an epoch that the run's end cuts short is measured and logged", "[apps][translate]") {
    const Files f;
    const Result r = translate(f.train({"--save", f.run, "--validation", f.data, "--steps", "3"}));
    INFO(r.err);
    REQUIRE(r.status == 0);
    CHECK(contains(r.err, "epoch 1  step 3  loss "));
    CHECK(std::filesystem::exists(f.run + "/epoch-1.safetensors"));
    CHECK(std::filesystem::exists(f.run + "/best.safetensors"));
}

TEST_CASE("translate: what continues a run that has ended, and that it ends no earlier",
          "[apps][translate]") {
    const Files f;
    const Result r = translate(f.train({"--save", f.run, "--validation", f.data, "--steps", "28", "--lr",
                                        "0.3", "--warmup", "1", "--patience", "100"}));
    INFO(r.err);
    REQUIRE((r.status == 0 && contains(r.err, "(not better)")));
    for (const std::string& line : lines_of(r.err))
        if (line.starts_with("epoch "))
            CHECK(line.size() <= 75);  // leaves room for longer numbers in 80 columns
    const std::string last = f.file("run", "last.safetensors");
    for (const char* option : {"--save-every", "--patience"})  // the second one would end it, too
        CHECK(contains(translate({"train", "--resume", f.run, option, "1"}).err,
                       "a larger --steps or, if --patience ended it, a larger --patience continues it\n"));
    refused(2, translate({"train", "--resume", f.run, "--steps", "10"}),
            "this run has done 28 steps already; it cannot end after 10");
    CHECK(f.file("run", "last.safetensors") == last);
    CHECK(contains(translate({"train", "--resume", f.run, "--steps", "29"}).err, "  step 29  loss "));
}

TEST_CASE("translate: the model is the average of the last epochs, and older ones are removed",
          "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--preset", "quick", "--steps", "60"})).status == 0);
    std::vector<std::vector<nn::NamedParameter>> last;
    int64_t newest = 0;
    for (int64_t epoch = 1; epoch < 60; ++epoch) {
        const std::string file = f.run + "/epoch-" + std::to_string(epoch) + ".safetensors";
        if (std::filesystem::exists(file))
            last.push_back(nn::parameters(models::load_model<models::Transformer>(file))), newest = epoch;
    }
    REQUIRE((last.size() == 5 && newest >= 6));
    const auto average =
        nn::parameters(models::load_model<models::Transformer>(f.run + "/model.safetensors"));
    double worst = 0, apart = 0;
    for (std::size_t i = 0; i < average.size(); ++i) {
        const auto a = average[i].tensor.to_vector();
        for (std::size_t j = 0; j < a.size(); ++j) {
            double sum = 0;
            for (const auto& one : last)
                sum += static_cast<double>(one[i].tensor.data()[j]);
            worst = std::max(worst, std::abs(static_cast<double>(a[j]) - sum / 5));
            apart = std::max(apart, std::abs(static_cast<double>(a[j] - last[0][i].tensor.data()[j])));
        }
    }
    CHECK(worst < 1e-7);
    CHECK(apart > 1e-4);
}

TEST_CASE("translate: a run that was killed between an epoch's model and its checkpoint is resumed",
          "[apps][translate]") {
    const Files f;
    const Words quick = {"--preset", "quick", "--steps", "60"};  // an average of 5
    const Result whole = translate(f.train(joined(quick, {"--save", f.folder / "whole"})));
    REQUIRE(whole.status == 0);
    const std::string step = std::to_string(6 * std::llround(number_after(whole.err, " pairs, ")));
    REQUIRE(translate(f.train(joined(quick, {"--save", f.run, "--stop-after", step}))).status == 0);
    REQUIRE(std::filesystem::remove(f.run + "/epoch-2.safetensors"));  // as the seventh epoch does
    REQUIRE(std::filesystem::exists(f.run + "/epoch-6.safetensors"));
    const Result r = translate({"train", "--resume", f.run});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK((f.file("run", "model.safetensors") == f.file("whole", "model.safetensors")));
}

TEST_CASE("translate --accumulate: a step has so many batches, but no more than are left of its epoch",
          "[apps][translate]") {
    const Files f;
    const Result r =
        translate(f.train({"--accumulate", "1000", "--steps", "2", "--save", f.run, "--validation", f.data}));
    INFO(r.err);
    REQUIRE(r.status == 0);
    // The training loss of an epoch is that of its only step.
    const Words steps = lines_of(f.file("run", "log.csv"));  // step, loss, ...
    REQUIRE(steps.size() == 3);
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        const std::string number = std::to_string(i);
        CHECK(number_after(r.err, "epoch " + number + "  step " + number + "  loss ") ==
              Approx(std::stod(fields(steps[i], ',').at(1))).margin(1e-4));
    }
    // The next batch is the first of the third one.
    CHECK(contains(translate({"info", f.run}).out, "training: step 2, epoch 2, "));
    CHECK(contains(f.file("run", "last.safetensors"), "\"translate.epoch_first\":\"3\""));
}
