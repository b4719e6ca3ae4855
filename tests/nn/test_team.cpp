// What processes tell each other, built on the calls of a team.
#include "nn/team.h"

#include "autograd/base/check.h"
#include "tests/catch.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

// What check_same says if process 1 has the second text, and process 0 the first; "" if it throws nowhere.
std::string said(const std::string& first, const std::string& second) {
    std::vector<std::string> all(2);
    run_team(2, [&](Team& team) {
        try {
            check_same(team, "other words", team.leads() ? first : second);
        } catch (const autograd::Error& error) {
            all[static_cast<std::size_t>(team.rank())] = error.what();
        }
    });
    CHECK(all[0] == all[1]);
    return all[0];
}

// Process 1 of 4, whose messages arrive at once; process 3 says that its own took 7 seconds.
struct Recorded : Team {
    struct Done : Transfer {
        bool is_done() override { return true; }
        void wait() override {}
    };
    int64_t rank() const override { return 1; }
    int64_t size() const override { return 4; }
    void barrier() override { calls += "barrier "; }
    void broadcast(void*, int64_t) override {}
    std::vector<std::string> gather(const std::string& mine) override {
        const double seven = 7;
        return {mine, mine, mine, std::string(reinterpret_cast<const char*>(&seven), sizeof seven)};
    }
    std::unique_ptr<Transfer> transfer(int64_t, const std::vector<Message>& send,
                                       const std::vector<Message>& receive) override {
        for (const auto& [what, messages] : {std::pair("to ", send), std::pair("from ", receive)})
            for (const Message& m : messages)
                calls += autograd::join(what, m.process, ": ", m.bytes, " ");
        return std::make_unique<Done>();
    }
    void abort(int status) override { std::_Exit(status); }
    std::string calls;
};

}  // namespace

TEST_CASE("team: what differs between processes is named by its line", "[nn][team]") {
    const std::string begins = "process 1 has other words than process 0: ";
    CHECK(said("", "").empty());
    CHECK(said("a\nb\nc", "a\nb\nc").empty());
    CHECK(said("a\nb\nc", "a\nbb\nc") == begins + "'bb', not 'b'");
    CHECK(said("a\nbb\nc", "a\nb\nc") == begins + "'b', not 'bb'");
    CHECK(said("a\nb", "a\nb\nc") == begins + "'c', not ''");
    CHECK(said("a\nb\nc", "a\nb") == begins + "'', not 'c'");
    CHECK(said("ab", "ac\nd") == begins + "'ac', not 'ab'");
    CHECK(said("", "a") == begins + "'a', not ''");
}

TEST_CASE("team: texts as one, and back", "[nn][team]") {
    for (const std::vector<std::string>& texts :
         {std::vector<std::string>{}, {""}, {"", ""}, {"3 abc", "1", std::string("\0 9", 3), ""}})
        CHECK(unpacked(packed(texts)) == texts);
}

TEST_CASE("team: work that is shared out", "[nn][team]") {
    for (const int64_t processes : {1, 2, 3, 5})
        for (const int64_t n : {0, 1, 3, 7}) {
            CAPTURE(processes, n);
            std::vector<std::vector<std::string>> texts(static_cast<std::size_t>(processes));
            std::vector<std::vector<double>> numbers(texts.size()), ranges(texts.size());
            std::vector<int> calls(static_cast<std::size_t>(n));
            run_team(processes, [&](Team& team) {
                const auto r = static_cast<std::size_t>(team.rank());
                texts[r] = shared_out(team, n, [&](int64_t i) {
                    ++calls[static_cast<std::size_t>(i)];
                    return "of " + std::to_string(i);
                });
                ranges[r] = shared_ranges(team, n, [](int64_t begin, int64_t end) {
                    std::vector<double> some;
                    for (int64_t i = begin; i < end; ++i)
                        some.push_back(static_cast<double>(i * i));
                    return some;
                });
                numbers[r] = shared_numbers(team, n, [](int64_t i) {
                    return std::vector<double>(static_cast<std::size_t>(i % 3), static_cast<double>(i));
                });
            });
            CHECK(calls == std::vector<int>(static_cast<std::size_t>(n), 1));
            std::vector<std::string> wanted;
            std::vector<double> wanted_numbers, squares;
            for (int64_t i = 0; i < n; ++i) {
                wanted.push_back("of " + std::to_string(i));
                squares.push_back(static_cast<double>(i * i));
                wanted_numbers.insert(wanted_numbers.end(), static_cast<std::size_t>(i % 3),
                                      static_cast<double>(i));
            }
            for (std::size_t r = 0; r < texts.size(); ++r) {
                CHECK(texts[r] == wanted);
                CHECK(numbers[r] == wanted_numbers);
                CHECK(ranges[r] == squares);
            }
        }
}

TEST_CASE("team: an error in one process is an error in all", "[nn][team]") {
    for (const int64_t which : {0, 2}) {
        std::vector<std::string> all(3);
        run_team(3, [&](Team& team) {
            together(team, [] {});
            try {
                together(team, [&] { autograd::check(team.rank() != which, "no such file"); });
            } catch (const autograd::Error& error) {
                all[static_cast<std::size_t>(team.rank())] = error.what();
            }
        });
        CHECK(all ==
              std::vector<std::string>(3, which == 0 ? "no such file" : "process 2 of 3: no such file"));
    }
}

TEST_CASE("team: one yes is enough", "[nn][team]") {
    for (const int64_t which : {-1, 0, 2}) {
        std::vector<int> all(3);
        run_team(3, [&](Team& team) {
            all[static_cast<std::size_t>(team.rank())] = any(team, team.rank() == which);
        });
        CHECK(all == std::vector<int>(3, which >= 0));
    }
}

// The smallest of three times, of the slowest process; what is longer than 4 MiB would take in proportion.
TEST_CASE("team: the time to send is measured with messages to all others", "[nn][team]") {
    const auto calls_of = [](int64_t bytes) {
        std::string once = "barrier ";
        for (const std::string what : {"to ", "from "})
            for (const int r : {0, 2, 3})
                once += autograd::join(what, r, ": ", bytes, " ");
        return once + once + once;
    };
    Recorded few, many, none;
    CHECK(seconds_to_send(few, 3000) == 7);
    CHECK(few.calls == calls_of(1000));
    CHECK(seconds_to_send(many, 3 * (int64_t{1} << 24)) == 28);
    CHECK(many.calls == calls_of(1 << 22));
    CHECK(seconds_to_send(none, 0) == 0);
    CHECK(seconds_to_send(alone(), 3000) >= 0);
}
