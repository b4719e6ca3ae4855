// The team of MPI's processes: the only file that knows MPI. `make MPI=1` compiles it.
//
// MPI in five ideas. MPI_COMM_WORLD is the group of all processes. A rank is the number of a process in it.
// MPI_Isend and MPI_Irecv only start a message and return a request; the memory belongs to MPI until the
// request is done, for which MPI_Testall asks and MPI_Waitall waits. A receive takes the message of its
// sender and its tag. A collective call (Barrier, Bcast, Allgather) ends only once every process has made
// it.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>

#include "autograd/base/check.h"
#include "autograd/base/version.h"
#include "nn/team.h"

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

class MpiTransfer : public Transfer {
public:
    MpiTransfer(int tag, const std::vector<Message>& send, const std::vector<Message>& receive) {
        // Receives first: a message that finds its receive waiting goes straight to its place.
        for (const Message& m : receive)
            in_pieces(m, [&](char* at, int bytes, int process) {
                MPI_Irecv(at, bytes, MPI_BYTE, process, tag, MPI_COMM_WORLD, &requests_.emplace_back());
            });
        receives_ = requests_.size();
        for (const Message& m : send)
            in_pieces(m, [&](char* at, int bytes, int process) {
                MPI_Isend(at, bytes, MPI_BYTE, process, tag, MPI_COMM_WORLD, &requests_.emplace_back());
            });
    }
    // If an error ends this process, what has not arrived must not be written into memory that is freed by
    // then.
    ~MpiTransfer() override {
        for (std::size_t i = 0; i < requests_.size(); ++i)
            if (requests_[i] != MPI_REQUEST_NULL) {
                if (i < receives_)
                    MPI_Cancel(&requests_[i]);
                MPI_Request_free(&requests_[i]);
            }
    }
    MpiTransfer(MpiTransfer&&) = delete;
    bool is_done() override {
        int done = 0;
        MPI_Testall(count(), requests_.data(), &done, MPI_STATUSES_IGNORE);
        return done != 0;
    }
    void wait() override { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }

private:
    int count() const { return static_cast<int>(requests_.size()); }

    std::vector<MPI_Request> requests_;  // receives, then sends; MPI sets those that are done to null
    std::size_t receives_ = 0;
};

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
        void* most = nullptr;
        int is_known = 0;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &is_known);
        largest_tag_ = is_known != 0 ? *static_cast<const int*>(most) : 32'767;  // which each MPI has
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

    std::unique_ptr<Transfer> transfer(int64_t tag, const std::vector<Message>& send,
                                       const std::vector<Message>& receive) override {
        check(tag <= largest_tag_, "[team] this MPI has no tag ", tag, ": a model of so many buckets needs ",
              "larger ones");
        return std::make_unique<MpiTransfer>(static_cast<int>(tag), send, receive);
    }

    // MPICH's mpirun may forget what was printed just before.
    void abort(int status) override {
        usleep(500'000);
        MPI_Abort(MPI_COMM_WORLD, status);
        std::_Exit(status);
    }

private:
    int rank_ = 0, size_ = 1, largest_tag_ = 0;
};

}  // namespace

std::unique_ptr<Team> join_mpi() { return std::make_unique<MpiTeam>(); }
std::string build() { return autograd::join(autograd::kVersion, ", sources ", PLAINGRAD_SOURCES); }

}  // namespace plaingrad::nn
