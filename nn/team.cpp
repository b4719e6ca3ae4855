#include "nn/team.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "autograd/base/check.h"

namespace plaingrad::nn {

using autograd::check;

namespace {

class Done : public Transfer {
    bool is_done() override { return true; }
    void wait() override {}
};

class Alone : public Team {
    int64_t rank() const override { return 0; }
    int64_t size() const override { return 1; }
    void barrier() override {}
    void broadcast(void*, int64_t) override {}
    std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
    std::unique_ptr<Transfer> transfer(int64_t, const std::vector<Message>&,
                                       const std::vector<Message>&) override {
        return std::make_unique<Done>();
    }
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
    if (team.size() == 1)
        return mine;
    bool one = false;
    for (const std::string& text : team.gather(mine ? "1" : "0"))
        one = one || text == "1";
    return one;
}

namespace {

std::string bytes_of(const std::vector<double>& numbers) {
    std::string text(numbers.size() * sizeof(double), '\0');
    if (!numbers.empty())
        std::memcpy(text.data(), numbers.data(), text.size());
    return text;
}
std::vector<double> numbers_of(const std::string& text) {
    std::vector<double> numbers(text.size() / sizeof(double));
    if (!numbers.empty())
        std::memcpy(numbers.data(), text.data(), text.size());
    return numbers;
}

}  // namespace

std::vector<std::vector<double>> gather(Team& team, const std::vector<double>& mine) {
    if (team.size() == 1)
        return {mine};
    std::vector<std::vector<double>> all;
    for (const std::string& text : team.gather(bytes_of(mine)))
        all.push_back(numbers_of(text));
    return all;
}

std::string packed(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts)
        all += std::to_string(text.size()) + ' ' + text;
    return all;
}
std::vector<std::string> unpacked(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = text.find(' ', at) + 1;
        all.push_back(text.substr(begin, std::stoull(text.substr(at, begin - at))));
        at = begin + all.back().size();
    }
    return all;
}

double seconds_to_send(Team& team, int64_t bytes) {
    constexpr int64_t kMost = 1 << 22;  // of a message: the rest is extrapolated
    const int64_t others = team.size() - 1, share = bytes / std::max<int64_t>(1, others);
    std::vector<char> out(static_cast<std::size_t>(std::min(share, kMost))),
        in(out.size() * static_cast<std::size_t>(team.size()));
    std::vector<Message> send, receive;
    for (int64_t r = 0; r < team.size(); ++r)
        if (r != team.rank()) {
            send.push_back({r, out.data(), std::ssize(out)});
            receive.push_back({r, in.data() + r * std::ssize(out), std::ssize(out)});
        }
    double best = 1e10;
    for (int i = 0; i < 3; ++i) {  // the first also fetches its memory
        team.barrier();
        const auto start = std::chrono::steady_clock::now();
        team.transfer(0, send, receive)->wait();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    double slowest = 0;
    for (const std::vector<double>& one : gather(team, {best}))
        slowest = std::max(slowest, one[0]);
    return slowest * static_cast<double>(share) / static_cast<double>(std::max<int64_t>(1, std::ssize(out)));
}

// In turn: neighbours often take similar time, as sentences in order of length do.
std::vector<std::string> shared_out(Team& team, int64_t n, const std::function<std::string(int64_t i)>& f) {
    std::vector<std::string> mine;
    for (int64_t i = team.rank(); i < n; i += team.size())
        mine.push_back(f(i));
    std::vector<std::vector<std::string>> all = {mine};
    if (team.size() > 1) {
        all.clear();
        for (const std::string& text : team.gather(packed(mine)))
            all.push_back(unpacked(text));
    }
    std::vector<std::string> results;
    for (int64_t i = 0; i < n; ++i)
        results.push_back(
            all[static_cast<std::size_t>(i % team.size())][static_cast<std::size_t>(i / team.size())]);
    return results;
}

std::vector<double> shared_numbers(Team& team, int64_t n,
                                   const std::function<std::vector<double>(int64_t i)>& f) {
    std::vector<double> all;
    for (const std::string& text : shared_out(team, n, [&](int64_t i) { return bytes_of(f(i)); })) {
        const std::vector<double> some = numbers_of(text);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

std::vector<double> shared_ranges(Team& team, int64_t n,
                                  const std::function<std::vector<double>(int64_t begin, int64_t end)>& f) {
    return shared_numbers(team, team.size(),
                          [&](int64_t i) { return f(n * i / team.size(), n * (i + 1) / team.size()); });
}

void together(Team& team, const std::function<void()>& f) {
    if (team.size() == 1)
        return f();
    std::string mine;
    try {
        f();
    } catch (const autograd::Error& error) {
        mine = error.what();
    }
    const std::vector<std::string> all = team.gather(mine);
    for (std::size_t r = 0; r < all.size(); ++r)
        check(all[r].empty(), r == 0 ? "" : autograd::join("process ", r, " of ", all.size(), ": "), all[r]);
}

// The line in which `text` begins to differ from `other`; "" if it ends there.
static std::string line_unlike(const std::string& other, const std::string& text) {
    const auto mismatch = std::mismatch(text.begin(), text.end(), other.begin(), other.end());
    const auto at = static_cast<std::size_t>(mismatch.first - text.begin());
    const auto ends_line = [at](const std::string& s) { return at == s.size() || s[at] == '\n'; };
    // One of them has a line more.
    const std::size_t begin = ends_line(text) && ends_line(other)
                                  ? at + 1
                                  : text.substr(0, at).rfind('\n') + 1;  // 0 if there is none
    return begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : "";
}

void check_same(Team& team, const std::string& what, const std::string& mine) {
    if (team.size() == 1)
        return;
    const std::vector<std::string> all = team.gather(mine);
    for (std::size_t r = 1; r < all.size(); ++r)
        check(all[r] == all[0], "process ", r, " has ", what, " than process 0: '",
              line_unlike(all[0], all[r]), "', not '", line_unlike(all[r], all[0]), "'");
}

}  // namespace plaingrad::nn
