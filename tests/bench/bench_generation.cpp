// How fast models of today's shapes write a text: GPT-2 small (124 million parameters, Radford et al. 2019)
// and SmolLM-135M (Hugging Face 2024; Llama's block with 30 layers), with random weights, a text at a time.
//
// Each token reads all weights once, so the limit is the speed of memory. It is measured in the same rounds:
// a run of tokens, then as many bytes read and nothing else. Reading a prompt (--prompt) is limited by
// arithmetic, and its speed is also given as a share of the peak of fma.
#include <cstdio>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/presets.h"
#include "tests/bench/measure.h"
#include "tests/bench/reading.h"
#include "tests/bench/workloads.h"
#include "tests/packed.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Precision;
using autograd::Tensor;
using autograd::Tokens;

constexpr int64_t kTokens = 32, kFirst = 16;  // written by a run, after a prompt of so many
const std::vector<std::string> kModels = {"gpt2", "smollm", "tiny"};  // tiny: to see that it runs

struct Settings {
    std::string model = "gpt2", precision = "float32";
    int64_t prompt = 0, threads = 0, rounds = kRounds;
    bool csv = false, turns = false, copies = false;
};

models::Config config_of(const std::string& model) {
    models::Config c = model == "gpt2" ? models::gpt2() : models::llama();
    if (model != "gpt2") {
        c.vocabulary = 49152;
        c.n_layers = 30;
        c.block.d_model = 576;
        c.block.n_heads = 9;
        c.block.n_kv_heads = 3;
        c.block.d_ff = 1536;
        c.block.rotary = {.base = 10000};
        c.specials = {.start = 0, .ends = {0}, .pad = Tokens::kNoPadding, .never = {}};
    }
    if (model == "tiny")
        c.vocabulary = 1000, c.n_layers = 2;
    c.max_length = 1024;
    return c;
}

class Generation {
public:
    explicit Generation(const Settings& s)
        : precision_(kit::precision_of(s.precision)),
          prompt_(s.prompt),
          model_(config_of(s.model), autograd::Rng(1)),
          text_(random_ids(model_.config.max_length, model_.config.vocabulary, "text")) {
        model_.config.block.precision = precision_;
        if (!s.copies)
            tests::pack_weights(model_);
        stepper_ = model_.start(Tokens(1, 1, {text_[0]}));
    }

    // Reads the prompt; or continues a short one, with the most probable token each time.
    void run() {
        stepper_->rewind(0);
        Tensor logits = read({text_.begin(), text_.begin() + (prompt_ > 0 ? prompt_ : kFirst)});
        for (int64_t i = 0; prompt_ == 0 && i < kTokens; ++i)
            logits = read({best(logits)});
    }

    // Of tokens one at a time.
    double run_tokens() {
        stepper_->rewind(0);
        Tensor logits = read({text_.begin(), text_.begin() + kFirst});
        const double begin = seconds();
        for (int64_t i = 0; i < kTokens; ++i)
            logits = read({best(logits)});
        return (seconds() - begin) / kTokens;
    }

    // All matrices, the output layer's among them (it is tied), norms and biases, but not the table of
    // positions; and the keys and values of the tokens before.
    double bytes_per_token() const {
        double bytes = 0;
        for (const nn::NamedParameter& p : nn::parameters(model_))
            if (p.name.find("positions") == std::string::npos)
                bytes += static_cast<double>(p.tensor.numel()) *
                         (p.tensor.rank() > 1 ? bytes_of_weight(precision_) : sizeof(autograd::Real));
        const auto& first = model_.backbone.encoder.layers[0].self_attention;
        const int64_t keys_values = first.in_proj.weight->size(1) - first.out_proj.weight->size(0);
        return bytes + static_cast<double>(model_.config.n_layers * keys_values * (kFirst + kTokens / 2)) *
                           sizeof(autograd::Real);
    }
    // A multiplication and an addition for each number of a matrix, of the output layer's for the last token
    // only.
    double flops_of_prompt() const {
        double flops = 0;
        for (const nn::NamedParameter& p : nn::parameters(model_))
            if (p.is_matrix || p.is_table)
                flops += 2 * static_cast<double>(p.tensor.numel() * (p.is_table ? 1 : prompt_));
        return flops;
    }

private:
    Tensor read(const std::vector<int32_t>& ids) {
        return stepper_->step(Tokens(1, std::ssize(ids), ids), models::Logits::last);
    }
    static int32_t best(const Tensor& logits) {
        return static_cast<int32_t>(std::max_element(logits.data(), logits.data() + logits.numel()) -
                                    logits.data());
    }

    Precision precision_;
    int64_t prompt_;
    models::LanguageModel model_;
    std::vector<int32_t> text_;
    std::unique_ptr<models::Stepper> stepper_;
};

// In turn, as the speed of both changes with what else the machine does.
void measure_tokens(const Settings& s, Generation& generation) {
    const double bytes = generation.bytes_per_token();
    const Reading reading(bytes);
    std::vector<double> ours, reads, shares;
    generation.run_tokens();
    for (int64_t round = 0; round < s.rounds; ++round) {
        reads.push_back(reading.seconds_of_best(kTokens));
        ours.push_back(generation.run_tokens());
        shares.push_back(reads.back() / ours.back());
    }
    const double a = median(ours), b = median(reads);
    if (s.csv)
        std::printf("%s,%s,%d,tokens,%.2f,%.2f,%.3f\n", s.model.c_str(), s.precision.c_str(),
                    autograd::thread_count(), 1 / a, 1 / b, median(shares));
    else
        std::printf(
            "%-6s %-8s %d threads: %6.1f tokens a second, %.2f ms each; reading its %.0f MB at %.1f GB/s "
            "takes %.2f ms: %.0f %% of what memory allows\n",
            s.model.c_str(), s.precision.c_str(), autograd::thread_count(), 1 / a, 1e3 * a, 1e-6 * bytes,
            1e-9 * bytes / b, 1e3 * b, 100 * median(shares));
}

void measure_prompt(const Settings& s, Generation& generation) {
    const double ms = milliseconds([&] { generation.run(); });
    const double gflops = 1e-6 * generation.flops_of_prompt() / ms;
    const double peak = fma_peak(kit::precision_of(s.precision));
    if (s.csv)
        std::printf("%s,%s,%d,prompt %lld,%.2f,%.2f,%.3f\n", s.model.c_str(), s.precision.c_str(),
                    autograd::thread_count(), static_cast<long long>(s.prompt),
                    1e3 * static_cast<double>(s.prompt) / ms,
                    1e9 * peak / generation.flops_of_prompt() * static_cast<double>(s.prompt), gflops / peak);
    else
        std::printf(
            "%-6s %-8s %d threads: a prompt of %lld tokens in %.0f ms, %.0f GFLOP/s: %.0f %% of the %s "
            "peak\n",
            s.model.c_str(), s.precision.c_str(), autograd::thread_count(), static_cast<long long>(s.prompt),
            ms, gflops, 100 * gflops / peak, name_of_peak(kit::precision_of(s.precision)));
}

Settings parse(int argc, char** argv) {
    Settings s;
    kit::Options options({"build/bench/bench_generation", "measures how fast language models write"});
    options.add("--model", "of random weights", s.model, kModels);
    options.add("--prompt", "N", "reads a text of N tokens instead; 0: writes", s.prompt, {.max = 1024});
    options.add("--rounds", "N", "of which the median is printed", s.rounds, {.min = 1});
    options.add("--threads", "N", "number of threads; 0: all", s.threads, {.max = 1024});
    options.add_precision(s.precision);
    options.add("--copies", "keeps the weights in float32 as well", s.copies);
    options.add("--csv", "print comma-separated values", s.csv);
    options.add("--turns", "for each number N read: runs N times, prints the milliseconds of one", s.turns);
    options.parse(argc, argv);
    return s;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_generation", argv[0], [&] {
        const Settings s = parse(argc, argv);
        if (s.threads > 0)
            autograd::set_thread_count(static_cast<int>(s.threads));
        const double memory_before = peak_memory();
        Generation generation(s);
        if (s.turns)
            return serve_turns(memory_before, [&] { generation.run(); });
        if (s.csv)
            std::printf("model,precision,threads,what,tokens_per_second,limit,share\n");
        s.prompt > 0 ? measure_prompt(s, generation) : measure_tokens(s, generation);
        return 0;
    });
}
