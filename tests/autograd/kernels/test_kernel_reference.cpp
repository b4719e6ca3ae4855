// Every call of a kernel (calls.h) against its formulas in double, at sizes below, at and beyond its blocks:
// 16 lanes, 64 rows of a sum and of layer norm's gains, 256 columns of a short row, 1024 of a chunk of sums,
// 4096 elements of a long sum, 64 queries of attention's backward, 16 and 48 keys (here one more), which fill
// their rows of scores.
// (Exactly, in a defined order: test_gemm.cpp and test_sums.cpp. Functions of one number: test_math.cpp.)
//
// No kernel can be forgotten: the test reads kernels.h, and each kernel must be called in calls_*.cpp.
#include <fstream>
#include <regex>

#include "tests/autograd/kernels/calls.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

struct Size {
    int64_t rows, n;
};
constexpr Size kSizes[] = {{1, 1},     {3, 16},  {16, 17},  {63, 5},  {64, 33},  {65, 3},
                           {129, 7},   {200, 2}, {1100, 3}, {5, 257}, {2, 1025}, {2, 4099},
                           {33, 2048}, {16, 15}, {17, 47},  {3, 17},  {301, 67}, {130, 1031}};

// Of attention in one sentence whose last key, unless it is causal, is padding. Gradients are added to.
double attention_error(int64_t queries, int64_t keys, bool causal, double allowed_in_bf16 = 0.2,
                       int64_t d = 3, Real growth = 0) {
    Run r(1, 1, {}, true, true);
    AttentionCase c(r, d);
    const auto count = static_cast<int32_t>(causal ? keys : keys - 1);
    c.a.batch = 1, c.a.queries = queries, c.a.keys = keys;
    c.a.mask = {.key_counts = &count, .causal = causal};
    c.growth = growth;
    if (growth > 0)
        c.error[0] *= 10;
    c.error[1] = allowed_in_bf16;
    attention_both_ways(r, c);
    return r.error();
}

// A source file without its comments.
std::string code(const std::string& path) {
    std::ifstream file(path);  // tests run in the repository's root
    REQUIRE(file.is_open());
    std::string text;
    for (std::string line; std::getline(file, line);)
        text += line.substr(0, line.find("//")) + '\n';
    return text;
}

}  // namespace

TEST_CASE("kernels: each equals its formula, below, at and beyond its block sizes", "[kernels]") {
    for (const Call& c : all_calls())
        for (const Size size : kSizes)
            for (const bool accumulate : {false, true}) {
                Run r(size.rows, size.n, {}, accumulate, true);
                c.call(r);
                INFO(c.name << ", " << size.rows << " x " << size.n << (accumulate ? ", added" : ""));
                CHECK(r.error() <= 1);  // no result is without a formula
            }
    for (const Products& products : {cpu().float32, cpu().bf16})
        CHECK(products.fma_chains(1000) >= 1000);
}

TEST_CASE("kernels: a class that cannot be leaves the loss of the others as it is", "[kernels]") {
    const std::vector<Real> x = {1, -HUGE_VALF, 2};
    const std::vector<int32_t> target = {2};
    std::vector<Real> loss(1), statistics(2), dx(3);
    cpu().cross_entropy(1, 3, x.data(), target.data(), -1, 0, loss.data(), statistics.data());
    cpu().cross_entropy_backward(1, 3, x.data(), target.data(), -1, 0, statistics.data(), 1, {dx.data()});
    const Row p = reference::softmax({1, -HUGE_VAL, 2});
    CHECK(worst_error(loss, Row{-std::log(p[2])}) <= 1e-6);
    CHECK(worst_error(dx, Row{p[0], 0, p[2] - 1}) <= 1e-6);
}

TEST_CASE("kernels: copies of two matrices whose rows or columns are next to each other or further apart",
          "[kernels]") {
    for (const auto& [rows, n] : kSizes) {
        const int64_t size = 2 * rows * n;
        const std::vector<Real> x = numbers(2 * size, 1), before = numbers(2 * size, 2);
        const int64_t strides[][2] = {{2 * n, 1}, {2 * n, 2}, {1, 2 * rows}, {2, 2 * rows}};
        for (const int64_t count : {1, 2})
            for (const auto& from : strides)
                for (const auto& to : strides)
                    for (const bool accumulate : {false, true}) {
                        std::vector<Real> y = before, expected = before;
                        cpu().copy(
                            {{1, count, rows, n}, {0, size, from[0], from[1]}, {0, size, to[0], to[1]}},
                            x.data(), {y.data(), accumulate});
                        for (int64_t i = 0; i < count * rows * n; ++i) {
                            const int64_t matrix = i / (rows * n) * size, r = i / n % rows, c = i % n;
                            Real& place = expected[at(matrix + r * to[0] + c * to[1])];
                            place = x[at(matrix + r * from[0] + c * from[1])] + (accumulate ? place : 0);
                        }
                        INFO(count << " of " << rows << " x " << n << (accumulate ? ", added" : ""));
                        CHECK(same_bits(y, expected));
                    }
    }
}

// Blocks of 16, 64 and 1024 queries; panels of 64 keys and blocks of 512.
TEST_CASE("kernels: attention of long texts equals its formula", "[kernels][attention][bf16]") {
    const auto check = [](double error, int64_t queries, int64_t keys) {
        INFO(queries << " queries, " << keys << " keys");
        CHECK(error <= 1);
    };
    for (const auto& [queries, n] : kSizes)
        check(attention_error(queries, std::min<int64_t>(n + 1, 130), false), queries, n);
    const Size sizes[] = {{17, 64},  {64, 511},    {65, 512},  {129, 513},
                          {1024, 1}, {1025, 1030}, {70, 5200}, {33, 10300}};
    for (const auto& [queries, n] : sizes)
        for (const bool causal : {false, true})
            check(attention_error(queries, causal ? std::max(queries, n) : n + 1, causal), queries, n);
    // Each block of keys has larger scores than all before, up to 100, whose rounding error of 4e-6 is an
    // error of the weight's last digits.
    for (const int64_t keys : {513, 1024, 1537})
        check(attention_error(40, keys, true, 1, 3, 40), 40, keys);
    for (const int64_t keys : {512, 513, 1030, 1537})
        for (const bool causal : {false, true})
            check(attention_error(65, keys, causal, 0.02), 65, keys);
    // Whole Vecs, and an odd number of queries that, as pairs, fill their room.
    for (const int64_t queries : {15, 16, 63, 64, 127})
        for (const int64_t d : {15, 16, 63, 64})
            check(attention_error(queries, queries, true, 0.05, d), queries, queries);
}

TEST_CASE("kernels: each has a call with formulas and a row in the profile", "[kernels]") {
    const std::string header = code("autograd/kernels/kernels.h");
    const std::regex declaration(R"(\(\*([a-z_0-9]+)\)\()");
    std::string calls;
    for (const char* family : {"elementwise", "rows", "moving", "attention", "gemm"})
        calls += code("tests/autograd/kernels/calls_" + std::string(family) + ".cpp");
    const std::string clocks = code("tests/bench/bench_profile.cpp");
    int count = 0;
    for (std::sregex_iterator i(header.begin(), header.end(), declaration), end; i != end; ++i, ++count) {
        const std::string name = (*i)[1];
        if (name == "fma_chains")
            continue;  // it only measures speed
        const bool product = contains(clocks, "&Products::" + name + ">");
        INFO(name);
        CHECK(std::regex_search(calls, std::regex((product ? "[.]" : "cpu[(][)][.]") + name + "\\b")));
        CHECK((product || contains(clocks, "CLOCK(" + name + ")")));
    }
    CHECK(count >= 26);
}
