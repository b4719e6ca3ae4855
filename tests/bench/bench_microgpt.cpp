// The recipe of microgpt.py (Andrej Karpathy, a gist of February 2026), trained by the library: a GPT learns
// to spell first names, in 1,000 steps of one name each. Python draws the order of the names and the weights,
// so the losses are microgpt.py's. If a copy of it is given, it runs afterwards, and the losses of both must
// agree.
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "models/families/one_stack.h"
#include "nn/optim.h"
#include "tests/bench/bench.h"
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

// Puts microgpt.py's weights into our parameters, in its order: a table (count, d) as it is, and a matrix,
// which it has as (out, in), transposed. Queries, keys and values are one matrix of ours, side by side.
void fill(const models::LanguageModel& model, const std::vector<Real>& weights) {
    const Real* next = weights.data();
    check(std::ssize(weights) == kWidth * (2 * model.config.vocabulary + kContext + 12 * kWidth), "[bench] ",
          weights.size(), " weights do not fit ", model.config.vocabulary, " words");
    std::map<std::string, Tensor> ours;
    for (const nn::NamedParameter& p : nn::parameters(model))
        ours.emplace(p.name, p.tensor);
    for (const char* table : {"backbone.embedding.tokens", "backbone.embedding.positions", "output"}) {
        Tensor& to = ours.at(table + std::string(".table"));
        std::copy(next, next + to.numel(), to.mutable_data());
        next += to.numel();
    }
    for (const char* matrix : {"self_attention.in_proj", "self_attention.out_proj", "feed_forward.linear1",
                               "feed_forward.linear2"}) {
        Tensor& to = ours.at(autograd::join("backbone.encoder.layers.0.", matrix, ".weight"));
        for (int64_t i = 0; i < to.size(1); ++i)
            for (int64_t j = 0; j < to.size(0); ++j)
                to.mutable_data()[j * to.size(1) + i] = *next++;
    }
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
    std::vector<std::string> names;
    std::string copy, python = "python3";
};

// A row of the table; with --csv, each loss in a line.
void print(const Settings& s, const char* who, const Run& run) {
    for (const double loss : s.csv ? run.losses : std::vector<double>{})
        std::printf("%s,%.4f\n", who, loss);
    if (!s.csv)
        std::printf("| %s | %.3g s | %.3g ms | %.4f | %.4f |\n", who, run.seconds, 1e3 * run.seconds / kSteps,
                    run.losses.front(),
                    std::accumulate(run.losses.end() - kLast, run.losses.end(), 0.0) / kLast);
}

void compare(const Settings& s) {
    const Recipe recipe = draw(s.python, s.names[0]);
    std::vector<double> times;
    Run ours;
    for (int round = 0; round < 5; ++round) {
        ours = train(recipe);
        times.push_back(ours.seconds);
    }
    ours.seconds = bench::median(times);
    if (!s.csv)
        std::printf(
            "| | %d steps | a step | loss of the first | mean loss of the last %d |\n"
            "|---|---:|---:|---:|---:|\n",
            kSteps, kLast);
    print(s, "plaingrad", ours);
    if (s.copy.empty())
        return;
    const Run theirs = run_copy(s.python, s.copy, s.names[0]);
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
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.rest("NAMES", "a file with a name on each line", s.names, {1, 1});
        options.add("--microgpt", "FILE", "a copy of microgpt.py, to run afterwards", s.copy).allow_empty();
        options.add("--python", "PROGRAM", "which Python", s.python);
        options.add_threads();
    };
    return bench::run("bench_microgpt", "trains microgpt.py's recipe with the library", argc, argv, &s.csv,
                      add, [&] { compare(s); });
}
