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
    return command_of(mpi.apps, "reverse_task",
                      joined(words("--layers 1 --d-model 8 --d-ff 8 --heads 2 --steps 100000"), more));
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
        check_says(mpi, 3, reverse(mpi, {"--parts", "2", "--save", run}), 2,
                   "reverse_task: a batch of this run is cut into 2 parts, so at most as many processes can "
                   "share it: "
                   "got 3; --parts sets the number");
        check_says(mpi, 2, reverse(mpi, {"--batch", "0"}), 2, "reverse_task: --batch needs a whole number ");
        check_says(mpi, 2, reverse(mpi, {"--partz", "2"}), 2, "reverse_task: ");
        check_says(mpi, 2, command_of(mpi.apps, "generate", {run}), 2,
                   "generate: mpirun has started 2 processes, but ");
        check_says(mpi, 3, command_of(mpi.apps, "generate", {"train", folder / "missing.txt"}), 1,
                   "missing.txt: ");
        check_says(mpi, 3, command_of(mpi.apps, "reverse_task", {"--resume", run}), 1,
                   "there is no run in this folder");
        // A limit of 3 GiB for each process is not shared.
        check_says(mpi, 2,
                   joined({"sh", "-c", "ulimit -v 3145728 && exec \"$@\"", "sh"},
                          command_of(mpi.apps, "reverse_task", {"--d-model", "4096", "--layers", "20"})),
                   1, ", but only 3,072 MiB are available to each of 2 processes here; ");
        CHECK_FALSE(std::filesystem::exists(run));
        // More processes than parts, in a run that has begun; then a new run in its folder.
        REQUIRE(
            mpirun(mpi, 2, "reverse_task", {"--d-model", "8", "--save", run, "--stop-after", "1"}).status ==
            0);
        const auto before = files_of(run);
        check_says(mpi, 3, command_of(mpi.apps, "reverse_task", {"--resume", run}), 2,
                   "so at most as many processes can share it: got 3");
        check_says(mpi, 2, command_of(mpi.apps, "reverse_task", {"--save", run}), 1,
                   "there is a run in this folder already");
        CHECK(files_of(run) == before);
        std::filesystem::remove_all(run);
    }
}

TEST_CASE("mpirun: what is wrong in one process only", "[mpi]") {
    const Folder folder;
    const std::string run = folder / "run", text = content("apps/programs/generate/log_book.txt");
    for (const std::string name : {"here", "there", "nowhere"})
        std::filesystem::create_directory(folder / name);
    put(folder / "here/book.txt", text);
    put(folder / "there/book.txt", text + "x");
    // The same name of the file in all processes, but not the same file.
    const auto learn = [&](const Mpi& mpi, const std::string& in, const Words& more) {
        return joined(
            {"env", "-C", folder / in},
            command_of(
                mpi.apps, "generate",
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
            check_one(learn(mpi, "there", save), 1, " has other data than process 0: ");
            check_one(joined({"env", "PLAINGRAD_ISA=none"}, learn(mpi, "here", save)), 1,
                      "unknown instruction set 'none'");
        }
    for (const Mpi& mpi : mpis()) {  // in all but the first
        Job job(mpi, 4, unlike(0, learn(mpi, "here", {}), learn(mpi, "nowhere", {})));
        check_says(job, 1, "process 1: generate: ");
    }
}

TEST_CASE("mpirun: one process with another command", "[mpi]") {
    const Folder folder;
    const std::string run = folder / "run";
    for (const Mpi& mpi : mpis())
        for (const int rank : {0, 2})
            for (const std::string also :
                 {"--lr 0.5", "--parts 8", "--stop-after 5", "--batch 0", "--check", "--plain", "--help"}) {
                INFO(mpi.name << ", process " << rank);
                const Words save = {"--save", run}, usual = reverse(mpi, save);
                Job job(mpi, 3, unlike(rank, reverse(mpi, joined(save, words(also))), usual));
                const std::string said = "'" + also + "'";
                check_says(job, 2,
                           " has another command than process 0: " +
                               (rank == 0 ? "'', not " + said : said + ", not ''"));
                CHECK_FALSE(std::filesystem::exists(run));
            }
}

// srun, and other launchers that speak PMIx, do not say how many processes there are.
TEST_CASE("mpirun: processes that only PMIx has started", "[mpi]") {
    const Programs programs;
    const Program& p = programs.characters;
    const std::string run = programs.folder / "run", alone_in = programs.folder / "alone";
    REQUIRE(alone(p.name, joined(p.train, {"--parts", "2", "--save", alone_in})).status == 0);
    const Words unknown = {"env", "-u", "OMPI_COMM_WORLD_SIZE", "-u", "OMPI_COMM_WORLD_RANK"};
    for (const Mpi& mpi : mpis()) {
        if (mpi.name != "openmpi")  // the only one of these that has PMIx
            continue;
        const Result r =
            Job(mpi, 2, joined(unknown, command_of(mpi.apps, p.name, joined(p.train, {"--save", run}))))
                .wait();
        INFO(r.err);
        CHECK(r.status == 0);
        CHECK(files_of(run) == files_of(alone_in));
        Job without(mpi, 2,
                    joined(unknown, command_of(apps_alone(), p.name, joined(p.train, {"--save", run}))));
        check_says(
            without, 1,
            "mpirun has started an unknown number of processes, but this program was built without MPI");
    }
    // Slurm's srun says it.
    const Result r = alone(p.name, p.train, {.env = {"SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=0"}});
    CHECK(r.status == 1);
    CHECK(contains(r.err, "has started 4 processes, but this program was built without MPI"));
}
