// One hash: training has the same bits on any number of processes, with any MPI, and without one.
#include "tests/mpi/mpi.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

struct Ended {
    int status;
    std::map<std::string, std::string> files;
};

// How the same run ends in one process.
Ended expected(const Programs& programs, const Program& p, const std::string& parts) {
    const std::string run = programs.folder / "alone";
    const Result r = alone(p.name, joined(p.train, {"--parts", parts, "--save", run}));
    INFO(r.err);
    REQUIRE(r.status <= 1);  // 1: after so few steps, the task is not solved
    REQUIRE(std::filesystem::exists(run + "/model.safetensors"));
    const Ended ended = {r.status, files_of(run)};
    std::filesystem::remove_all(run);
    return ended;
}

}  // namespace

// One of the processes, the first or the second, has another set of instructions, with the same bits.
TEST_CASE("programs: the same files on any number of processes and threads, with any MPI", "[mpi][bits]") {
    const Programs programs;
    const std::string run = programs.folder / "run", parts = full() ? "8" : "4";
    for (const Program& p : programs.all) {
        const auto wanted = expected(programs, p, parts);
        for (const Mpi& mpi : mpis())
            for (const int ranks : full() ? std::vector{1, 2, 3, 4, 7, 8} : std::vector{2, 3, 4})
                for (const char* threads : full() ? std::vector{"1", "2"} : std::vector{"1"}) {
                    INFO(p.name << ", " << ranks << " processes, " << mpi.name);
                    const Words more = {"--parts", parts, "--threads", threads, "--save", run},
                                usual = command_of(mpi.apps, p.name, joined(p.train, more)),
                                other = joined({"env", "PLAINGRAD_ISA=baseline"}, usual);
                    const Result r = Job(mpi, ranks, unlike((ranks + 1) % 2, other, usual)).wait();
                    INFO(r.err);
                    CHECK(r.status == wanted.status);
                    CHECK(files_of(run) == wanted.files);
                    std::filesystem::remove_all(run);
                }
    }
}

TEST_CASE("as many parts as processes, unless told", "[mpi][bits]") {
    const Programs programs;
    const std::string run = programs.folder / "run";
    const auto wanted = expected(programs, programs.characters, "3");
    for (const Mpi& mpi : mpis()) {
        CHECK(mpirun(mpi, 3, "generate", joined(programs.characters.train, {"--save", run})).status ==
              wanted.status);
        CHECK(files_of(run).at("model.safetensors") == wanted.files.at("model.safetensors"));
        std::filesystem::remove_all(run);
    }
}

TEST_CASE("a run goes on with any number of processes", "[mpi][bits]") {
    const Programs programs;
    const std::vector<Mpi> all = mpis();
    for (const Program& p : programs.all) {
        INFO(p.name);
        const auto wanted = expected(programs, p, "4");
        const std::string run = programs.folder / p.name;
        // Each call goes on where the one before has stopped; with every MPI that is there in turn.
        std::size_t call = 0;
        for (const int ranks : {3, 2, 4, 1, 3}) {
            const Words begin = call == 0 ? joined(p.train, {"--parts", "4", "--save", run}) : p.resume(run);
            const Words words = call == 4 ? begin : joined(begin, {"--stop-after", call == 0 ? "3" : "5"});
            const Result r =
                ranks == 1 ? alone(p.name, words) : mpirun(all[call % all.size()], ranks, p.name, words);
            INFO("call " << call << ", " << ranks << " processes: " << r.err);
            REQUIRE(r.status <= 1);
            ++call;
        }
        CHECK(files_of(run) == wanted.files);
        std::filesystem::remove_all(run);
    }
}
