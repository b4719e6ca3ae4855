// What processes tell each other, built on the calls of a team.
#include "nn/parallel/data_parallel.h"

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

TEST_CASE("team: work that is shared out", "[nn][team]") {
    for (const int64_t processes : {1, 2, 3, 5})
        for (const int64_t n : {0, 1, 3, 7}) {
            CAPTURE(processes, n);
            const auto text_of = [](int64_t i) {
                return i % 3 == 0 ? std::string("\0 9\n", 4)
                                  : std::string(static_cast<std::size_t>(i % 3 - 1), 'x');
            };
            std::vector<std::string> texts;
            std::vector<double> squares;
            for (int64_t i = 0; i < n; ++i)
                texts.push_back(text_of(i)), squares.push_back(static_cast<double>(i * i));
            std::vector<int> calls(static_cast<std::size_t>(n));
            run_team(processes, [&](Team& team) {
                const auto some_texts = shared_ranges(team, n, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                        ++calls[static_cast<std::size_t>(i)];
                    return std::vector(texts.begin() + begin, texts.begin() + end);
                });
                const auto numbers = shared_ranges(team, n, [&](int64_t begin, int64_t end) {
                    return std::vector(squares.begin() + begin, squares.begin() + end);
                });
                autograd::check(some_texts == texts && numbers == squares, "other work");
            });
            CHECK(calls == std::vector<int>(static_cast<std::size_t>(n), 1));
        }
}

TEST_CASE("team: an error in one process is an error in all, and one yes is enough", "[nn][team]") {
    for (const int64_t which : {-1, 0, 2}) {
        std::vector<std::string> all(3);
        std::vector<int> yes(3);
        run_team(3, [&](Team& team) {
            const auto r = static_cast<std::size_t>(team.rank());
            yes[r] = any(team, team.rank() == which);
            try {
                together(team, [&] { autograd::check(team.rank() != which, "no such file"); });
            } catch (const autograd::Error& error) {
                all[r] = error.what();
            }
        });
        CHECK(yes == std::vector<int>(3, which >= 0));
        CHECK(all == std::vector<std::string>(3, which < 0    ? ""
                                                 : which == 0 ? "no such file"
                                                              : "process 2 of 3: no such file"));
    }
}
