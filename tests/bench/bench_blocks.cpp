// The paper's layer against today's, and each change alone: what `generate train` learns from a text with
// --config NAME, how long its steps take, and how large its cache is. The table is in nn/training.md.
//
// The configurations are trained in turn, so that what disturbs hits one run of each.
#include <cmath>

#include "apps/programs/generate/generate.h"
#include "nn/checkpoint/json.h"
#include "tests/bench/bench.h"

using namespace plaingrad;  // NOLINT
using Words = std::vector<std::string>;

namespace {

constexpr int kSeeds = 3;

struct Settings {
    Words words;  // the text, and the configurations: the first is what the others are compared with
    std::string program = "apps/generate";
    double rate = 0.003;
    int64_t steps = generate::TrainSettings().steps;
};

// What was learned with each seed, and how long that took.
struct Runs {
    std::vector<double> nats = {}, seconds = {};
};

void train(const std::string& command, Runs& runs) {
    const double begin = bench::seconds();
    runs.nats.push_back(std::nan(""));
    bench::read_output(command + " 2>/dev/null", [&](const std::string& line) {
        std::sscanf(line.c_str(), "held out, after: %lf", &runs.nats.back());  // a character
    });
    autograd::check(runs.nats.back() > 0, "this command printed no loss: ", command);
    runs.seconds.push_back(bench::seconds() - begin);
}

// The keys and values of a token.
int64_t cache_bytes(const models::Config& config) {
    const int64_t heads = config.block.n_kv_heads > 0 ? config.block.n_kv_heads : config.block.n_heads;
    return config.n_layers * 2 * heads * models::head_size(config.block) *
           static_cast<int64_t>(sizeof(autograd::Real));
}

void measure(const Settings& s, const Words& configs) {
    const std::vector<kit::File> files = kit::read_files({s.words[0]}, false);
    std::vector<models::Writer> models;
    for (const std::string& config : configs) {  // which also refuses an unknown one
        generate::TrainSettings settings;
        settings.config = config;
        models.push_back(generate::new_model(settings, files));
    }
    std::vector<Runs> runs(configs.size());
    for (int seed = 1; seed <= kSeeds; ++seed)
        for (std::size_t i = 0; i < configs.size(); ++i)
            train(autograd::join("'", s.program, "' train '", s.words[0], "' --config ", configs[i], " --lr ",
                                 nn::checkpoint::to_text(s.rate), " --seed ", seed, " --steps ", s.steps),
                  runs[i]);
    std::printf(
        "| `--config` | parameters | d_ff | learning rate | nats per character: mean, and each seed | time "
        "of a "
        "step, %s = 1 | key/value cache, bytes a token |\n|---|---:|---:|---:|---|---:|---:|\n",
        configs[0].c_str());
    for (std::size_t i = 0; i < configs.size(); ++i) {
        const models::Config& config = models[i].model.config;
        const std::vector<double>& nats = runs[i].nats;
        std::vector<double> times;
        for (std::size_t run = 0; run < kSeeds; ++run)
            times.push_back(runs[i].seconds[run] / runs[0].seconds[run]);
        std::printf("| %s | %s | %lld | %g | %.3f (%.3f, %.3f, %.3f) | %.2f | %s |\n", configs[i].c_str(),
                    kit::grouped(nn::parameter_count(models[i].model)).c_str(),
                    static_cast<long long>(config.block.d_ff), s.rate, (nats[0] + nats[1] + nats[2]) / kSeeds,
                    nats[0], nats[1], nats[2], bench::median(times),
                    kit::grouped(cache_bytes(config)).c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.rest("FILE [CONFIG...]", "the text; what to compare, the chapter's rows if nothing is named",
                     s.words, {.min = 1});
        options.add("--program", "FILE", "generate", s.program);
        options.add("--rate", "X", "the learning rate of all", s.rate, {.max = 1});
        options.add("--steps", "N", "training steps", s.steps, {.min = 1});
    };
    return bench::run("bench_blocks", "trains the configurations of generate train, and compares them", argc,
                      argv, nullptr, add, [&] {
                          Words configs(s.words.begin() + 1, s.words.end());
                          if (configs.empty())
                              configs = {"2017",        "2017+pre-norm", "2017+rms-norm", "2017+rotary",
                                         "2017+swiglu", "2017+grouped",  "2017+no-bias",  "modern"};
                          measure(s, configs);
                      });
}
