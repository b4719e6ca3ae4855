// The benchmarks run and print numbers. The values depend on the machine.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// The path of a benchmark, for `run` and `must_run`.
std::string at(const std::string& program) {
    const std::filesystem::path folder = environment("PLAINGRAD_BENCH", "build/bench");
    return std::filesystem::relative(folder / program, apps());
}
Words lines_of_bench(const std::string& program, const Words& arguments, const With& with = {}) {
    return lines_of(must_run(at(program), arguments, with).out);
}

bool has_python() { return std::system("command -v python3 >/dev/null") == 0; }

// NaN and infinity do not match.
bool positive(const std::string& text) {
    const double x = std::strtod(text.c_str(), nullptr);
    return std::isfinite(x) && x > 0;
}

}  // namespace

TEST_CASE("bench: a benchmark prints the columns that against.py compares, and numbers in them", "[bench]") {
    struct Case {
        std::string program, arguments;
        std::string head, row;  // the names of all columns, and how a row begins; positive numbers follow
    };
    const std::string attention = "length,mask,threads,forward_ms,both_ms,gflops,share_of_peak,memory_mib",
                      generation = "model,precision,threads,what,tokens_per_second,limit,share";
    for (const Case& c : std::vector<Case>{
             {"training", "--workload toy --steps 1",
              "workload,threads,ms_per_step,tokens_per_second,gflops,share_of_peak,memory_mib", "toy,1,"},
             {"attention", "--length 40 --mask causal", attention, "40,causal,1,"},
             {"attention", "--length 40 --mask full", attention, "40,full,1,"},
             {"decoding", "--batch 1",
              "threads,search,batch,tokens_per_second,bytes_per_token,tokens_per_second_of_reading",
              "1,greedy,1,"},
             {"generation", "--model tiny", generation, "tiny,float32,1,tokens,"},
             {"generation", "--model tiny --prompt 64 --precision bf16", generation,
              "tiny,bf16,1,prompt 64,"},
         }) {
        std::istringstream words(c.arguments + " --threads 1 --csv");
        INFO(c.program << " " << c.arguments);
        const Words lines =
            lines_of_bench("bench_" + c.program, Words(std::istream_iterator<std::string>(words), {}));
        REQUIRE(lines.size() == 2);
        CHECK(lines[0] == c.head);
        REQUIRE(lines[1].starts_with(c.row));
        const Words row = fields(lines[1], ',');
        REQUIRE(row.size() == fields(lines[0], ',').size());
        for (std::size_t i = fields(c.row, ',').size(); i < row.size(); ++i)
            CHECK(positive(row[i]));
    }
}

TEST_CASE("bench: in turns with another program, milliseconds and memory for each number read", "[bench]") {
    for (const auto& [program, which] :
         std::vector<std::pair<std::string, Words>>{{"bench_training", {"--workload", "toy"}},
                                                    {"bench_decoding", {}},
                                                    {"bench_attention", {"--length", "40", "--mask", "full"}},
                                                    {"bench_generation", {"--model", "tiny"}}}) {
        INFO(program);
        const Words lines =
            lines_of_bench(program, joined(which, {"--turns", "--threads", "1"}), {.input = "1\n2\n"});
        REQUIRE(lines.size() == 3);
        CHECK(lines[0].starts_with("ready "));
        CHECK(positive(lines[1]));
        CHECK(positive(lines[2].substr(lines[2].find(' '))));
    }
    CHECK(run(at("bench_training"), {"--turns"}).status == 2);                     // which workload?
    CHECK(run(at("bench_attention"), {"--turns", "--length", "40"}).status == 2);  // which mask?
}

TEST_CASE("bench_decoding: sentences of the same length from every search, for others to compare",
          "[bench]") {
    for (const std::string search : {"greedy", "beam", "sampling"}) {
        const Folder folder;
        must_run(at("bench_decoding"), {"--batch", "2", "--search", search, "--save", folder.path});
        CHECK(std::filesystem::file_size(folder / "model.safetensors") > 1'000'000);
        for (const auto& [name, length] : {std::pair{"source.txt", 16}, std::pair{"written.txt", 32}}) {
            const Words lines = lines_of(content(folder / name));
            REQUIRE(lines.size() == 2);
            for (const std::string& line : lines)
                CHECK(std::count(line.begin(), line.end(), ' ') == length - 1);
        }
    }
}

TEST_CASE("bench-peers: the programs to compare with have our workloads and sizes", "[bench]") {
    if (!has_python())
        SKIP("there is no python3");
    const std::string script =
        "import sys; sys.path.insert(0, 'tests/bench/peers'); from shapes import TRAINING\n"
        "for name, s in TRAINING.items(): print(name, s[0], *(f'{float(x):g}' for x in s[1:]))";
    CHECK(must_run(at("bench_training"), {"--sizes"}).out ==
          must_run("/usr/bin/env", {"python3", "-c", script}, {.called = "env"}).out);
}

TEST_CASE("bench-peers: what is not installed is skipped", "[bench]") {
    if (!has_python())
        SKIP("there is no python3");
    const std::string build = environment("PLAINGRAD_BENCH", "build/bench") + "/..";
    const auto peers = [&](const std::string& folder) {
        return run(
            "/usr/bin/env",
            {"python3", "tests/bench/peers", "--build", folder, "--python", "false", "--llmc", "nowhere"},
            {.called = "env"});
    };
    const Words lines = lines_of(peers(build).out);
    REQUIRE(lines.size() == 4);
    for (std::size_t i = 0;
         const char* name : {"no PyTorch", "no CTranslate2", "no llama.cpp", "no llm.c in nowhere"})
        CHECK(contains(lines[i++], name));
    CHECK(peers("/nowhere").status == 2);
}

// The programs are scripts that print rows. There `$number` is the turn's one of `numbers`, and `$2` and
// `$4` are the values of `--threads` and `--search`.
TEST_CASE("bench-against: medians, ratios over pairs, rows that one tree lacks, and the status", "[bench]") {
    if (!has_python())
        SKIP("there is no python3");
    const Folder folder;
    for (const std::string tree : {"old", "new"})
        std::filesystem::create_directory(folder / tree);
    const auto fake = [&](const std::string& file, const std::string& numbers, const std::string& rows) {
        const std::string program = folder.write(
            file, "#!/bin/sh\nn=$(cat \"$0.n\" 2>/dev/null || echo 1)\necho $((n + 1)) >\"$0.n\"\n" +
                      ("number=$(echo " + numbers + " | cut -d ' ' -f $n)\ncat <<end\n" + rows + "end\n"));
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    };
    const auto against = [&](const std::string& one, const std::string& other, const std::string& only) {
        for (const std::string tree : {"old", "new"})
            std::filesystem::remove(folder / tree + "/bench_" + only + ".n");
        return run("/usr/bin/env",
                   {"python3", "tests/bench/peers/against.py", folder / one, folder / other, "--pairs", "3",
                    "--only", only},
                   {.called = "env"});
    };

    // Of times: 10/5, 20/40 and 30/20, whose median is 1.5, while that of either tree is 20.
    const std::string head = "length,mask,threads,forward_ms,both_ms\n";
    fake("old/bench_attention", "10 20 30", head + "64,full,1,$number,10.3\n128,full,1,1,1\n");
    fake("new/bench_attention", "5 40 20", head + "64,full,1,$number,10.6\n256,full,1,1,1\n");
    const Result times = against("old", "new", "attention");
    INFO(times.out << times.err);
    CHECK(times.status == 0);
    const Words lines = lines_of(times.out);
    REQUIRE(lines.size() == 9);
    for (const auto& [line, pattern] :
         {std::pair{2, R"(64 full threads 1 forward_ms +20\.000 +20\.000 +1\.500 +\(0\.500 - 2\.000\))"},
          {3, R"(64 full threads 1 both_ms +10\.300 +10\.600 +0\.972 .*)"},
          {4, "128 full threads 1 forward_ms +only in the old tree"},
          {6, "256 full threads 1 forward_ms +only in the new tree"}})
        CHECK(std::regex_match(lines[static_cast<std::size_t>(line)],
                               std::regex(std::string("bench_attention ") + pattern)));
    CHECK(lines[8] == "slowest: bench_attention 64 full threads 1 both_ms, 0.972 times as fast");

    // Of speeds, more is faster; each search and number of threads is a run.
    for (const auto& [tree, speed] : {std::pair{"old", "200"}, {"new", "190"}})
        fake(std::string(tree) + "/bench_decoding", "",
             std::string("threads,search,batch,tokens_per_second\n$2,$4,1,") + speed + "\n");
    const Result speeds = against("old", "new", "decoding");
    CHECK(speeds.status == 1);
    CHECK(contains(speeds.out, "bench_decoding beam 1 threads 1 tokens_per_second"));
    CHECK(contains(speeds.out, ", 0.950 times as fast; at least 0.97"));
    CHECK(against("new", "old", "decoding").status == 0);

    fake("new/bench_attention", "", head + "512,full,1,1,1\n");
    CHECK(contains(against("old", "new", "attention").err, "no row is in both trees"));
    fake("new/bench_attention", "", "end\nexit 3\n");
    CHECK(contains(against("old", "new", "attention").err, "ended with status 3"));
    CHECK(against("old", "old", "attention").status == 2);
}

TEST_CASE("bench_profile: every kernel's time, the products by shape, and what is not arithmetic",
          "[bench]") {
    const Words toy = {"--workload", "toy", "--steps", "1"};
    const std::string csv = must_run(at("bench_profile"), joined(toy, {"--csv"})).out;
    INFO(csv);
    CHECK(contains(csv, "\ngemm: all products,"));
    CHECK(contains(csv, "\nattention_backward,6,"));  // 2 in the encoder, 4 in the decoder
    CHECK(contains(csv, "\n  20 x 256 x 128,"));
    for (const auto& [precision, peak] : {std::pair{"float32", "fma"}, std::pair{"bf16", "bf16"}}) {
        const std::string out = must_run(at("bench_profile"), joined(toy, {"--precision", precision})).out;
        INFO(out);
        CHECK(std::regex_search(out, std::regex(std::string(peak) + " peak [1-9][0-9]* GFLOP/s\n")));
        for (const std::string name : {"reverse", "toy", "char_small"}) {
            std::smatch found;
            REQUIRE(std::regex_search(
                out, found, std::regex("\n\\| " + name + " +\\| +([0-9.]+) \\| +-?[0-9.e-]+ \\|\n")));
            CHECK(positive(found[1]));
        }
    }
}

TEST_CASE("bench_blocks: a row for each configuration", "[bench]") {
    const Folder folder;
    const Words options = {folder.write("text.txt", repeated("the quick brown fox, ", 40)), "--program",
                           (std::filesystem::absolute(apps()) / "generate").string(), "--steps", "1"};
    const std::string loss = R"((\d\.\d{3}))",
                      printed = lines_of_bench("bench_blocks", joined(options, {"2017+grouped"})).at(2);
    const std::regex row(R"(\| 2017\+grouped \| [\d,]+ \| 608 \| 0\.003 \| )" + loss + R"( \()" + loss +
                         ", " + loss + ", " + loss + R"(\) \| 1\.00 \| 1,024 \|)");
    std::smatch found;  // refers to what is printed
    REQUIRE(std::regex_match(printed, found, row));
    CHECK(std::stod(found[1]) ==
          Approx((std::stod(found[2]) + std::stod(found[3]) + std::stod(found[4])) / 3).margin(1.1e-3));
    CHECK(run(at("bench_blocks"), joined(options, {"2018"})).status == 2);
}

TEST_CASE("bench_step_staircase: one training step, from scalars in Python to all threads", "[bench]") {
    if (!has_python())
        SKIP("there is no python3");
    // It fails by itself if losses or gradients differ.
    const Words lines =
        lines_of_bench("bench_step_staircase", {"--sequences", "1", "--python-steps", "2", "--csv"});
    REQUIRE(lines.size() >= 5);
    CHECK(lines[1].starts_with("1 scalars in Python,"));
    CHECK(lines[2].starts_with("2 one page,"));
    CHECK(std::any_of(lines.begin(), lines.end(),
                      [](const std::string& line) { return contains(line, "fused ops,"); }));
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const Words row = fields(lines[i], ',');
        REQUIRE(row.size() == 5);
        CHECK(positive(row[1]));
        CHECK(positive(row[3]));
    }
    CHECK(run(at("bench_step_staircase"), {"--python", "false"}).status == 1);
}
