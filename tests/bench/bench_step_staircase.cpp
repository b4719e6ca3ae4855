// The staircase of a training step: one model, one batch and the same weights, trained by programs of which
// each adds one idea to the one before. The losses of all must agree, and so must the gradients of the first
// step.
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

#include "autograd/plain.h"
#include "tests/apps/one_page.h"
#include "tests/bench/bench.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT

namespace {

constexpr int kCompared = 20, kRounds = 5;
constexpr double kRounding = 1e-4;  // relative: what float and another order of additions may change

using Batch = tests::BatchOfOnePage;
using Library = tests::LibraryOfOnePage;

// What scalar_autograd.py reads: sizes, Adam's numbers, the batch and the weights.
void write_case(const std::string& path, const Batch& batch, const models::Transformer& model) {
    std::ofstream out(path);
    out.precision(std::numeric_limits<Real>::max_digits10);
    const models::Config& c = model.config;
    const nn::AdamOptions& adam = tests::kAdamOfOnePage;
    out << "size d_model " << c.block.d_model << "\nsize n_heads " << c.block.n_heads << "\nsize beta1 "
        << adam.beta1 << "\nsize beta2 " << adam.beta2 << "\nsize eps " << adam.eps << "\nrates";
    for (int step = 1; step <= kCompared; ++step)
        out << ' ' << tests::rate_of_one_page(step);
    out << '\n';
    for (int64_t b = 0; b < batch.source.batch(); ++b) {
        out << "batch";
        for (const Tokens* tokens : {&batch.source, &batch.target, &batch.wanted}) {
            for (int64_t t = 0; t < tokens->length(); ++t)
                out << ' ' << tokens->at(b, t);
            out << (tokens == &batch.wanted ? "\n" : " /");
        }
    }
    for (const nn::NamedParameter& p : tests::trained_parameters(model)) {
        out << "weight " << p.name << ' ' << p.tensor.size(p.tensor.rank() - 1);
        for (int64_t i = 0; i < p.tensor.numel(); ++i)
            out << ' ' << p.tensor.data()[i];
        out << '\n';
    }
    check(out.flush().good(), "[bench] ", path, " cannot be written");
}

// ---------------------------------------------------------------------------------------------- the stairs

struct Stair {
    std::string name, what;
    std::function<void()> enter = [] {};  // sets what holds for the whole process: instruction set, threads
    // Trains the step of this number, from 1 on, and returns the loss before it; none: it is measured.
    std::function<double(int number)> step = {};
    std::vector<double> losses = {}, seconds = {};
    bool aside = false;  // not a stair, but to compare
};

// The library with one thread, in plain form and fused; then on each instruction set with longer vectors;
// then with all threads. The first set with vectors comes first, and the baseline stands aside, to compare:
// it emulates every fma, so it is slower than the page.
void add_library_stairs(std::vector<Stair>& stairs, const one_page::Transformer& page, const Batch& batch) {
    const int threads = thread_count();
    std::vector<std::string> sets;
    for (const char* const* isa = kernels::available(); *isa != nullptr; ++isa)
        if (std::string_view(*isa) != "avx512bf16")  // in float32 it is avx512
            sets.insert(sets.begin(), *isa);
    const auto add = [&](const std::string& name, const std::string& what, const std::string& isa, int n = 1,
                         bool plain = false) {
        const auto enter = [=] {
            kernels::use(isa.c_str());
            set_thread_count(n);
        };
        const auto step = [=, &batch, library = std::make_shared<Library>(page)](int number) {
            std::optional<Plain> guard;
            if (plain)
                guard.emplace();
            return library->step(batch, number);
        };
        stairs.push_back({.name = name, .what = what, .enter = enter, .step = step});
    };
    const std::size_t first = sets.size() > 1 ? 1 : 0;
    add("library: plain ops", "our kernels for " + sets[first], sets[first], 1, true);
    add("fused ops", "several operations in one pass", sets[first]);
    for (std::size_t i = first + 1; i < sets.size(); ++i)
        add(sets[i], "longer vectors", sets[i]);
    if (threads > 1)
        add(std::to_string(threads) + " threads", "all cores at work", sets.back(), threads);
    if (first > 0) {
        add("4 without SIMD", "the same bits without vectors", sets[0]);
        stairs.back().aside = true;
    }
}

// ------------------------------------------------------------------------------------------------ scalars

struct Settings {
    bool csv = false;
    int64_t sequences = one_page::batch_size, python_steps = 3;
    std::string python = "python3";
};

struct Scalars {
    std::vector<double> losses, seconds, gradients;  // gradients: of the first step, in the case's order
};

Scalars run_scalars(const Settings& s, const Batch& batch, const models::Transformer& start) {
    const tests::Folder folder;
    write_case(folder / "case", batch, start);
    Scalars result;
    bench::read_output(
        join("'", s.python, "' tests/bench/scalar_autograd.py '", folder / "case", "' ", s.python_steps),
        [&](const std::string& line) {
            std::istringstream in(line);
            std::string kind;
            in >> kind;
            if (kind == "step")
                in >> result.losses.emplace_back() >> result.seconds.emplace_back();
            else
                result.gradients.assign(std::istream_iterator<double>(in), {});
        });
    check(std::ssize(result.losses) == s.python_steps, "[bench] scalar_autograd.py made ",
          result.losses.size(), " steps instead of ", s.python_steps);
    return result;
}

// ----------------------------------------------------------------------------------------------- measuring

// The losses of all must agree, of as many steps as both have made.
void compare(std::vector<Stair>& stairs) {
    for (Stair& stair : stairs) {
        stair.enter();
        while (stair.step && stair.losses.size() < kCompared)
            stair.losses.push_back(stair.step(static_cast<int>(stair.losses.size()) + 1));
        for (const Stair& other : stairs)
            for (std::size_t i = 0; i < std::min(stair.losses.size(), other.losses.size()); ++i)
                check(std::abs(stair.losses[i] - other.losses[i]) <= kRounding * std::abs(other.losses[i]),
                      "[bench] the loss of step ", i + 1, " is ", stair.losses[i], " with '", stair.name,
                      "', and ", other.losses[i], " with '", other.name, "'");
    }
}

// Rounds go over all stairs in turn: what disturbs hits one sample of each. All of them repeat the last step.
void measure(std::vector<Stair>& stairs) {
    for (int round = 0; round < kRounds; ++round)
        for (Stair& stair : stairs) {
            stair.enter();
            if (stair.step)
                stair.seconds.push_back(1 /
                                        bench::rate([&] { return stair.step(one_page::n_steps), 1.0; }, 0.1));
        }
}

// gain: of a stair, how many times as fast it is as the one before. The loss is that of Python's last step.
void print(const std::vector<Stair>& stairs, bool csv) {
    const bench::Table table(csv, {"stair", "microseconds", "gain", "loss", "what"});
    double before = 0;
    for (std::size_t i = 0; i < stairs.size(); ++i) {
        const Stair& stair = stairs[i];
        const double now = 1e6 * bench::median(stair.seconds);
        table.row(stair.aside ? stair.name : join(i + 1, " ", stair.name), now,
                  before > 0 && !stair.aside ? table.text(before / now) : "",
                  std::to_string(stair.losses[stairs[0].losses.size() - 1]), stair.what);
        before = now;
    }
}

void climb(const Settings& s) {
    const Batch batch(s.sequences);
    const one_page::Transformer page;
    Library first(page);
    const Scalars scalars = run_scalars(s, batch, first.model);
    const auto step = [&](int number) { return tests::step_of_one_page(page, batch, number); };
    std::vector<Stair> stairs = {
        {.name = "scalars in Python",
         .what = "each number is an object with its parents",
         .losses = scalars.losses,
         .seconds = scalars.seconds},
        {.name = "one page", .what = "matrices as objects; compiled loops", .step = step}};
    add_library_stairs(stairs, page, batch);
    first.step(batch, 1);
    stairs[1].losses.push_back(step(1));
    std::vector<double> gradients;
    for (const nn::NamedParameter& p : tests::trained_parameters(first.model))
        gradients.insert(gradients.end(), p.tensor.grad().data(), p.tensor.grad().data() + p.tensor.numel());
    const double apart = std::max(tests::largest_difference(gradients, scalars.gradients),
                                  tests::gradients_apart(page, first.model));
    check(apart <= kRounding, "[bench] gradients differ by ", apart, " of the largest");
    compare(stairs);
    measure(stairs);
    print(stairs, s.csv);
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.add("--sequences", "N", "sequences of the batch", s.sequences, {1, 4096});
        options.add("--python", "PROGRAM", "which Python", s.python);
        options.add("--python-steps", "N", "how many steps it does", s.python_steps, {1, kCompared});
    };
    return bench::run("bench_step_staircase", "makes a training step faster, stair by stair", argc, argv,
                      &s.csv, add, [&] { climb(s); });
}
