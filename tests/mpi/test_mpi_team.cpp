// nn/parallel/team_mpi.cpp by itself.
#include "tests/mpi/mpi.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

TEST_CASE("the team of MPI's processes: broadcast, gather, messages of all sizes", "[mpi]") {
    for (const Mpi& mpi : mpis())
        for (const int ranks : {2, 3, 4}) {
            INFO(mpi.name << ", " << ranks << " processes");
            const Result r = mpirun(mpi, ranks, "check_team", {});
            INFO(r.err);
            CHECK(r.status == 0);
            CHECK(r.out == std::to_string(ranks) + " processes\n");
        }
}

TEST_CASE("the team of MPI's processes: one ends all", "[mpi]") {
    for (const Mpi& mpi : mpis())
        for (const char* rank : {"0", "2"}) {
            INFO(mpi.name << ", process " << rank);
            Job job(mpi, 3, command_of(mpi.apps, "check_team", {"abort", rank}));
            CHECK(job.wait(10).status == 7);
        }
}
