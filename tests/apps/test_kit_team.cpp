// What the programs share: training in many processes, seen from the first of two or three. The others are
// made up; tests/mpi starts real ones.
#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/base/system.h"
#include "tests/apps/of_two.h"
#include "tests/apps/running.h"
#include "tests/apps/shown.h"
#include "tests/autograd/values.h"

using namespace plaingrad;  // NOLINT
using tests::Words;

namespace {

std::string sent;  // all that this process sends to the other ones
std::string place_of_the_other(const std::string& mine) {
    sent += mine + "\n--\n";
    const bool is_place = tests::contains(mine, autograd::where_this_runs().machine);
    return is_place ? "another machine\n0" : mine;
}
std::unique_ptr<nn::Team> of_two() { return std::make_unique<tests::OfTwo>(place_of_the_other); }

// Its program is another one, and all else the same.
std::unique_ptr<nn::Team> of_different_programs() {
    return std::make_unique<tests::OfTwo>([](const std::string& mine) {
        return mine.starts_with("program ") ? "pro" + mine : place_of_the_other(mine);
    });
}

// How a program of one command, with these words, ends and what it says, in the first process of such a team;
// status -1 if it has to end the other ones, too. The number of threads is as before.
struct Ended {
    int status = -1;
    std::string said = {};
};
std::function<void(nn::Team&)> body;  // what its command does
Ended run_in(kit::Join& join, const std::function<void(nn::Team&)>& what, Words words = {""}) {
    const tests::Threads restore(autograd::thread_count());
    Ended ended;
    body = what;
    ended.said = tests::printed_by([&] {
        try {
            ended.status = kit::run_program(
                "program", static_cast<int>(words.size()), tests::pointers(words).data(),
                {{"", "does something", [](kit::Options& options) { body(*options.team); }}}, join);
        } catch (const tests::OfTwo::Aborted& aborted) {
            CHECK(aborted.status > 0);
        }
    });
    return ended;
}

}  // namespace

TEST_CASE("only a process that fails alone ends the others", "[kit]") {
    const auto end_of_two = [](const std::function<void()>& what) {
        return run_in(of_two, [&](nn::Team&) { what(); }).status;
    };
    CHECK(end_of_two([] {}) == 0);
    CHECK(end_of_two([] { throw kit::Ended{128 + SIGTERM, "all know it"}; }) == 143);
    CHECK(end_of_two([] { throw kit::Ended{1}; }) == 1);
    CHECK(end_of_two([] { throw kit::Ended{128 + SIGPIPE}; }) == -1);
    CHECK(end_of_two([] { throw autograd::Error("wrong"); }) == -1);
    CHECK(kit::processes_here() == 1);  // the other one is on another machine
}

#if defined(__linux__)  // other systems do not tell on which processors a process runs
namespace {

// This process, one on another machine, and a third that runs where this one does.
struct OfThree : tests::OfTwo {
    OfThree() : tests::OfTwo(place_of_the_other) {}
    int64_t size() const override { return 3; }
    std::vector<std::string> gather(const std::string& mine) override { return {mine, other(mine), mine}; }
};

std::unique_ptr<nn::Team> of_three() { return std::make_unique<OfThree>(); }

// What the first of three says when it begins; and how many threads it has then.
std::pair<std::string, int> begin_of_three() {
    int threads = 0;
    const Ended ended = run_in(of_three, [&](nn::Team&) {
        threads = autograd::thread_count();
        CHECK(kit::processes_here() == 2);
    });
    return {ended.said, threads};
}

}  // namespace

TEST_CASE("processes share their processors, and hear of those that are idle", "[kit]") {
    const char* const given = std::getenv("PLAINGRAD_THREADS");
    const std::string usual = given == nullptr ? "" : given;
    cpu_set_t all{}, one{};
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    const bool is_bound = CPU_COUNT(&all) < autograd::processors(getppid());  // by whoever runs the tests
    unsetenv("PLAINGRAD_THREADS");
    const auto [free, shared] = begin_of_three();
    CHECK(shared == std::max(1, autograd::processors() / 2));
    CHECK((free.empty() || is_bound));

    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    const int more = autograd::processors(getppid());
    const std::string bound = begin_of_three().first;
    sched_setaffinity(0, sizeof all, &all);
    CHECK(bound == (more > 1 ? autograd::join("mpirun has bound 2 processes to 1 of ", more,
                                              " processors; its option --bind-to none lets them use all\n")
                             : ""));

    setenv("PLAINGRAD_THREADS", "7", 1);
    {
        const tests::Threads seven(7);
        CHECK(begin_of_three().second == 7);  // as the user has said
    }
    if (given == nullptr)
        unsetenv("PLAINGRAD_THREADS");
    else
        setenv("PLAINGRAD_THREADS", usual.c_str(), 1);
    CHECK(run_in(of_two, [](nn::Team&) {}).status == 0);
    CHECK(kit::processes_here() == 1);  // for the tests that follow
}
#endif

// In a child process, as the program remembers a signal until it ends.
TEST_CASE("a signal to one process stops all of them", "[kit]") {
    const pid_t child = fork();
    if (child == 0) {
        tests::OfTwo of_calm;
        tests::OfTwo of_stopped([](const std::string&) {
            const double signal = SIGTERM;
            return std::string(reinterpret_cast<const char*>(&signal), sizeof signal);
        });
        const bool calm = kit::stop_listening_for_interrupt(of_calm) == 0 && !kit::interrupted();
        _exit(calm && kit::stop_listening_for_interrupt(of_stopped) == SIGTERM && kit::interrupted() ? 0 : 1);
    }
    REQUIRE(child > 0);
    CHECK(tests::status_of(child) == 0);
}

TEST_CASE("processes of a team must have the same command, but for the number of threads", "[kit]") {
    const auto compared = [](Words words) {
        words.insert(words.begin(), "");
        sent.clear();
        run_in(
            of_two, [](nn::Team&) {}, words);
        return sent;
    };
    const std::string usual = compared({"a.txt", "--steps", "5"});
    CHECK(tests::contains(usual, "\n--\n a.txt\n--steps 5\n--\n"));
    CHECK(compared({"a.txt", "--threads", "3", "--steps", "5"}) == usual);
    CHECK(compared({"a.txt", "--threads=3", "--steps", "5"}) == usual);
}

TEST_CASE("processes of a team must run the same program", "[kit]") {
    bool ran = false;
    const auto runs = [&](nn::Team&) { ran = true; };
    const std::string said = run_in(of_different_programs, runs).said;
    CHECK(tests::contains(said, "process 1 has another program or version than process 0: 'proprogram "));
    CHECK_FALSE(ran);
    run_in(of_two, runs);
    CHECK(ran);
}

TEST_CASE("a process that is alone keeps its number of threads", "[kit]") {
    const tests::Threads many(autograd::processors() + 1);
    int inside = 0;
    int64_t processes = 0;
    const Ended ended = run_in(
        nn::join_team, [&](nn::Team& team) { inside = autograd::thread_count(), processes = team.size(); });
    CHECK((ended.status == 0 && processes == 1));
    CHECK(inside == autograd::processors() + 1);
}
