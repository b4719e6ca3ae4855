// parallel_for: every index once, chunks that do not depend on the number of threads, nesting, exceptions,
// several callers; and the processor's rounding control.
#include "autograd/base/parallel.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "autograd/base/system.h"
#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

using Chunks = std::vector<std::pair<int64_t, int64_t>>;

Chunks chunks(int64_t begin, int64_t end, int64_t grain) {
    std::mutex mutex;
    Chunks list;
    parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
        const std::lock_guard lock(mutex);
        list.emplace_back(from, to);
    });
    std::sort(list.begin(), list.end());
    return list;
}

Chunks expected_chunks(int64_t begin, int64_t end, int64_t grain) {
    Chunks list;
    for (int64_t from = begin; from < end; from += grain)
        list.emplace_back(from, std::min(end, from + grain));
    return list;
}

}  // namespace

TEST_CASE("parallel_for: the chunks are a function of its arguments", "[parallel]") {
    for (const int count : {1, 2, 3, 4, 8}) {
        const Threads threads(count);
        REQUIRE(thread_count() == count);
        int wrong = 0;
        for (int64_t n = 0; n <= 200; ++n)
            for (const int64_t grain : {1, 2, 7, 64, 199, 200, 201, 1000})
                for (const int64_t begin : {-5, 0, 1000})
                    wrong += chunks(begin, begin + n, grain) != expected_chunks(begin, begin + n, grain);
        for (int round = 0; round < 50; ++round) {  // what a chunk has written is visible when it returns
            std::vector<int> visits(1003);
            parallel_for(0, 1003, 7, [&](int64_t from, int64_t to) {
                for (int64_t i = from; i < to; ++i)
                    ++visits[static_cast<std::size_t>(i)];
            });
            wrong += std::count(visits.begin(), visits.end(), 1) != 1003;
        }
        CHECK(wrong == 0);
        CHECK(chunks(5, 3, 1).empty());
    }
}

TEST_CASE("parallel_for: a call from inside runs on the calling thread", "[parallel]") {
    for (const int count : {1, 3, 8}) {
        const Threads threads(count);
        std::atomic<int> elsewhere = 0, visits = 0;
        parallel_for(0, 40, 1, [&](int64_t, int64_t) {
            const auto outer = std::this_thread::get_id();
            parallel_for(0, 50, 3, [&](int64_t from, int64_t to) {
                elsewhere += std::this_thread::get_id() != outer;
                visits += static_cast<int>(to - from);
                parallel_for(0, 2, 1,
                             [&](int64_t, int64_t) { elsewhere += std::this_thread::get_id() != outer; });
            });
        });
        CHECK(elsewhere == 0);
        CHECK(visits == 40 * 50);
    }
}

// Each of two chunks waits for the other one to begin: also in the first job of new threads, which may begin
// before the threads do.
TEST_CASE("parallel_for: chunks run at the same time", "[parallel][threads]") {
    for (int job = 0; job < 50; ++job) {
        const Threads one(1), two(2);  // a new pool
        std::atomic<int> begun = 0, met = 0;
        parallel_for(0, 2, 1, [&](int64_t, int64_t) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
            for (++begun; begun < 2 && std::chrono::steady_clock::now() < end;)
                std::this_thread::yield();
            met += begun == 2;
        });
        REQUIRE(met == 2);
    }
}

TEST_CASE("parallel_for: inside of a single chunk it uses all threads", "[parallel]") {
    const Threads threads(3);
    parallel_for(0, 5, 5, [](int64_t, int64_t) {
        CHECK(thread_count() == 3);
        CHECK(chunks(0, 100, 3) == expected_chunks(0, 100, 3));
    });
}

TEST_CASE("parallel_for: a grain of any size", "[parallel][errors]") {
    const Threads threads(3);
    const int64_t most = std::numeric_limits<int64_t>::max();
    for (const int64_t grain : {most, most - 1, most / 2})
        for (const int64_t begin : {int64_t(0), int64_t(7), int64_t(-7)})
            CHECK(chunks(begin, 100, grain) == Chunks{{begin, 100}});
    CHECK(chunks(0, most, most / 2).size() == 3);
    CHECK(chunks(most - 10, most, 4) ==
          Chunks{{most - 10, most - 6}, {most - 6, most - 2}, {most - 2, most}});
    for (const int64_t grain : {0, -1})
        CHECK(contains(error_of([&] { chunks(0, 5, grain); }), "[parallel_for] "));
}

TEST_CASE("set_thread_count: not from inside of parallel_for", "[parallel][errors]") {
    for (const int n : {1, 2}) {  // also where it is one thread that runs all chunks
        const Threads threads(n);
        std::atomic<int> refused = 0;
        parallel_for(0, 10, 1, [&](int64_t, int64_t) {
            refused += contains(error_of([] { set_thread_count(3); }),
                                "[set_thread_count] a parallel_for is running");
        });
        CHECK(refused == 10);
        CHECK(thread_count() == n);
        CHECK_THROWS_AS(parallel_for(0, 10, 1, [](int64_t, int64_t) { throw Error("stop"); }), Error);
        CHECK_NOTHROW(set_thread_count(n));  // it is over, whether it threw or not
        parallel_for(0, 1, 1, [](int64_t, int64_t) { set_thread_count(3); });  // its only chunk may
        CHECK(thread_count() == 3);
    }
}

TEST_CASE("parallel_for: an exception is rethrown, and the pool keeps working", "[parallel]") {
    for (const int count : {1, 2, 8}) {
        const Threads threads(count);
        for (int64_t bad = 0; bad < 100; bad += 9) {
            CHECK_THROWS_WITH(parallel_for(0, 100, 1,
                                           [&](int64_t from, int64_t) {
                                               if (from == bad)
                                                   throw std::runtime_error("chunk " + std::to_string(from));
                                           }),
                              "chunk " + std::to_string(bad));
            CHECK(chunks(0, 100, 3) == expected_chunks(0, 100, 3));
        }
        // From inside of a nested call too, and when every chunk throws.
        const auto fails = [](int64_t, int64_t) { throw std::logic_error("x"); };
        CHECK_THROWS_AS(parallel_for(0, 9, 1, [&](int64_t, int64_t) { parallel_for(0, 9, 1, fails); }),
                        std::logic_error);
        CHECK(chunks(0, 100, 3) == expected_chunks(0, 100, 3));
    }
}

// Then the calling thread computes all chunks alone.
TEST_CASE("parallel_for: an exception is rethrown, also while another thread's job has the pool",
          "[parallel]") {
    const Threads threads(2);
    std::string caught;
    int64_t computed = 0;
    parallel_for(0, 2, 1, [&](int64_t job, int64_t) {
        if (job == 1)
            return;
        std::thread([&] {
            try {
                parallel_for(0, 100, 1, [&](int64_t chunk, int64_t) {
                    ++computed;
                    if (chunk == 63)
                        throw std::runtime_error("chunk 63");
                });
            } catch (const std::runtime_error& error) {
                caught = error.what();
            }
        }).join();
    });
    CHECK(caught == "chunk 63");
    CHECK(computed >= 64);
}

TEST_CASE("parallel_for: several threads may call it at once", "[parallel]") {
    const Threads threads(3);
    std::atomic<int> wrong = 0;
    const auto user = [&](int64_t n) {
        for (int round = 0; round < 200; ++round) {
            std::atomic<int64_t> sum = 0;
            parallel_for(0, n, 3, [&](int64_t from, int64_t to) {
                for (int64_t i = from; i < to; ++i)
                    sum += i;
            });
            wrong += sum != n * (n - 1) / 2;
        }
    };
    std::thread other(user, 157);
    user(203);
    other.join();
    CHECK(wrong == 0);
}

TEST_CASE("two threads may train at once", "[parallel][graph]") {
    const Threads threads(2);
    const auto train = [](uint64_t seed) {
        Tensor w = leaf(random({37, 41}, seed));
        const Tensor x = random({300, 37}, seed + 1);
        for (int step = 0; step < 10; ++step) {
            w.zero_grad();
            mean(sigmoid(linear(x, w))).backward();
            for (int64_t i = 0; i < w.numel(); ++i)
                w.mutable_data()[i] -= w.grad().data()[i];
        }
        return w;
    };
    const Tensor a = train(1), b = train(2);
    Tensor other;
    std::thread thread([&] { other = train(2); });
    const Tensor mine = train(1);
    thread.join();
    CHECK(same_bits(mine, a));
    CHECK(same_bits(other, b));
}

TEST_CASE("a graph may be begun on one thread, and continued and differentiated on another",
          "[parallel][graph]") {
    const auto begin = [](const Tensor& w) {
        Tensor h = w;
        for (int i = 0; i < 100; ++i)  // more ops than the other thread has run
            h = sigmoid(h);
        return h;
    };
    const auto end = [](const Tensor& h) { sum(mul(h, h)).backward(); };
    const Tensor alone = leaf(random({37}, 1)), w = leaf(random({37}, 1));
    end(begin(alone));
    Tensor h;
    std::thread([&] { h = begin(w); }).join();
    std::thread([&] { end(h); }).join();
    REQUIRE(w.has_grad());
    CHECK(same_bits(w.grad(), alone.grad()));
}

TEST_CASE("set_thread_count: refuses numbers that make no sense", "[parallel][errors]") {
    const Threads threads(2);
    for (const int n : {0, -1, 1025}) {
        const std::string error = error_of([&] { set_thread_count(n); });
        CHECK((error.starts_with("[set_thread_count] ") && contains(error, "got " + std::to_string(n))));
        CHECK(thread_count() == 2);
    }
}

#if defined(__x86_64__)

namespace {

uint32_t control() {
    uint32_t value;
    asm volatile("stmxcsr %0" : "=m"(value));
    return value & 0xffc0;  // without the sticky flags
}
void set_control(uint32_t value) { asm volatile("ldmxcsr %0" : : "m"(value)); }

constexpr uint32_t kIeee = 0x1f80, kFlush = 0x9fc0;  // the latter: FTZ and DAZ

// The results of a training step on numbers many of which are subnormal.
struct Subnormal {
    static constexpr double kTiny = kRealIsDouble ? 1e-310 : 1e-40;
    static Tensor tiny(const Shape& shape, uint64_t seed) { return random(shape, seed, -kTiny, kTiny); }

    const Tensor x = tiny({70, 37}, 1), gain = random({37}, 2), bias = random({37}, 3),
                 w = random({37, 5}, 4);
    const Tensor dy = tiny({70, 37}, 5), dproduct = tiny({70, 5}, 6), drow = tiny({1, 1, 37}, 7);

    std::vector<std::vector<Real>> results() const {
        const Tensor x_leaf = leaf(x), gain_leaf = leaf(gain), bias_leaf = leaf(bias), w_leaf = leaf(w);
        layer_norm(x_leaf, gain_leaf, bias_leaf, 1).backward(dy);
        linear(x_leaf, w_leaf).backward(dproduct);
        const Tensor row = reshape(gain_leaf, {1, 1, 37});
        attention(row, row, row).backward(drow);
        std::vector<std::vector<Real>> all;
        for (const Tensor& y : {mul(x, Real(0.5)), sum(x), sum(x, {0}), sum(x, {1}), mean(x, {0}),
                                linear(x, w), relu(x), concat({x, dy}, 1), permute(x, {1, 0}), softmax(x),
                                max(x, 0), x_leaf.grad(), gain_leaf.grad(), bias_leaf.grad(), w_leaf.grad()})
            all.push_back(y.to_vector());
        return all;
    }
};

}  // namespace

TEST_CASE("the caller's flushing of subnormals changes no bit and is restored", "[parallel][bits]") {
    const Subnormal input;
    for (const int count : {1, 3}) {
        const Threads threads(count);
        for_each_isa([&](const char* isa) {
            const std::vector<std::vector<Real>> expected = input.results();
            set_control(kFlush);
            const std::vector<std::vector<Real>> results = input.results();
            const uint32_t after = control();
            set_control(kIeee);
            CHECK(after == kFlush);
            REQUIRE(results.size() == expected.size());
            for (std::size_t i = 0; i < results.size(); ++i) {
                INFO("result " << i << ", " << isa << ", " << count << " threads");
                CHECK(same_bits(results[i], expected[i]));
            }
        });
    }
}

#endif

#if defined(__linux__)
TEST_CASE("processors: the count is of those that this process may run on, not of the machine's",
          "[parallel]") {
    cpu_set_t all, one;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    CHECK(processors() == CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE; cpu-- > 0;)
        if (CPU_ISSET(cpu, &all)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
        }
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const int here = processors();
    const Whereabouts place = where_this_runs();
    REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
    CHECK(here == 1);
    CHECK(!place.machine.empty());
    REQUIRE(place.processors.find_first_not_of("0123456789") == std::string::npos);
    CHECK(CPU_ISSET(std::stoi(place.processors), &one));
    const std::string list = where_this_runs().processors;
    CHECK(std::count(list.begin(), list.end(), ',') == CPU_COUNT(&all) - 1);
}
#endif
