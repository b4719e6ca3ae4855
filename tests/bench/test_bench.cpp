// The benchmarks run and print numbers. The values depend on the machine.
#include <cmath>
#include <filesystem>

#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result bench(const std::string& program, const Words& arguments, const With& with = {}) {
    const std::filesystem::path folder = environment("PLAINGRAD_BENCH", "build/bench");
    return run(std::filesystem::relative(folder / program, apps()), arguments, with);
}

Words columns(const std::string& line) {
    Words all;
    std::istringstream stream(line);
    for (std::string column; std::getline(stream, column, ',');)
        all.push_back(column);
    return all;
}

// NaN and infinity do not match.
bool positive(const std::string& text) {
    const double x = std::strtod(text.c_str(), nullptr);
    return std::isfinite(x) && x > 0;
}

}  // namespace

TEST_CASE("bench_training: a step of a workload, as a row of numbers", "[bench]") {
    const Result result =
        bench("bench_training", {"--workload", "toy", "--steps", "1", "--threads", "1", "--csv"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const Words lines = lines_of(result.out);
    REQUIRE(lines.size() == 2);
    const Words names = columns(lines[0]), row = columns(lines[1]);
    REQUIRE(row.size() == names.size());
    CHECK(row[0] == "toy");
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
        INFO(names[i] << " is " << row[i]);
        CHECK(positive(row[i]));
    }
}

TEST_CASE("bench: in turns with another program, milliseconds and memory for each number read", "[bench]") {
    const std::string program = GENERATE("bench_training", "bench_decoding");
    Words arguments = {"--turns", "--threads", "1"};
    if (program == "bench_training")
        arguments.insert(arguments.end(), {"--workload", "toy"});
    const Result result = bench(program, arguments, {.input = "1\n2\n"});
    INFO(program << ": " << result.err);
    REQUIRE(result.status == 0);
    const Words lines = lines_of(result.out);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].starts_with("ready "));
    CHECK(positive(lines[1]));
    CHECK(positive(lines[2]));
}

TEST_CASE("bench_profile: every kernel's time, and the products by shape", "[bench]") {
    const Result result = bench("bench_profile", {"--workload", "toy", "--steps", "1", "--csv"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.out.find("gemm: all products,") != std::string::npos);
    CHECK(result.out.find("attention_backward,6.0,") !=
          std::string::npos);  // 2 in the encoder, 4 in the decoder
    CHECK(result.out.find("  20 x 256 x 128,") != std::string::npos);
}
