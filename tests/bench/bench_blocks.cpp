// The paper's layer against today's, and each change alone: what `generate train` learns from a text with
// --config NAME, how long its steps take, and how large its cache is. The table is the README's.
//
// A learning rate that suits one kind of layer may not suit another, so each gets the best of three (unless
// --rate names one): the first seed trains with all of them, the other seeds with the best. Each run is a
// call of `generate train` on one thread, and as many run at once as there are processors: the losses do not
// depend on it.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/programs/generate/generate.h"
#include "nn/checkpoint/json.h"
#include "tests/bench/measure.h"

using namespace plaingrad;  // NOLINT
using autograd::check;
using Words = std::vector<std::string>;

namespace {

constexpr int64_t kSeeds = 3;

struct Settings {
    Words words;  // the text, and the configurations: the first is what the others are compared with
    Words rates = {"0.0015", "0.003", "0.006"};
    std::string program = "apps/generate", known;
    double rate = 0;
    int64_t steps = generate::TrainSettings().steps;
};

// ------------------------------------------------------------------------------------------------- training

// As one word of a shell.
std::string quoted(const std::string& text) {
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + "'";
}

// The loss of what is held out that `generate train` prints, or nothing if it failed.
std::optional<double> loss_of(const std::string& command) {
    FILE* const output = popen((command + " 2>&1").c_str(), "r");
    std::optional<double> loss;
    double nats = 0;
    char line[512];
    while (output != nullptr && std::fgets(line, sizeof line, output) != nullptr)
        if (std::sscanf(line, "held out, after: %lf", &nats) == 1)
            loss = nats;
    return output != nullptr && pclose(output) == 0 ? loss : std::nullopt;
}

// What has been measured, by command; kept in a file, so that a call that was stopped can be repeated.
class Losses {
public:
    explicit Losses(const std::string& file) : file_(file) {
        std::ifstream known(file);
        double loss = 0;
        for (std::string command; known >> loss && std::getline(known >> std::ws, command);)
            losses_[command] = loss;
    }
    double operator[](const std::string& command) const { return losses_.at(command); }

    // Runs those commands that are not known.
    void measure(Words commands) {
        std::erase_if(commands, [&](const std::string& c) { return losses_.contains(c); });
        std::atomic<std::size_t> next = 0;
        std::mutex mutex;
        std::string failed;
        std::vector<std::thread> workers;
        for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
            workers.emplace_back([&] {
                for (std::size_t c = next++; c < commands.size(); c = next++) {
                    const std::optional<double> loss = loss_of(commands[c]);
                    const std::lock_guard lock(mutex);
                    if (loss)
                        add(commands[c], *loss);
                    else
                        failed = commands[c], next = commands.size();
                }
            });
        for (std::thread& worker : workers)
            worker.join();
        check(failed.empty(), "this command failed: ", failed);
    }

private:
    void add(const std::string& command, double loss) {
        losses_[command] = loss;
        std::fprintf(stderr, "%.4f %s\n", loss, command.c_str());
        if (!file_.empty())
            std::ofstream(file_, std::ios::app) << loss << ' ' << command << '\n';
    }

    std::string file_;
    std::map<std::string, double> losses_;
};

struct Learned {
    std::string rate;
    std::vector<double> losses;  // of each seed
    double mean() const { return std::accumulate(losses.begin(), losses.end(), 0.0) / kSeeds; }
};

std::vector<Learned> learn(const Settings& s, const Words& configs) {
    Losses losses(s.known);
    const auto command = [&](const std::string& config, const std::string& rate, int64_t seed) {
        return autograd::join(quoted(s.program), " train ", quoted(s.words[0]), " --config ", config,
                              " --lr ", rate, " --seed ", seed, " --steps ", s.steps, " --threads 1");
    };
    Words first, others;
    for (const std::string& config : configs)
        for (const std::string& rate : s.rates)
            first.push_back(command(config, rate, 1));
    losses.measure(first);

    std::vector<Learned> all;
    for (const std::string& config : configs) {
        const auto at = [&](const std::string& rate) { return losses[command(config, rate, 1)]; };
        all.push_back({*std::min_element(s.rates.begin(), s.rates.end(),
                                         [&](auto& a, auto& b) { return at(a) < at(b); }),
                       {}});
        for (int64_t seed = 2; seed <= kSeeds; ++seed)
            others.push_back(command(config, all.back().rate, seed));
    }
    losses.measure(others);
    for (std::size_t i = 0; i < configs.size(); ++i)
        for (int64_t seed = 1; seed <= kSeeds; ++seed)
            all[i].losses.push_back(losses[command(configs[i], all[i].rate, seed)]);
    return all;
}

// ---------------------------------------------------------------------------------------------------- speed

// A model of one configuration, in the middle of its training.
struct Timed {
    Timed(const std::string& config, const std::vector<kit::File>& files)
        : settings(settings_of(config)),
          writer(generate::new_model(settings, files)),
          corpus(generate::corpus_of(writer, files, settings.context)),
          options(generate::run_options(settings)),
          adam(nn::parameters(writer.model), options.adam),
          batches{corpus.training, false, settings.context, models::kPad, settings.batch, nn::Rng(1)} {}
    static generate::TrainSettings settings_of(const std::string& config) {
        generate::TrainSettings s;
        s.config = config;
        return s;
    }
    double milliseconds(int steps) {
        const double begin = bench::seconds();
        for (int i = 0; i < steps; ++i) {
            adam.zero_grad();
            const kit::Examples batch = kit::examples_of(batches(++step));
            writer.model.loss(batch.inputs[0], batch.targets, nn::Mode::train(nn::Rng(1))).backward();
            adam.step(1e-3, nn::clip_scale(nn::grad_norm(adam.parameters()), 1));
        }
        return 1e3 * (bench::seconds() - begin) / steps;
    }
    // The keys and values of a token.
    int64_t cache_bytes() const {
        const models::BlockConfig& b = writer.model.config.block;
        const int64_t heads = b.n_kv_heads > 0 ? b.n_kv_heads : b.n_heads;
        return writer.model.config.n_layers * 2 * heads * models::head_size(b) *
               static_cast<int64_t>(sizeof(autograd::Real));
    }

    generate::TrainSettings settings;
    models::Writer writer;
    generate::Corpus corpus;
    models::RunOptions options;
    nn::Adam adam;
    kit::Batches batches;
    int64_t step = 0;
};

// Milliseconds of a step of each model, by turns: in each round all do some steps.
std::vector<std::vector<double>> by_turns(std::vector<std::unique_ptr<Timed>>& models, int rounds) {
    std::vector<std::vector<double>> times(models.size());
    for (int round = -1; round < rounds; ++round)  // the first one warms up
        for (std::size_t i = 0; i < models.size(); ++i)
            if (const double ms = models[i]->milliseconds(8); round >= 0)
                times[i].push_back(ms);
    return times;
}

// The median over the rounds of how many times as long a step takes.
double ratio(std::vector<double> times, const std::vector<double>& of_first) {
    for (std::size_t i = 0; i < times.size(); ++i)
        times[i] /= of_first[i];
    return bench::median(times);
}

// ---------------------------------------------------------------------------------------------------- table

void print(const Settings& s, const Words& configs) {
    const std::vector<kit::File> files = kit::read_files({s.words[0]}, false);
    std::vector<std::unique_ptr<Timed>> models;
    for (const std::string& config : configs)  // which also refuses an unknown one
        models.push_back(std::make_unique<Timed>(config, files));
    const std::vector<Learned> learned = learn(s, configs);
    const auto times = by_turns(models, static_cast<int>(std::min<int64_t>(25, s.steps)));
    std::printf(
        "| `--config` | parameters | d_ff | rate | nats per character: mean, and each seed | a step | cache, "
        "bytes a token |\n|---|---:|---:|---:|---|---:|---:|\n");
    for (std::size_t i = 0; i < configs.size(); ++i) {
        const Timed& m = *models[i];
        std::printf("| %s | %s | %lld | %s | %.3f (", configs[i].c_str(),
                    kit::grouped(nn::parameter_count(m.writer.model)).c_str(),
                    static_cast<long long>(m.writer.model.config.block.d_ff), learned[i].rate.c_str(),
                    learned[i].mean());
        for (const double& loss : learned[i].losses)
            std::printf("%s%.3f", &loss == &learned[i].losses[0] ? "" : ", ", loss);
        std::printf(") | %.2f | %s |\n", ratio(times[i], times[0]), kit::grouped(m.cache_bytes()).c_str());
    }
    std::printf("\nA step of %s takes %.1f ms on %d threads; the others as many times as long.\n",
                configs[0].c_str(), bench::median(times[0]), autograd::thread_count());
}

int main_program(int argc, char** argv) {
    Settings s;
    kit::Options options(
        {"build/bench/bench_blocks", "trains the configurations of generate train, and compares them"});
    options.rest("FILE [CONFIG...]", "the text; what to compare, the README's rows if nothing is named",
                 s.words, {.min = 1});
    options.add("--program", "FILE", "generate", s.program);
    options.add("--known", "FILE", "keeps each loss; a call that was stopped can be repeated", s.known);
    options.add("--rate", "X", "the learning rate of all; 0: for each the best of three", s.rate, {.max = 1});
    options.add("--steps", "N", "training steps", s.steps, {.min = 1});
    options.parse(argc, argv);
    Words configs(s.words.begin() + 1, s.words.end());
    if (configs.empty())
        configs = {"2017",         "2017+pre-norm", "2017+rms-norm",
                   "2017+rotary",  "2017+swiglu",   "2017+grouped",
                   "2017+no-bias", "modern",        generate::TrainSettings().config};
    if (s.rate > 0)
        s.rates = {nn::checkpoint::to_text(s.rate)};
    print(s, configs);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_blocks", argv[0], [&] { return main_program(argc, argv); });
}
