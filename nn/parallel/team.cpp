#include "nn/parallel/team.h"

#include <algorithm>
#include <cstdlib>

#include "autograd/base/text_stream.h"

namespace plaingrad::nn {

using autograd::check;

namespace {

class Alone : public Team {
    int64_t rank() const override { return 0; }
    int64_t size() const override { return 1; }
    void broadcast(void*, int64_t) override {}
    std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
    void exchange(const std::vector<Message>&, const std::vector<Message>&) override {}
    void abort(int status) override { std::_Exit(status); }
};

int64_t environment(std::initializer_list<const char*> names, int64_t otherwise) {
    for (const char* name : names)
        if (const char* text = std::getenv(name))
            return std::atoll(text);
    return otherwise;
}

// Open MPI's mpirun sets the first variable, MPICH's and Intel's the second, Slurm's srun the third. Where
// only PMIx has started a process, it has a rank, but none of them: 0, only MPI knows the number.
int64_t started_processes() {
    return environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"},
                       std::getenv("PMIX_RANK") != nullptr ? 0 : 1);
}

}  // namespace

bool started_alone() { return started_processes() == 1; }
int64_t started_rank() {
    return started_alone()
               ? 0
               : environment({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}, 0);
}

Team& alone() {
    static Alone team;
    return team;
}

// null if the program was built without MPI
std::unique_ptr<Team> join_mpi();  // team_mpi.cpp, or team_without_mpi.cpp

std::unique_ptr<Team> join_team() {
    const int64_t started = started_processes();
    if (started_alone())
        return std::make_unique<Alone>();
    std::unique_ptr<Team> team = join_mpi();
    check(team != nullptr, "mpirun has started ",
          started == 0 ? "an unknown number of" : std::to_string(started),
          " processes, but this program was built without MPI: each would train alone, and write into "
          "the same folder; build it with `make MPI=1`");
    check(started == 0 || team->size() == started, "mpirun has started ", started,
          " processes, but MPI sees ", team->size(),
          ": this mpirun belongs to another MPI than the one that the program was built with; ",
          "make MPI=1 MPICC=... with the mpicc of this one");
    return team;
}

bool any(Team& team, bool mine) {
    const std::vector<std::string> all = team.gather(mine ? "1" : "0");
    return std::count(all.begin(), all.end(), "1") > 0;
}

std::vector<double> gather(Team& team, const std::vector<double>& mine) {
    std::vector<double> all;
    for (const std::string& text :
         team.gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)})) {
        const std::size_t before = all.size();
        all.resize(before + text.size() / sizeof(double));
        std::copy(text.begin(), text.end(), reinterpret_cast<char*>(all.data() + before));
    }
    return all;
}

// Each text follows its length.
std::vector<std::string> gather(Team& team, const std::vector<std::string>& mine) {
    std::string joined;
    for (const std::string& text : mine)
        joined += std::to_string(text.size()) + ' ' + text;
    std::vector<std::string> all;
    for (const std::string& told : team.gather(joined))
        for (std::size_t at = 0; at < told.size(); at += all.back().size()) {
            std::size_t digits = 0;
            const std::size_t size = std::stoull(told.substr(at, 20), &digits);
            all.push_back(told.substr(at += digits + 1, size));
        }
    return all;
}

void check_all(Team& team, const std::string& error) {
    const std::vector<std::string> all = team.gather(error);
    for (std::size_t r = 0; r < all.size(); ++r)
        check(all[r].empty(), r == 0 ? "" : autograd::join("process ", r, " of ", all.size(), ": "), all[r]);
}

void check_same(Team& team, const std::string& what, const std::string& mine) {
    const std::vector<std::string> all = team.gather(mine);
    for (std::size_t r = 1; r < all.size(); ++r) {
        autograd::TextInput ours(all[0]), theirs(all[r]);
        std::string line, other;
        while (line == other && (ours || theirs)) {
            line = other = "";  // of the one that has ended
            std::getline(ours, line), std::getline(theirs, other);
        }
        check(all[r] == all[0], "process ", r, " has ", what, " than process 0: '", other, "', not '", line,
              "'");
    }
}

}  // namespace plaingrad::nn
