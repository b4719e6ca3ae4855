// What the team of MPI's processes promises in nn/parallel/team.h, checked by the processes themselves:
//
//     mpirun -np 3 check_team           prints one line
//     mpirun -np 3 check_team abort 1   process 1 ends all of them, with status 7, while the others wait
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "autograd/base/check.h"
#include "nn/parallel/data_parallel.h"

using namespace plaingrad;  // NOLINT

namespace {

using autograd::check;

// Bytes that depend on where they come from, where they go, and what they are called.
std::string bytes(int64_t from, int64_t to, int64_t tag, int64_t size) {
    std::string text(static_cast<std::size_t>(size), '\0');
    auto x = static_cast<uint64_t>(1 + from * 64 + to * 8 + tag);
    for (char& c : text) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        c = static_cast<char>(x >> 56);
    }
    return text;
}

void check_broadcast(nn::Team& team) {
    for (const int64_t size : {0, 1, 1000, 5'000'000}) {
        std::string text =
            team.leads() ? bytes(0, 0, 0, size) : std::string(static_cast<std::size_t>(size), 'x');
        team.broadcast(text.data(), size);
        check(text == bytes(0, 0, 0, size), "broadcast of " + std::to_string(size));
    }
}

void check_gather(nn::Team& team) {
    for (const int64_t size : {0, 1, 3'000'000}) {
        const auto of = [&](int64_t r) { return bytes(r, 0, 0, r == 1 ? 0 : size * (r + 1)); };
        const std::vector<std::string> all = team.gather(of(team.rank()));
        check(std::ssize(all) == team.size(), "gather, how many");
        for (int64_t r = 0; r < team.size(); ++r)
            check(all[static_cast<std::size_t>(r)] == of(r), "gather, of process " + std::to_string(r));
    }
}

// Each sends all (itself too) messages of every size.
void check_exchange(nn::Team& team) {
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {0}, {1, 70'000, 3'000'001, 0, 5}}) {
        std::vector<std::string> out, in, wanted;
        for (int64_t r = 0; r < team.size(); ++r)
            for (const int64_t size : sizes) {
                out.push_back(bytes(team.rank(), r, std::ssize(out), size));
                in.emplace_back(static_cast<std::size_t>(size), 'x');
            }
        std::vector<nn::Message> send, receive;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto r = static_cast<int64_t>(i / sizes.size());
            const std::size_t of_sender =
                static_cast<std::size_t>(team.rank()) * sizes.size() + i % sizes.size();
            wanted.push_back(bytes(r, team.rank(), static_cast<int64_t>(of_sender), std::ssize(in[i])));
            send.push_back({r, out[i].data(), std::ssize(out[i])});
            receive.push_back({r, in[i].data(), std::ssize(in[i])});
        }
        team.exchange(send, receive);
        check(in == wanted, "exchange of " + std::to_string(sizes.size()) + " messages with each");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::unique_ptr<nn::Team> team = nn::join_team();
        check(team->rank() == nn::started_rank(), "the rank that mpirun gave");
        if (argc == 3) {
            if (team->rank() == std::atoll(argv[2]))
                team->abort(7);
            team->gather("");
        }
        check_broadcast(*team);
        check_gather(*team);
        check_exchange(*team);
        if (team->leads())
            std::printf("%lld processes\n", static_cast<long long>(team->size()));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "check_team: process %lld: %s\n", static_cast<long long>(nn::started_rank()),
                     error.what());
        std::_Exit(1);
    }
}
