// The life of a run in many processes: killed, told to end, or with a full disk, all of them end, and the run
// goes on with another number of them to the same bits.
#include <sys/resource.h>

#include "autograd/base/random.h"
#include "nn/checkpoint/safetensors.h"
#include "tests/mpi/mpi.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// A run that would take hours, to be ended by force, and its folder.
struct Endless {
    Folder folder;
    std::string run = folder / "run";
    const Words train;

    explicit Endless(int64_t save_every)
        : train(words(
              "train apps/programs/generate/log_book.txt --layers 1 --heads 2 --d-model 16 --context 16 "
              "--steps 1000000 --batch 8 --validate-every 1000000 --parts 4 --save-every " +
              std::to_string(save_every))) {}
    Words begin() const { return joined(train, {"--save", run}); }

    // The step of the checkpoint, which must be whole; 0 before there is one.
    int64_t step() const {
        const std::string last = run + "/last.safetensors";
        if (!std::filesystem::exists(last))
            return 0;
        const auto checkpoint = nn::checkpoint::read(last);
        for (const auto& entry : checkpoint.entries())
            checkpoint.tensor(entry.name);
        return std::stoll(checkpoint.metadata().at("training.steps"));
    }
    void wait_for(const Job& job, int64_t wanted) const {
        while (step() < wanted && job.runs())
            usleep(2000);
    }

    // Goes on for a few steps, in another number of processes, to the same files as one process that was
    // never disturbed.
    void check_goes_on(const Mpi& mpi, int ranks) const {
        const int64_t done = step(), more = 3;
        const Result r =
            mpirun(mpi, ranks, "generate", {"train", "--resume", run, "--stop-after", std::to_string(more)});
        INFO(r.err);
        CHECK(r.status == 0);
        const Result whole = alone("generate", joined(train, {"--save", folder / "undisturbed",
                                                              "--stop-after", std::to_string(done + more)}));
        REQUIRE(whole.status == 0);
        CHECK(step() == done + more);
        CHECK(files_of(run) == files_of(folder / "undisturbed"));
        std::filesystem::remove_all(folder / "undisturbed");
    }
};

}  // namespace

TEST_CASE("kill -9 of any process at any moment: all end, and the run goes on to the same bits",
          "[mpi][bits]") {
    const Programs programs;
    const autograd::Rng chance = autograd::Rng(16).fork("moments");
    const int kills = full() ? 50 : 3;
    uint64_t drawn = 0;
    for (const Mpi& mpi : mpis()) {
        const Program& p = programs.sentences;
        const std::string whole = programs.folder / (mpi.name + "-whole"), run = programs.folder / mpi.name;
        const Words train = joined(p.train, {"--parts", "4", "--save-every", "2"});
        REQUIRE(alone(p.name, joined(train, {"--save", whole})).status == 0);
        const auto wanted = files_of(whole);
        int killed = 0, ended = 0;
        while (killed < kills || ended == 0) {
            const int ranks = 2 + static_cast<int>(chance.below(drawn++, 3));
            const int victim = static_cast<int>(chance.below(drawn++, ranks));
            const double moment = chance.uniform(drawn++) * (full() ? 3 : 1.5);
            INFO(mpi.name << ", kill " << killed << ": process " << victim << " of " << ranks << " after "
                          << moment << " s");
            const bool begun = std::filesystem::exists(run + "/last.safetensors");
            Job job(mpi, ranks,
                    command_of(mpi.apps, p.name, begun ? p.resume(run) : joined(train, {"--save", run})));
            const pid_t process = job.process(victim);
            if (killed < kills && process > 0) {
                usleep(static_cast<unsigned>(moment * 1e6));
                kill(process, SIGKILL);
            }
            const bool was_running = job.runs();
            const Result r = killed < kills && was_running ? job.wait(10) : job.wait();
            INFO(r.err);
            if (std::filesystem::exists(run + "/model.safetensors")) {
                ++ended;
                CHECK(files_of(run) == wanted);
                std::filesystem::remove_all(run);
            } else {
                CHECK(r.status != 0);
                ++killed;
            }
        }
    }
}

TEST_CASE("a signal to any process: all end, what was done is saved, and the run goes on", "[mpi]") {
    for (const Mpi& mpi : mpis())
        for (const int signal : {SIGTERM, SIGINT})
            for (const int to : {0, 2}) {
                INFO(mpi.name << ", signal " << signal << " to process " << to);
                const Endless endless(1'000'000);
                Job job(mpi, 3, command_of(mpi.apps, "generate", endless.begin()));
                REQUIRE(job.says("  loss "));
                const pid_t process = job.process(to);
                REQUIRE(process > 0);
                kill(process, signal);
                const Result r = job.wait(10);
                INFO(r.err);
                CHECK(r.status == 128 + signal);
                CHECK(complaints(r) ==
                      Words{signal == SIGTERM ? "generate: terminated" : "generate: interrupted"});
                CHECK(endless.step() > 0);  // only the signal made it save
                CHECK(contains(r.err, "continue with --resume " + endless.run));
                endless.check_goes_on(mpi, 2);
            }
}

TEST_CASE("a signal to mpirun: all end, and the run goes on", "[mpi]") {
    for (const Mpi& mpi : mpis())
        for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
            INFO(mpi.name << ", signal " << signal);
            const Endless endless(1);
            Job job(mpi, 3, command_of(mpi.apps, "generate", endless.begin()));
            endless.wait_for(job, 2);
            job.interrupt(signal);
            const Result r = job.wait(10);
            INFO(r.err);
            CHECK(complaints(r).size() <= 1);  // the status is mpirun's own: MPICH's is sometimes 0
            endless.check_goes_on(mpi, 2);
        }
}

#if defined(__linux__)
// A file size limit stands for a full disk. It is set on the running process: MPI needs files when it starts.
TEST_CASE("a full disk: one line, all end, and the checkpoint before is whole", "[mpi]") {
    for (const Mpi& mpi : mpis())
        for (const bool is_told_to_end : {false, true}) {
            INFO(mpi.name << (is_told_to_end ? ", saving because of a signal" : ""));
            const Endless endless(is_told_to_end ? 1'000'000 : 1);
            Job job(mpi, 3, command_of(mpi.apps, "generate", endless.begin()));
            REQUIRE(job.says("  loss "));
            const pid_t first = job.process(0);
            REQUIRE(first > 0);  // 0 would be this process
            const rlimit small = {1000, 1000};
            REQUIRE(prlimit(first, RLIMIT_FSIZE, &small, nullptr) == 0);
            if (is_told_to_end)
                kill(first, SIGTERM);
            const Result r = job.wait(10);
            INFO(r.err);
            CHECK(r.status == 1);
            const Words said = complaints(r);
            REQUIRE(said.size() == 1);
            CHECK(contains(said[0], "cannot be written: File too large; a file that was there is unchanged"));
            endless.check_goes_on(mpi, 4);
        }
}
#endif
