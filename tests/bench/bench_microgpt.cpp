// The recipe of microgpt.py (Andrej Karpathy, a gist of February 2026), trained by the library: a GPT learns
// to spell first names, in 1,000 steps of one name each. Python draws the order of the names and the weights,
// so the losses are microgpt.py's. If a copy of it is given, it runs afterwards, and the losses of both must
// agree.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "models/families/one_stack.h"
#include "nn/optim.h"
#include "tests/bench/measure.h"
#include "tests/bench/output.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using autograd::check;
using autograd::Real;
using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;

namespace {

constexpr int64_t kWidth = 16, kHeads = 4, kContext = 16;
constexpr int kSteps = 1000, kLast = 100;  // kLast: the mean loss of so many is printed
constexpr double kRate = 0.01;

// ---------------------------------------------------------------------------------------------- the recipe

struct Recipe {
    std::vector<std::string> names;
    std::vector<Real> weights;  // in the order of microgpt.py
    std::string letters;        // id i is letters[i]; the last id begins and ends a name
    int32_t boundary() const { return static_cast<int32_t>(letters.size()); }
};

// As Python draws it.
Recipe draw(const std::string& python, const std::string& path) {
    Recipe recipe;
    bench::read_output("'" + python + "' tests/bench/microgpt_draws.py '" + path + "'",
                       [&](const std::string& line) {
                           std::istringstream in(line);
                           std::string kind;
                           in >> kind;
                           if (kind == "names")
                               recipe.names.assign(std::istream_iterator<std::string>(in), {});
                           else
                               recipe.weights.assign(std::istream_iterator<Real>(in), {});
                       });
    check(!recipe.names.empty(), path, ": there is no name in it");
    std::set<char> letters;
    for (const std::string& name : recipe.names)
        letters.insert(name.begin(), name.end());
    recipe.letters.assign(letters.begin(), letters.end());
    return recipe;
}

models::Config configure(const Recipe& recipe) {
    models::Config c = {
        .vocabulary = recipe.boundary() + 1,
        .max_length = kContext,
        .specials = {.start = recipe.boundary(),
                     .ends = {recipe.boundary()},
                     .pad = Tokens::kNoPadding,
                     .never = {}},
        .n_layers = 1,
        .embedding_norm = true,
    };
    c.block.d_model = kWidth;
    c.block.n_heads = kHeads;
    c.block.d_ff = 4 * kWidth;
    c.block.norm = models::NormPlacement::pre;
    c.block.norm_kind = nn::NormKind::rms;
    c.block.positions = nn::Positions::learned;
    c.block.scale_embeddings = false;
    c.block.attention_bias = c.block.feed_forward_bias = c.block.output_bias = false;
    c.block.dropout = {0, 0, 0, 0};
    return c;
}

// Puts the next `rows` x `columns` weights into the parameter of this name: a table (count, d) as it is, and
// a matrix, which microgpt.py has as (out, in), transposed into columns `first`, ... of ours.
void fill(const Real*& next, const models::LanguageModel& model, const std::string& name, int64_t rows,
          int64_t columns, bool transposed, int64_t first = 0) {
    for (const nn::NamedParameter& p : nn::parameters(model))
        if (p.name == name) {
            Real* const values = Tensor(p.tensor).mutable_data();
            const int64_t width = p.tensor.size(1);
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < columns; ++j)
                    values[transposed ? j * width + first + i : i * width + j] = *next++;
            return;
        }
    throw autograd::Error("[bench] there is no parameter " + name);
}

void fill(const models::LanguageModel& model, const std::vector<Real>& weights) {
    const Real* next = weights.data();
    const int64_t words = model.config.vocabulary;
    check(std::ssize(weights) == kWidth * (2 * words + kContext + 12 * kWidth), "[bench] ", weights.size(),
          " weights do not fit ", words - 1, " letters");
    const std::string layer = "backbone.encoder.layers.0.";
    fill(next, model, "backbone.embedding.tokens.table", words, kWidth, false);
    fill(next, model, "backbone.embedding.positions.table", kContext, kWidth, false);
    fill(next, model, "output.table", words, kWidth, false);
    for (int64_t part = 0; part < 3; ++part)  // queries, keys, values
        fill(next, model, layer + "self_attention.in_proj.weight", kWidth, kWidth, true, part * kWidth);
    fill(next, model, layer + "self_attention.out_proj.weight", kWidth, kWidth, true);
    fill(next, model, layer + "feed_forward.linear1.weight", 4 * kWidth, kWidth, true);
    fill(next, model, layer + "feed_forward.linear2.weight", kWidth, 4 * kWidth, true);
}

struct Run {
    std::vector<double> losses;
    double seconds = 0;
};

Run train(const Recipe& recipe) {
    const models::LanguageModel model(configure(recipe), Rng(1));
    fill(model, recipe.weights);
    for (const nn::NamedParameter& p : nn::parameters(model))
        if (p.name.ends_with("gain"))  // a norm has none in the recipe: it stays 1
            nn::freeze({p});
    nn::Adam adam(nn::parameters(model), {.beta1 = 0.85, .beta2 = 0.99, .eps = 1e-8});
    Run run;
    const double begin = bench::seconds();
    for (int step = 0; step < kSteps; ++step) {
        const std::string& name = recipe.names[static_cast<std::size_t>(step) % recipe.names.size()];
        std::vector<int32_t> ids = {recipe.boundary()};
        for (const char c : name)
            ids.push_back(static_cast<int32_t>(recipe.letters.find(c)));
        ids.push_back(recipe.boundary());
        const auto n = std::min<int64_t>(kContext, std::ssize(ids) - 1);
        adam.zero_grad();
        const Tensor loss =
            model.loss(Tokens(1, n, {ids.begin(), ids.begin() + n}),
                       Tokens(1, n, {ids.begin() + 1, ids.begin() + 1 + n}), nn::Mode::train(Rng(1)));
        loss.backward();
        adam.step(kRate * (1 - static_cast<double>(step) / kSteps));
        run.losses.push_back(static_cast<double>(loss.item()));
    }
    run.seconds = bench::seconds() - begin;
    return run;
}

// The copy's own steps, without the time in which it draws its weights and, at the end, some names.
Run run_copy(const std::string& python, const std::string& copy, const std::string& names) {
    const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
    const tests::Folder folder;  // in which it finds its names
    std::filesystem::create_symlink(absolute(names), folder / "input.txt");
    const std::string program = python.find('/') == std::string::npos ? python : absolute(python);
    Run run;
    double begin = 0;
    bench::read_output("cd '" + folder.path + "' && '" + program + "' -u '" + absolute(copy) + "'",
                       [&](const std::string& line) {
                           const std::size_t at = line.find("| loss ");
                           if (line.starts_with("num params"))
                               begin = bench::seconds();
                           if (at == std::string::npos)
                               return;
                           run.losses.push_back(std::stod(line.substr(at + 7)));
                           run.seconds = bench::seconds() - begin;
                       });
    check(std::ssize(run.losses) == kSteps && begin > 0, copy, ": printed ", run.losses.size(),
          " losses; expected ", kSteps, ", after a line that begins with 'num params'");
    return run;
}

// ------------------------------------------------------------------------------------------------ measuring

struct Settings {
    bool csv = false;
    std::string names, copy, python = "python3";
};

void print(const Settings& s, const char* who, const Run& run) {
    if (s.csv) {
        std::printf("%s,%.6f", who, run.seconds);
        for (const double loss : run.losses)
            std::printf(",%.4f", loss);
        std::printf("\n");
    } else {
        std::printf("| %s | %.3g s | %.3g ms | %.4f | %.4f |\n", who, run.seconds, 1e3 * run.seconds / kSteps,
                    run.losses.front(),
                    std::accumulate(run.losses.end() - kLast, run.losses.end(), 0.0) / kLast);
    }
    std::fflush(stdout);
}

void compare(const Settings& s) {
    const Recipe recipe = draw(s.python, s.names);
    std::vector<double> times;
    Run ours;
    for (int round = 0; round < 5; ++round) {
        ours = train(recipe);
        times.push_back(ours.seconds);
    }
    ours.seconds = bench::median(times);
    if (s.csv)
        std::printf("program,seconds,losses\n");
    else
        std::printf(
            "| | %d steps | a step | loss of the first | mean loss of the last %d |\n"
            "|---|---:|---:|---:|---:|\n",
            kSteps, kLast);
    print(s, "plaingrad", ours);
    if (s.copy.empty()) {
        if (!s.csv)
            std::printf("\nNo microgpt.py was given to compare with: MICROGPT=path/microgpt.py\n");
        return;
    }
    const Run theirs = run_copy(s.python, s.copy, s.names);
    print(s, "microgpt.py", theirs);
    double apart = 0;
    for (std::size_t i = 0; i < theirs.losses.size(); ++i)
        apart = std::max(apart, std::abs(ours.losses[i] - theirs.losses[i]));
    if (!s.csv)
        std::printf("\nplaingrad is %.0f times as fast. No loss of the %d steps differs by more than %.4f.\n",
                    theirs.seconds / ours.seconds, kSteps, apart);
    check(apart <= 0.01, "[bench] the losses differ by ", apart);
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_microgpt", argv[0], [&] {
        Settings s;
        kit::Options options({"build/bench/bench_microgpt", "trains microgpt.py's recipe with the library"});
        kit::Options::Words names;
        options.rest("NAMES", "a file with a name on each line", names, {1, 1});
        options.add("--microgpt", "FILE", "a copy of microgpt.py, to run afterwards", s.copy).allow_empty();
        options.add("--python", "PROGRAM", "which Python", s.python);
        options.add("--csv", "print comma-separated values, with all losses", s.csv);
        options.add_threads();
        options.parse(argc, argv);
        s.names = names[0];
        compare(s);
        return 0;
    });
}
