// A run of the translator that was stopped in any way ends like one that was not, and nothing is lost.
#if defined(__linux__)
#include <sys/mount.h>
#endif

#include <sys/file.h>

#include "autograd/base/random.h"
#include "models/saved.h"
#include "tests/apps/translator.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

TEST_CASE("translate: a run that was stopped after any step ends like one that was not",
          "[apps][translate][bits][slow]") {
    const Files f;
    const Words whole = f.train({"--save", f.folder / "whole", "--validation", f.data});
    REQUIRE(translate(whole).status == 0);
    const auto same = [&](const std::string& run) {
        for (const char* name : {"last.safetensors", "best.safetensors", "model.safetensors"}) {
            INFO(name);
            CHECK((f.file("whole", name) == f.file(run, name) && !f.file(run, name).empty()));
        }
    };
    for (int k = 1; k < 14; k += fast_build() ? 1 : 13) {
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

TEST_CASE("translate: killed at any moment, a run resumes to the same end", "[apps][translate][bits][slow]") {
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
        if (r.status == 0) {  // it had already ended: start another one
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

TEST_CASE("translate saves when it is interrupted or terminated, and resumes", "[apps][translate]") {
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
        const Result r = translate(
            f.train_tiny({"--save", run, "--validation", f.data, "--steps", short_run ? "28" : "140", "--lr",
                          short_run ? "0.0005" : "0.02", "--patience", "0"}));
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
    REQUIRE(translate(f.train({"--save", f.run, "--steps", "30"})).status == 0);
    const std::string last = f.file("run", "last.safetensors");
    CHECK(contains(translate({"train", "--resume", f.run, "--save-every", "7"}).err,
                   "a larger --steps or, if --patience ended it, a larger --patience continues it\n"));
    refused(2, translate({"train", "--resume", f.run, "--steps", "10"}),
            "this run has done 30 steps already; it cannot end after 10");
    CHECK(f.file("run", "last.safetensors") == last);
}

TEST_CASE("translate: what continues a run that its steps and its patience ended", "[apps][translate]") {
    const Files f;
    const Result r = translate(f.train_tiny({"--save", f.run, "--validation", f.data, "--steps", "28", "--lr",
                                             "0.3", "--warmup", "1", "--patience", "100"}));
    INFO(r.err);
    REQUIRE((r.status == 0 && contains(r.err, "(not better)")));
    for (const std::string& line : lines_of(r.err))
        if (line.starts_with("epoch "))
            CHECK(line.size() <= 75);  // leaves room for longer numbers in 80 columns
    CHECK(contains(translate({"train", "--resume", f.run, "--patience", "1"}).err,
                   "if --patience ended it, a larger --patience continues it"));
}

TEST_CASE("translate locks a folder before it reads its files", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "1"})).status == 0);
    put(f.run + "/last.safetensors", "being written");
    const int folder = open(f.run.c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE((folder >= 0 && flock(folder, LOCK_EX) == 0));
    refused(1, translate({"train", "--resume", f.run}), "another run is writing into this folder");
    close(folder);
    refused(1, translate({"train", "--resume", f.run}), "last.safetensors");
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

TEST_CASE("translate resumes from another folder, and with files that have moved", "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.folder / "whole"})).status == 0);
    Words relative = f.train({"--save", "run", "--stop-after", "5"});
    relative[1] = "pairs.tsv";
    REQUIRE(translate(relative, {.folder = f.folder.path}).status == 0);
    REQUIRE(translate({"train", "--resume", f.run, "--stop-after", "1"}).status == 0);
    std::filesystem::rename(f.data, f.folder / "moved.tsv");
    refused(1, translate({"train", "--resume", f.run}), "pairs.tsv: ");
    REQUIRE(translate({"train", "--resume", f.run, f.folder / "moved.tsv"}).status == 0);
    CHECK(f.file("run", "model.safetensors") == f.file("whole", "model.safetensors"));
}

TEST_CASE("translate resumes only with the validation data that the run began with", "[apps][translate]") {
    const Files f;
    const std::string first = "one two.\tzwei eins.\n", other = "one six.\tsechs eins.\n",
                      validation = f.folder.write("v.tsv", first);
    REQUIRE(translate(f.train({"--save", f.run, "--validation", validation, "--stop-after", "1"})).status ==
            0);
    CHECK(contains(translate({"info", f.run}).out, "training: step 1, epoch 1, "));
    put(validation, other);
    refused(1, translate({"train", "--resume", f.run}),
            "the run began with other training or validation data than these files");
    put(validation, first);
    CHECK(translate({"train", "--resume", f.run, "--stop-after", "1"}).status == 0);
    CHECK(contains(translate({"train", "--resume", f.run}).out, "\nbeam 5: BLEU"));
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

TEST_CASE("translate: with any options, a stopped run resumes to the same bits",
          "[apps][translate][bits][slow]") {
    if (!fast_build())
        SKIP("this build is too slow for so many runs");
    const std::vector<Words> options = {{"--bpe-dropout", "0.2", "--accumulate", "2", "--save-every", "3"},
                                        {"--bytes", "--lower-case"},
                                        {"--tokenized", "--min-count", "20"}};
    for (const Words& more : options) {
        const Files f;
        const std::string comma = f.folder / "a,b";  // the checkpoint keeps each file name separately
        std::filesystem::create_directory(comma);
        const std::string validation = comma + "/v.tsv";
        put(validation, pairs());
        const Words all = joined(more, {"--validation", validation});
        REQUIRE(translate(f.train(joined(all, {"--save", f.folder / "whole"}))).status == 0);
        REQUIRE(translate(f.train(joined(all, {"--save", f.run, "--stop-after", "5"}))).status == 0);
        const Result r = translate({"train", "--resume", f.run, "--threads", "1"});
        INFO(r.err);
        REQUIRE(r.status == 0);
        for (const char* name : {"last.safetensors", "model.safetensors"})
            CHECK((f.file("run", name) == f.file("whole", name) && !f.file("run", name).empty()));
    }
}

TEST_CASE("translate: a limit on the size of files ends a run with a message, and nothing is lost",
          "[apps][translate]") {
    const Files f;
    REQUIRE(translate(f.train({"--save", f.run, "--stop-after", "3"})).status == 0);
    const std::string before = f.file("run", "last.safetensors");
    const Result r = translate({"train", "--resume", f.run}, {.largest_file = 100'000});
    CHECK(r.status == 1);
    CHECK(contains(r.err, "cannot be written: File too large; a file that was there is unchanged\n"));
    CHECK(f.file("run", "last.safetensors") == before);
    REQUIRE(translate({"train", "--resume", f.run}).status == 0);
    REQUIRE(translate(f.train({"--save", f.folder / "whole"})).status == 0);
    CHECK(f.file("run", "last.safetensors") == f.file("whole", "last.safetensors"));
}

#if defined(__linux__)
namespace {

// A separate file system of so many MiB.
class SmallDisk {
public:
    SmallDisk(std::string path, int mib) : path_(std::move(path)) {
        std::filesystem::create_directory(path_);
        const std::string size = "size=" + std::to_string(mib) + "m";
        mounted = mount("none", path_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted)
            umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool change(int mib, unsigned long flags = 0) {
        const std::string size = "size=" + std::to_string(mib) + "m";
        return mount("none", path_.c_str(), "tmpfs", MS_REMOUNT | flags, size.c_str()) == 0;
    }
    bool mounted = false;

private:
    std::string path_;
};

}  // namespace

TEST_CASE(
    "translate: a full disk, or one that may not be written, ends a run with a message, and nothing is lost",
    "[apps][translate]") {
    const Files f;
    SmallDisk disk(f.run, 36);  // room for the first epoch, not for all
    if (!disk.mounted)
        SKIP("no file system can be mounted here");
    const Result full = translate(f.train_tiny({"--save", f.run}));
    CHECK(full.status == 1);
    CHECK(contains(full.err,
                   "cannot be written: No space left on device; a file that was there is unchanged\n"));
    const std::string before = f.file("run", "last.safetensors");
    REQUIRE(!before.empty());
    REQUIRE(disk.change(36, MS_RDONLY));
    refused(1, translate({"train", "--resume", f.run}), "cannot be written: Read-only file system");
    CHECK(f.file("run", "last.safetensors") == before);
    REQUIRE(disk.change(200));
    REQUIRE(translate({"train", "--resume", f.run}).status == 0);
    REQUIRE(translate(f.train_tiny({"--save", f.folder / "whole"})).status == 0);
    CHECK(f.file("run", "last.safetensors") == f.file("whole", "last.safetensors"));
}
#endif
