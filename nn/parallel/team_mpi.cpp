// The team of MPI's processes: the only file that knows MPI. `make MPI=1` compiles it.
//
// MPI in four ideas. MPI_COMM_WORLD is the group of all processes. A rank is the number of a process in it.
// MPI_Isend and MPI_Irecv only start a message and return a request; the memory belongs to MPI until
// MPI_Waitall has waited for the request. A collective call (Bcast, Allgather) ends only once every process
// has made it.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>

#include "autograd/base/check.h"
#include "autograd/base/real.h"
#include "nn/parallel/team.h"

namespace plaingrad::nn {

using autograd::check;

namespace {

// MPI counts bytes as int, so a message has at most 2^31 - 1 of them: larger ones are sent in pieces.
template <class F>
void in_pieces(const Message& m, const F& f) {
    constexpr int64_t kMost = 1 << 30;
    for (int64_t begin = 0; begin < m.bytes; begin += kMost)
        f(static_cast<char*>(m.at) + begin, static_cast<int>(std::min(kMost, m.bytes - begin)),
          static_cast<int>(m.process));
}

// MPI's own reaction to an error is a message and the end of all processes.
class MpiTeam : public Team {
public:
    MpiTeam() {
        // Funneled: parallel_for has other threads, but only the one that joined calls MPI.
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        check(provided >= MPI_THREAD_FUNNELED, "[team] this MPI allows no other threads in a process");
    }
    ~MpiTeam() override { MPI_Finalize(); }

    int64_t rank() const override { return rank_; }
    int64_t size() const override { return size_; }
    void broadcast(void* at, int64_t bytes) override {
        in_pieces({0, at, bytes},
                  [](char* piece, int n, int) { MPI_Bcast(piece, n, MPI_BYTE, 0, MPI_COMM_WORLD); });
    }

    std::vector<std::string> gather(const std::string& mine) override {
        const auto n = static_cast<std::size_t>(size_);
        const int64_t length = std::ssize(mine);
        std::vector<int64_t> of_each(n);
        MPI_Allgather(&length, 1, MPI_INT64_T, of_each.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
        const int64_t total = std::accumulate(of_each.begin(), of_each.end(), int64_t{0});
        check(total <= INT_MAX, "[team] ", total, " bytes are too many to gather at once");
        const std::vector<int> lengths(of_each.begin(), of_each.end());
        std::vector<int> begins(n);
        std::partial_sum(lengths.begin(), lengths.end() - 1, begins.begin() + 1);
        std::string all(static_cast<std::size_t>(total), '\0');
        MPI_Allgatherv(mine.data(), static_cast<int>(length), MPI_BYTE, all.data(), lengths.data(),
                       begins.data(), MPI_BYTE, MPI_COMM_WORLD);
        std::vector<std::string> texts;
        for (std::size_t r = 0; r < n; ++r)
            texts.emplace_back(all, static_cast<std::size_t>(begins[r]),
                               static_cast<std::size_t>(lengths[r]));
        return texts;
    }

    // Receives first: a message that finds its receive waiting goes straight to its place.
    void exchange(const std::vector<Message>& send, const std::vector<Message>& receive) override {
        std::vector<MPI_Request> requests;
        for (const Message& m : receive)
            in_pieces(m, [&](char* at, int bytes, int process) {
                MPI_Irecv(at, bytes, MPI_BYTE, process, 0, MPI_COMM_WORLD, &requests.emplace_back());
            });
        for (const Message& m : send)
            in_pieces(m, [&](char* at, int bytes, int process) {
                MPI_Isend(at, bytes, MPI_BYTE, process, 0, MPI_COMM_WORLD, &requests.emplace_back());
            });
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }

    // MPICH's mpirun may forget what was printed just before.
    void abort(int status) override {
        usleep(500'000);
        MPI_Abort(MPI_COMM_WORLD, status);
        std::_Exit(status);
    }

private:
    int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Team> join_mpi() { return std::make_unique<MpiTeam>(); }
std::string build() { return autograd::join(autograd::kVersion, ", sources ", PLAINGRAD_SOURCES); }

}  // namespace plaingrad::nn
