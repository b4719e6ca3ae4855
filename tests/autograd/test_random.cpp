// Random numbers: the same everywhere, independent where they should be, and with the right distribution.
#include "autograd/base/random.h"

#include <algorithm>
#include <limits>
#include <set>

#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr uint64_t kMany = 100000;

// The correlation of f(0), f(1), ... and g(0), g(1), ..., in standard deviations from 0.
template <class F, class G>
double correlation(F f, G g) {
    double sum = 0;
    for (uint64_t i = 0; i < kMany; ++i)
        sum += (f(i) - 0.5) * (g(i) - 0.5);
    return sum * 12 / std::sqrt(static_cast<double>(kMany));
}

}  // namespace

// Computed once; every platform and compiler must give these.
TEST_CASE("random: golden numbers", "[random]") {
    struct Golden {
        uint64_t i, bits;
        double uniform, normal;
        int64_t below_1000;
    };
    const auto check_stream = [](const Rng& rng, const std::vector<Golden>& expected) {
        for (const Golden& g : expected) {
            CHECK(rng.bits(g.i) == g.bits);
            CHECK(rng.uniform(g.i) == g.uniform);
            CHECK(rng.normal(g.i) == g.normal);
            CHECK(rng.below(g.i, 1000) == g.below_1000);
        }
    };
    const Rng rng(42), weight = rng.fork("encoder").fork(0).fork("weight");
    CHECK(rng.state() == 0xbdd732262feb6e95);  // SplitMix64's first number for seed 42
    check_stream(rng,
                 {{0, 0xe975338e8c6cfca0, 0.91194460134686384, 0.11016797221332501, 911},
                  {1, 0xc2097ab3308b052d, 0.75795714258905988, 0.69193533743781821, 757},
                  {2, 0x53cc78faed12c08f, 0.32733875394940082, 0.97489176471424288, 327},
                  {uint64_t(1) << 40, 0xaaa0199cbf65ce3e, 0.66650543286177488, 0.95480784545885056, 666}});
    CHECK(weight.state() == 0x9a95b9456207322a);
    check_stream(weight,
                 {{0, 0x38666093eadf4158, 0.22031215296999296, 0.44590895748389137, 220},
                  {1, 0xdbe06facc4c49ede, 0.85889337509140018, 0.28252564092192994, 858},
                  {2, 0x736267f157052405, 0.45072030679786623, -0.69131447675290625, 450},
                  {uint64_t(1) << 40, 0x34a57d6503c73140, 0.20565017429524057, 0.26391350837132166, 205}});
    CHECK((rng.key().a == 0x65107204 && rng.key().b == 0x57e1faba));
    CHECK((weight.key().a == 0x29b2864b && weight.key().b == 0x6d4af73b));
    CHECK(rng.permutation(10) == std::vector<int64_t>{2, 1, 9, 4, 6, 0, 7, 3, 5, 8});
}

TEST_CASE("random: a fork depends only on its path", "[random]") {
    const Rng rng(42);
    CHECK(rng.fork("a").state() == Rng(42).fork("a").state());
    CHECK(Rng::from_state(rng.fork("a").state()).bits(7) == rng.fork("a").bits(7));
    std::set<uint64_t> states = {rng.state()};
    for (uint64_t i = 0; i < 1000; ++i) {
        states.insert(rng.fork(i).state());
        states.insert(rng.fork(i).fork(i).state());
        states.insert(rng.fork(std::to_string(i)).state());
        states.insert(Rng(i).state());
    }
    for (int bit = 10; bit < 64; ++bit)  // numbers of any size, as steps and elements are
        states.insert(rng.fork(uint64_t{1} << bit).state());
    CHECK(states.size() == 4054);  // Rng(42) is among those of Rng(i)
    CHECK(rng.fork("a").fork("b").state() != rng.fork("b").fork("a").state());
    CHECK(rng.fork("ab").state() != rng.fork("a").fork("b").state());
    CHECK(rng.fork("").state() != rng.state());
    CHECK(rng.fork("a").bits(0) != rng.bits(0));
}

TEST_CASE("random: streams are uncorrelated, with neighbours and with themselves shifted", "[random]") {
    const Rng rng(1);
    const auto stream = [](const Rng& r, uint64_t shift = 0) {
        return [r, shift](uint64_t i) { return r.uniform(i + shift); };
    };
    const auto own = stream(rng);
    std::vector<double> sigmas;
    for (uint64_t i = 0; i < 4; ++i) {
        sigmas.push_back(correlation(own, stream(rng, i + 1)));
        sigmas.push_back(correlation(own, stream(rng.fork(i))));
        sigmas.push_back(correlation(own, stream(Rng(i + 2))));
        sigmas.push_back(correlation(stream(rng.fork(i)), stream(rng.fork(i + 1))));
        sigmas.push_back(correlation(stream(rng.fork(i)), stream(rng.fork(i + 1), 1)));
        sigmas.push_back(correlation(stream(rng.fork("w" + std::to_string(i))), stream(rng.fork("w"))));
    }
    for (const double sigma : sigmas)
        CHECK(std::abs(sigma) <= 4);
}

TEST_CASE("random: uniform", "[random]") {
    const Rng rng(2);
    double sum = 0, squares = 0;
    int outside = 0, buckets[20] = {};
    for (uint64_t i = 0; i < kMany; ++i) {
        const double u = rng.uniform(i);
        outside += !(u >= 0 && u < 1);
        ++buckets[static_cast<int>(u * 20)];
        sum += u;
        squares += u * u;
    }
    CHECK(outside == 0);
    const double n = static_cast<double>(kMany);
    CHECK(std::abs(sum / n - 0.5) <= 4 * std::sqrt(1 / 12.0 / n));
    CHECK(std::abs(squares / n - 1 / 3.0) <= 4 * std::sqrt(4 / 45.0 / n));
    double chi = 0;
    for (const int count : buckets)
        chi += (count - n / 20) * (count - n / 20) / (n / 20);
    CHECK(chi <= 43.8);  // 19 degrees of freedom, one in a thousand
}

TEST_CASE("random: each bit is set half of the time", "[random]") {
    const Rng rng(3);
    for (int bit = 0; bit < 64; ++bit) {
        int64_t set = 0;
        for (uint64_t i = 0; i < 10000; ++i)
            set += static_cast<int64_t>(rng.bits(i) >> bit & 1);
        CHECK(std::abs(set - 5000) <= 4 * 50);
    }
}

TEST_CASE("random: normal, tails included", "[random]") {
    const Rng rng(4);
    double sum = 0, squares = 0, cubes = 0, fourths = 0;
    int beyond[5] = {};
    for (uint64_t i = 0; i < kMany; ++i) {
        const double x = rng.normal(i);
        sum += x, squares += x * x, cubes += x * x * x, fourths += x * x * x * x;
        for (int k = 0; k < 5; ++k)
            beyond[k] += x > k;
    }
    const double n = static_cast<double>(kMany);
    CHECK(std::abs(sum / n) <= 4 / std::sqrt(n));
    CHECK(std::abs(squares / n - 1) <= 4 * std::sqrt(2 / n));
    CHECK(std::abs(cubes / n) <= 4 * std::sqrt(15 / n));
    CHECK(std::abs(fourths / n - 3) <= 4 * std::sqrt(96 / n));
    for (int k = 0; k < 5; ++k) {
        const double p = std::erfc(k / std::sqrt(2.0)) / 2;
        CHECK(std::abs(beyond[k] - p * n) <= 4 * std::sqrt(p * n) + 1);
    }
}

TEST_CASE("random: below stays below its limit and is uniform", "[random]") {
    const Rng rng(5);
    for (const int64_t n : {1, 2, 3, 7, 1000}) {
        std::vector<int64_t> counts(static_cast<std::size_t>(n));
        int outside = 0;
        for (uint64_t i = 0; i < 20000; ++i) {
            const int64_t x = rng.below(i, n);
            outside += !(x >= 0 && x < n);
            ++counts[static_cast<std::size_t>(std::clamp<int64_t>(x, 0, n - 1))];
        }
        CHECK(outside == 0);
        const double expected = 20000.0 / static_cast<double>(n);
        for (const int64_t count : counts)
            CHECK(std::abs(static_cast<double>(count) - expected) <= 5 * std::sqrt(expected) + 1);
    }
    const int64_t huge = std::numeric_limits<int64_t>::max();
    CHECK(rng.below(0, huge) > huge / 1000000);
}

TEST_CASE("random: a permutation is valid, and every one occurs", "[random]") {
    CHECK(Rng(6).permutation(0).empty());
    for (const int64_t n : {0, 1, 2, 37, 1000}) {
        std::vector<int64_t> order = Rng(6).permutation(n), sorted = order;
        std::sort(sorted.begin(), sorted.end());
        int wrong = static_cast<int64_t>(order.size()) != n;
        for (std::size_t i = 0; i < sorted.size(); ++i)
            wrong += sorted[i] != static_cast<int64_t>(i);
        CHECK(wrong == 0);
        CHECK((n < 37 || order != sorted));
    }
    int counts[6] = {};  // of the six orders of three
    for (uint64_t i = 0; i < 6000; ++i) {
        const std::vector<int64_t> p = Rng(i).permutation(3);
        ++counts[p[0] * 2 + (p[1] > p[2])];
    }
    for (const int count : counts)
        CHECK(std::abs(count - 1000) <= 4 * 29);
}
