// Bad input, on all processes or on one: one line of ours, from one process, and all end.
#include "tests/mpi/mpi.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Waits for a job that must end with one line, which says this.
void check_says(Job& job, int status, const std::string& what) {
    const Result r = job.wait(10);
    INFO("wanted: " << what << "\ngot: " << r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    const Words said = complaints(r);
    REQUIRE(said.size() == 1);
    CHECK(contains(said[0], what));
}
void check_says(const Mpi& mpi, int ranks, const Words& command, int status, const std::string& what) {
    Job job(mpi, ranks, command);
    check_says(job, status, what);
}

Words reverse(const Mpi& mpi, const Words& more) {
    return command_of(
        mpi.apps, "reverse_task",
        joined({"--layers", "1", "--d-model", "8", "--d-ff", "8", "--heads", "2", "--steps", "100000"},
               more));
}

}  // namespace

TEST_CASE("mpirun: a program that was built without MPI, or for another one", "[mpi]") {
    const Folder folder;
    const std::string run = folder / "run";
    for (const Mpi& mpi : mpis()) {
        INFO(mpi.name);
        check_says(
            mpi, 3, command_of(apps_alone(), "reverse_task", {"--save", run}), 1,
            "reverse_task: mpirun has started 3 processes, but this program was built without MPI: each "
            "would train alone, and write into the same folder; build it with `make MPI=1`");
        for (const Mpi& other : mpis())
            if (other.name != mpi.name)
                check_says(
                    mpi, 3, command_of(other.apps, "reverse_task", {"--save", run}), 1,
                    "reverse_task: mpirun has started 3 processes, but MPI sees 1: this mpirun belongs to ");
        CHECK_FALSE(std::filesystem::exists(run));
    }
}

TEST_CASE("mpirun: what is wrong in all processes", "[mpi]") {
    const Folder folder;
    const std::string run = folder / "run";
    for (const Mpi& mpi : mpis()) {
        INFO(mpi.name);
        check_says(
            mpi, 3, reverse(mpi, {"--parts", "2", "--save", run}), 2,
            "reverse_task: a batch of this run is cut into 2 parts, so at most 2 processes can share it: "
            "got 3; --parts sets the number");
        check_says(mpi, 2, reverse(mpi, {"--batch", "0"}), 2, "reverse_task: --batch needs a whole number ");
        check_says(mpi, 2, reverse(mpi, {"--partz", "2"}), 2, "reverse_task: ");
        check_says(mpi, 2, command_of(mpi.apps, "char_lm", {"sample", run}), 2,
                   "char_lm: mpirun has started 2 processes, but ");
        check_says(mpi, 3, command_of(mpi.apps, "char_lm", {"train", folder / "missing.txt"}), 1,
                   "missing.txt: ");
        check_says(mpi, 3, command_of(mpi.apps, "reverse_task", {"--resume", run}), 1,
                   "there is no run in this folder");
        CHECK_FALSE(std::filesystem::exists(run));
        // More processes than parts, in a run that has begun; then a new run in its folder.
        REQUIRE(
            mpirun(mpi, 2, "reverse_task", {"--d-model", "8", "--save", run, "--stop-after", "1"}).status ==
            0);
        const auto before = files_of(run);
        check_says(mpi, 3, command_of(mpi.apps, "reverse_task", {"--resume", run}), 2,
                   "at most 2 processes can share it: got 3");
        check_says(mpi, 2, command_of(mpi.apps, "reverse_task", {"--save", run}), 1,
                   "there is a run in this folder already");
        CHECK(files_of(run) == before);
        std::filesystem::remove_all(run);
    }
}

TEST_CASE("mpirun: what is wrong in one process only", "[mpi]") {
    const Folder folder;
    const std::string run = folder / "run", text = content("apps/programs/char_lm/log_book.txt");
    for (const std::string name : {"here", "there", "nowhere"})
        std::filesystem::create_directory(folder / name);
    put(folder / "here/book.txt", text);
    put(folder / "there/book.txt", text + "x");
    // The same name of the file in all processes, but not the same file.
    const auto learn = [&](const Mpi& mpi, const std::string& in, const Words& more) {
        return joined(
            {"env", "-C", folder / in},
            command_of(
                mpi.apps, "char_lm",
                joined({"train", "/proc/self/cwd/book.txt", "--layers", "1", "--d-model", "16"}, more)));
    };
    const Words save = {"--save", run};
    for (const Mpi& mpi : mpis())
        for (const int rank : {0, 2}) {
            const auto check_one = [&](const Words& there, int status, const std::string& what) {
                INFO(mpi.name << ", process " << rank);
                Job job(mpi, 3, unlike(rank, there, learn(mpi, "here", save)));
                check_says(job, status, what);
                CHECK_FALSE(std::filesystem::exists(run + "/last.safetensors"));
                std::filesystem::remove_all(run);
            };
            check_one(learn(mpi, "nowhere", save), 1, "book.txt: ");
            check_one(learn(mpi, "there", save), 1, " has data other than process 0: ");
            const std::string changed =
                rank == 0 ? "'--lr=0.003', not '--lr=0.5'" : "'--lr=0.5', not '--lr=0.003'";
            check_one(learn(mpi, "here", joined(save, {"--lr", "0.5"})), 1,
                      " has settings other than process 0: " + changed);
            check_one(learn(mpi, "here", joined(save, {"--batch", "0"})), 2, "--batch needs a whole number ");
            check_one(joined({"env", "PLAINGRAD_ISA=none"}, learn(mpi, "here", save)), 1,
                      "unknown instruction set 'none'");
            if (rank > 0)
                check_one(learn(mpi, "here", {"--save", folder / "nowhere/run"}), 1,
                          "this process cannot see the folder of process 0");
        }
}
