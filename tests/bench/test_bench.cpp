// The benchmarks run and print numbers. The values depend on the machine.
#include <cmath>
#include <filesystem>
#include <regex>

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

void need_python() {
    if (std::system("command -v python3 >/dev/null") != 0)
        SKIP("there is no python3");
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

TEST_CASE("bench_attention: a length, as a row of numbers, and in turns", "[bench]") {
    const Result result = bench("bench_attention", {"--length", "40", "--mask", "causal", "--csv"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const Words lines = lines_of(result.out);
    REQUIRE(lines.size() == 2);
    const Words row = columns(lines[1]);
    REQUIRE(row.size() == columns(lines[0]).size());
    CHECK(row[0] == "40");
    CHECK(row[1] == "causal");
    for (std::size_t i = 2; i < row.size(); ++i)
        CHECK(positive(row[i]));
    CHECK(bench("bench_attention", {"--turns", "--length", "40"}).status == 2);  // which mask?
}

TEST_CASE("bench_decoding: sentences of the same length from every search, for others to compare",
          "[bench]") {
    const std::string search = GENERATE("greedy", "beam", "sampling");
    const Folder folder;
    const Result result =
        bench("bench_decoding", {"--batch", "2", "--search", search, "--save", folder.path});
    INFO(search << ": " << result.err);
    REQUIRE(result.status == 0);
    CHECK(std::filesystem::file_size(folder / "model.safetensors") > 1'000'000);
    for (const auto& [name, length] : {std::pair{"source.txt", 16}, std::pair{"written.txt", 32}}) {
        const Words lines = lines_of(content(folder / name));
        REQUIRE(lines.size() == 2);
        for (const std::string& line : lines)
            CHECK(std::count(line.begin(), line.end(), ' ') == length - 1);
    }
}

TEST_CASE("bench_decoding: far into a text, beside the time to read what a token needs", "[bench]") {
    const Result result = bench("bench_decoding", {"--position", "50", "--threads", "1", "--csv"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const Words lines = lines_of(result.out);
    REQUIRE(lines.size() == 2);
    const Words row = columns(lines[1]);
    REQUIRE(row.size() == 6);
    CHECK(row[1] == "at position 50");
    CHECK(positive(row[3]));
    CHECK(positive(row[5]));
}

TEST_CASE("bench-peers: the programs to compare with have our workloads and sizes", "[bench]") {
    const Words ours = lines_of(bench("bench_training", {"--sizes"}).out);
    REQUIRE(ours.size() > 7);
    Words theirs;
    for (const std::string& line : lines_of(content("tests/bench/peers/shapes.py")))
        if (line.find("\": Shape(") != std::string::npos)
            theirs.push_back(line);
    CHECK(ours == theirs);
}

TEST_CASE("bench-peers: help, what is skipped, and what is computed of the turns", "[bench]") {
    const auto succeeds = [](const std::string& command) { return std::system(command.c_str()) == 0; };
    need_python();
    const Folder folder;
    const std::string build = environment("PLAINGRAD_BENCH", "build/bench") + "/..", log = folder / "log";
    INFO(build);
    CHECK(succeeds("python3 tests/bench/peers/check.py"));
    CHECK(succeeds("python3 tests/bench/peers --help >" + log));
    CHECK(content(log).find("gpt2_512") != std::string::npos);
    CHECK(succeeds("python3 tests/bench/peers --build '" + build + "' --python false --llmc nowhere >" +
                   log));  // it has nothing
    const Words lines = lines_of(content(log));
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].find("no PyTorch") != std::string::npos);
    CHECK(lines[1].find("no CTranslate2") != std::string::npos);
    CHECK(lines[2].find("no llama.cpp") != std::string::npos);
    CHECK(lines[3].find("no llm.c in nowhere") != std::string::npos);
    CHECK(!succeeds("python3 tests/bench/peers --workload none 2>" + log));
    CHECK(!succeeds("python3 tests/bench/peers --build /nowhere 2>" + log));
}

// The programs are scripts that print rows. There `$number` is the turn's one of `numbers`, and `$2` and
// `$4` are the values of `--threads` and `--search`.
TEST_CASE("bench-against: medians, ratios over pairs, rows that one tree lacks, and the status", "[bench]") {
    need_python();
    const Folder folder;
    for (const std::string tree : {"old", "new"})
        std::filesystem::create_directory(folder / tree);
    const auto fake = [&](const std::string& file, const std::string& numbers, const std::string& rows) {
        const std::string count = "n=$(cat \"$0.n\" 2>/dev/null || echo 1)\necho $((n + 1)) >\"$0.n\"\n";
        const std::string choose = "number=$(echo " + numbers + " | cut -d ' ' -f $n)\n";
        const std::string program =
            folder.write(file, "#!/bin/sh\n" + count + choose + "cat <<end\n" + rows + "end\n");
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    };
    const auto against = [&](const std::string& one, const std::string& other, const std::string& only) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path))
            if (entry.path().extension() == ".n")
                std::filesystem::remove(entry.path());
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
    CHECK(contains(lines[0], " processors; 3 pairs"));
    const auto has = [&](std::size_t line, const std::string& pattern) {
        CHECK(std::regex_match(lines[line], std::regex("bench_attention " + pattern)));
    };
    has(2, R"(64 full threads 1 forward_ms +20\.000 +20\.000 +1\.500 +\(0\.500 - 2\.000\))");
    has(3, R"(64 full threads 1 both_ms +10\.300 +10\.600 +0\.972 .*)");
    has(4, "128 full threads 1 forward_ms +only in the old tree");
    has(6, "256 full threads 1 forward_ms +only in the new tree");
    CHECK(lines[8] == "slowest: bench_attention 64 full threads 1 both_ms, 0.972 times as fast");
    // The other way round the first row, at 1/1.5, is too slow.
    const Result slow = against("new", "old", "attention");
    CHECK(slow.status == 1);
    CHECK(contains(
        slow.out,
        "slowest: bench_attention 64 full threads 1 forward_ms, 0.667 times as fast; at least 0.97"));

    // Of speeds, more is faster; each search and number of threads is a run.
    fake("old/bench_decoding", "", "threads,search,batch,tokens_per_second\n$2,$4,1,200\n");
    fake("new/bench_decoding", "", "threads,search,batch,tokens_per_second\n$2,$4,1,190\n");
    const Result speeds = against("old", "new", "decoding");
    INFO(speeds.out << speeds.err);
    CHECK(speeds.status == 1);
    CHECK(contains(speeds.out, "bench_decoding beam 1 threads 1 tokens_per_second"));
    CHECK(contains(speeds.out, ", 0.950 times as fast; at least 0.97"));
    CHECK(against("new", "old", "decoding").status == 0);

    // Nothing to compare, a program that fails, one tree against itself.
    fake("new/bench_attention", "", head + "512,full,1,1,1\n");
    CHECK(contains(against("old", "new", "attention").err, "no row is in both trees"));
    fake("new/bench_attention", "", "end\nexit 3\n");
    CHECK(contains(against("old", "new", "attention").err, "ended with status 3"));
    CHECK(against("old", "old", "attention").status == 2);
}

TEST_CASE("bench_generation: tokens, and what memory allows", "[bench]") {
    const std::string prompt = GENERATE("0", "64");
    const Result result =
        bench("bench_generation", {"--model", "tiny", "--rounds", "1", "--prompt", prompt, "--csv"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const Words lines = lines_of(result.out);
    REQUIRE(lines.size() == 2);
    const Words row = columns(lines[1]);
    REQUIRE(row.size() == columns(lines[0]).size());
    for (std::size_t i = 4; i < row.size(); ++i)
        CHECK(positive(row[i]));
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

TEST_CASE("bench_profile: the share of a small step that is not arithmetic", "[bench]") {
    const std::string precision = GENERATE("float32", "bf16");
    const Result result =
        bench("bench_profile", {"--workload", "toy", "--steps", "1", "--precision", precision});
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const std::string peak = precision == "bf16" ? "bf16 peak" : "fma peak";
    CHECK(result.out.find(peak + " x time") != std::string::npos);
    std::smatch whole;
    REQUIRE(std::regex_search(result.out, whole, std::regex(peak + " ([0-9]+) GFLOP/s")));
    CHECK(positive(whole[1]));
    // The peak and the step are measured one after the other. What else runs may slow down either alone, so
    // that the share comes out as less than 0, or is rounded to 100.
    for (const std::string name : {"reverse", "toy", "char_small"}) {
        std::smatch found;
        REQUIRE(std::regex_search(result.out, found,
                                  std::regex("\n  " + name + " +([0-9.]+) ms +(-?[0-9.]+) %\n")));
        CHECK(positive(found[1]));
        CHECK(std::stod(found[2]) <= 100);
    }
}

TEST_CASE("bench_blocks: a row for each configuration, from runs that are kept", "[bench]") {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += "the quick brown fox, ";
    const std::string file = folder.write("text.txt", text), known = folder / "known.txt";
    const std::string program = (std::filesystem::absolute(apps()) / "generate").string();
    const auto compare = [&](const Words& configs) {
        Words words = {file, "--program", program, "--known", known, "--steps", "1"};
        words.insert(words.end(), configs.begin(), configs.end());
        return bench("bench_blocks", words);
    };
    const Result first = compare({"2017+grouped"});
    INFO(first.out << first.err);
    REQUIRE(first.status == 0);
    CHECK(lines_of(content(known)).size() == 5);  // three rates, and two more seeds
    const std::string loss = R"((\d\.\d{3}))";
    const std::regex row(R"(\| 2017\+grouped \| [\d,]+ \| 608 \| 0\.00\d+ \| )" + loss + R"( \()" + loss +
                         ", " + loss + ", " + loss + R"(\) \| 1\.00 \| 1,024 \|)");
    const std::string printed = lines_of(first.out).at(2);
    std::smatch found;  // refers to what is printed
    REQUIRE(std::regex_match(printed, found, row));
    CHECK(std::stod(found[1]) ==
          Approx((std::stod(found[2]) + std::stod(found[3]) + std::stod(found[4])) / 3).margin(1.1e-3));

    // Nothing runs twice; a rate that was better is chosen.
    const std::string kept = content(known);
    const std::size_t end = kept.find(' ');
    REQUIRE(contains(kept.substr(0, kept.find('\n')), " --lr "));
    std::ofstream(known) << "0.125" << kept.substr(end);
    const Result second = compare({"2017+grouped"});
    INFO(second.out << second.err);
    CHECK(contains(second.out, " (0.125, "));
    CHECK(compare({"2018"}).status == 2);
}

TEST_CASE("bench_step_staircase: one training step, from scalars in Python to all threads", "[bench]") {
    need_python();
    // It fails by itself if losses or gradients differ.
    const Result result = bench("bench_step_staircase", {"--sequences", "1", "--python-steps", "2", "--csv"});
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const Words lines = lines_of(result.out);
    REQUIRE(lines.size() >= 5);
    CHECK(lines[1].starts_with("1 scalars in Python,"));
    CHECK(lines[2].starts_with("2 one page,"));
    CHECK(contains(result.out, "fused ops,"));
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const Words row = columns(lines[i]);
        REQUIRE(row.size() == 5);
        CHECK(positive(row[1]));
        CHECK(positive(row[3]));
    }
    CHECK(bench("bench_step_staircase", {"--python", "false"}).status == 1);
}

// The names are ours, and the losses what microgpt.py printed for them; one is longer than its 16 positions.
TEST_CASE("bench_microgpt: the losses of microgpt.py", "[bench]") {
    need_python();
    const Folder folder;
    const std::string names = folder.write("names.txt", "anna\nbob\ncarla\nmaximilianfriedrich\nemma\n");
    const double losses[] = {2.7055, 2.4374, 2.6715, 2.6216, 2.5866, 2.0766, 1.8047, 1.9167, 1.6953, 1.7301,
                             1.8525, 1.4579, 1.3634, 1.0394, 1.1906, 1.6375, 1.0142, 0.9981, 0.6902, 0.9906};
    const Result result = bench("bench_microgpt", {names, "--csv"});
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const Words row = columns(lines_of(result.out).at(1));
    REQUIRE(row.size() == 1002);
    CHECK(positive(row[1]));
    for (std::size_t step = 0; step < std::size(losses); ++step)
        CHECK(std::stod(row[2 + step]) == Approx(losses[step]).margin(1.5e-4));
    CHECK(contains(bench("bench_microgpt", {names}).out, "No microgpt.py was given"));
}

TEST_CASE("bench_microgpt: a copy whose losses are others, or that prints none, is an error", "[bench]") {
    need_python();
    const Folder folder;
    const std::string names = folder.write("names.txt", "anna\nbob\n");
    const auto compared_with = [&](const std::string& script) {
        return bench("bench_microgpt", {names, "--microgpt", folder.write("copy.py", script)});
    };
    const Result others = compared_with(
        "open('input.txt')\nprint('num params: 1')\nprint(*['step | loss 9.5'] * 1000, sep='\\r')\n");
    INFO(others.out << others.err);
    CHECK(others.status == 1);
    CHECK(contains(others.out, "microgpt.py"));
    CHECK(contains(others.err, "the losses differ by"));
    CHECK(contains(compared_with("print('num params: 1')\n").err, "printed 0 losses"));
    CHECK(bench("bench_microgpt", {folder / "none"}).status == 1);
    CHECK(bench("bench_microgpt", {}).status == 2);
}

TEST_CASE("bench_scaling: a row for each workload", "[bench]") {
    const Result result =
        bench("bench_scaling", {"toy", "reverse", "--rounds", "1", "--steps", "1", "--threads", "1"});
    INFO(result.out << result.err);
    CHECK(result.status == 0);
    const Words rows = lines_of(result.out);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].starts_with("toy          1 processes: "));
    CHECK(rows[1].ends_with(" times, same bits"));
    CHECK(bench("bench_scaling", {}).status == 2);
}
