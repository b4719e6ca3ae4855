// The team of MPI's processes: the only file that knows MPI. `make MPI=1` compiles it.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "autograd/base/check.h"
#include "nn/team.h"

namespace plaingrad::nn {

using autograd::check;

namespace {

// MPI counts bytes as int.
template <class F>
void in_pieces(const Message& m, const F& f) {
    constexpr int64_t kMost = 1 << 30;
    for (int64_t begin = 0; begin < m.bytes; begin += kMost)
        f(static_cast<char*>(m.at) + begin, static_cast<int>(std::min(kMost, m.bytes - begin)),
          static_cast<int>(m.process));
}

class MpiTransfer : public Transfer {
public:
    MpiTransfer(int tag, const std::vector<Message>& send, const std::vector<Message>& receive) {
        for (const Message& m : receive)
            in_pieces(m, [&](char* at, int bytes, int process) {
                MPI_Irecv(at, bytes, MPI_BYTE, process, tag, MPI_COMM_WORLD, &requests_.emplace_back());
            });
        for (const Message& m : send)
            in_pieces(m, [&](char* at, int bytes, int process) {
                MPI_Isend(at, bytes, MPI_BYTE, process, tag, MPI_COMM_WORLD, &requests_.emplace_back());
            });
    }
    bool is_done() override {
        int done = 0;
        MPI_Testall(count(), requests_.data(), &done, MPI_STATUSES_IGNORE);
        return done != 0;
    }
    void wait() override { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }

private:
    int count() const { return static_cast<int>(requests_.size()); }

    std::vector<MPI_Request> requests_;
};

// MPI's own reaction to an error is a message and the end of all processes.
class MpiTeam : public Team {
public:
    MpiTeam() {
        // Only the thread that joined calls MPI.
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~MpiTeam() override { MPI_Finalize(); }

    int64_t rank() const override { return rank_; }
    int64_t size() const override { return size_; }
    void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

    void broadcast(void* at, int64_t bytes) override {
        in_pieces({0, at, bytes},
                  [](char* piece, int n, int) { MPI_Bcast(piece, n, MPI_BYTE, 0, MPI_COMM_WORLD); });
    }

    std::vector<std::string> gather(const std::string& mine) override {
        const auto n = static_cast<std::size_t>(size_);
        const int length = static_cast<int>(mine.size());
        std::vector<int> lengths(n), begins(n);
        MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
        int64_t total = 0;
        for (std::size_t r = 0; r < n; ++r) {
            begins[r] = static_cast<int>(total);
            total += lengths[r];
        }
        check(total <= INT_MAX, "[team] ", total, " bytes are too many to gather at once");
        std::string all(static_cast<std::size_t>(total), '\0');
        MPI_Allgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(), begins.data(), MPI_BYTE,
                       MPI_COMM_WORLD);
        std::vector<std::string> texts;
        for (std::size_t r = 0; r < n; ++r)
            texts.emplace_back(all, static_cast<std::size_t>(begins[r]),
                               static_cast<std::size_t>(lengths[r]));
        return texts;
    }

    std::unique_ptr<Transfer> transfer(int64_t tag, const std::vector<Message>& send,
                                       const std::vector<Message>& receive) override {
        return std::make_unique<MpiTransfer>(static_cast<int>(tag), send, receive);
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

}  // namespace plaingrad::nn
