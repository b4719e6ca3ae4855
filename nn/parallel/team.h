// The processes that train one model together, on one machine or on many. The library, the programs and the
// training loop know only this interface. A single process is a team of one (`alone`); MPI is in one file
// (team_mpi.cpp), which only `make MPI=1` compiles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::nn {

// Memory that one process sends to another, or receives from it.
struct Message {
    int64_t process;  // the other one
    void* at;
    int64_t bytes;
};

// Every process must make the same calls in the same order. Otherwise they wait for each other for ever.
class Team {
public:
    virtual ~Team() = default;

    virtual int64_t rank() const = 0;  // from 0 to size() - 1; process 0 speaks and saves
    virtual int64_t size() const = 0;
    bool leads() const { return rank() == 0; }

    virtual void broadcast(void* at, int64_t bytes) = 0;  // what process 0 has there, to all others
    // What each process gives, in order of rank; the result is the same in all of them.
    virtual std::vector<std::string> gather(const std::string& mine) = 0;
    // Sends and receives, and returns when all is done. Both sides give the same sizes; between two
    // processes, messages arrive in the order in which they were sent.
    virtual void exchange(const std::vector<Message>& send, const std::vector<Message>& receive) = 0;

    // Ends all processes, with this exit status.
    [[noreturn]] virtual void abort(int status) = 0;
};

// The team of one process.
Team& alone();

// The team that this process was started in: `mpirun -np 4 program` starts four. For a process that was
// started alone, a team of one. Throws Error if the program was built without MPI, or for another MPI than
// the one that started it: then each process would believe that it is alone.
std::unique_ptr<Team> join_team();
// Whether this process was started alone; and its number among those that were started, or 0. They need no
// MPI.
bool started_alone();
int64_t started_rank();
// The version, and a checksum of the sources that this program was built from, as builds of one version may
// differ: "0.1.0, sources 1234-56". Without MPI the version alone.
std::string build();

// ---- with the calls above

// Whether any process says so.
bool any(Team& team, bool mine);
// The numbers, or texts, of all processes, those of process 0 first.
std::vector<double> gather(Team& team, const std::vector<double>& mine);
std::vector<std::string> gather(Team& team, const std::vector<std::string>& mine);

// Throws Error in every process if one has an error, so that none goes on and waits for the others. "": none.
void check_all(Team& team, const std::string& error);
// Calls f in every process. If it throws an Error in one, all throw an Error with its message.
template <class F>
void together(Team& team, const F& f) {
    if (team.size() == 1)
        return f();
    std::string error;
    try {
        f();
    } catch (const autograd::Error& thrown) {
        error = thrown.what();
    }
    check_all(team, error);
}
// Throws Error in all processes unless all give the same text, and names the first line that differs. what:
// "other data".
void check_same(Team& team, const std::string& what, const std::string& mine);

}  // namespace plaingrad::nn
