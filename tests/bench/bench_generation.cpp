// How fast models of today's shapes write a text: GPT-2 small (124 million parameters, Radford et al. 2019)
// and SmolLM-135M (Hugging Face 2024; Llama's block with 30 layers), with random weights, a text at a time.
//
// Each token reads all weights once, so the limit is the speed of memory. It is measured in the same rounds:
// a run of tokens, then as many bytes read and nothing else. Reading a prompt (--prompt) is limited by
// arithmetic, and its speed is also given as a share of the peak of fma.
#include <memory>

#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/presets.h"
#include "tests/bench/bench.h"
#include "tests/bench/reading.h"
#include "tests/bench/workloads.h"
#include "tests/packed.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Tensor;
using autograd::Tokens;

constexpr int64_t kTokens = 32, kFirst = 16;  // written by a run, after a prompt of so many

struct Settings : bench::Common {
    std::string model = "gpt2";
    int64_t prompt = 0;
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
        : prompt_(s.prompt),
          model_(config_of(s.model), autograd::Rng(1)),
          text_(random_ids(model_.config.max_length, model_.config.vocabulary, "text")) {
        model_.config.block.precision = s.kind();
        tests::pack_weights(model_);
        stepper_ = model_.start(Tokens(1, 1, {text_[0]}));
    }

    // Reads the prompt; or a short one, and continues it with the most probable token each time. Returns the
    // seconds of one of these tokens.
    double run() {
        stepper_->rewind(0);
        Tensor logits = read({text_.begin(), text_.begin() + (prompt_ > 0 ? prompt_ : kFirst)});
        const double begin = seconds();
        for (int64_t i = 0; prompt_ == 0 && i < kTokens; ++i)
            logits = read({static_cast<int32_t>(
                std::max_element(logits.data(), logits.data() + logits.numel()) - logits.data())});
        return (seconds() - begin) / kTokens;
    }

    // All matrices, the output layer's among them (it is tied), norms and biases, but not the table of
    // positions; and the keys and values of the tokens before.
    double bytes_per_token() const {
        double bytes = 0;
        for (const nn::NamedParameter& p : nn::parameters(model_))
            if (p.name.find("positions") == std::string::npos)
                bytes += static_cast<double>(p.tensor.numel()) *
                         (p.tensor.rank() > 1 ? bytes_of_weight(model_.config.block.precision)
                                              : sizeof(autograd::Real));
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

    int64_t prompt_;
    models::LanguageModel model_;
    std::vector<int32_t> text_;
    std::unique_ptr<models::Stepper> stepper_;
};

void measure(const Settings& s) {
    s.use_threads();
    Generation generation(s);
    const Table table(s.csv,
                      {"model", "precision", "threads", "what", "tokens_per_second", "limit", "share"});
    if (s.prompt > 0) {
        const double ms = milliseconds([&] { generation.run(); });
        const double tokens = static_cast<double>(s.prompt), flops = generation.flops_of_prompt();
        const double peak = 1e9 * fma_peak(s.kind());
        table.row(s.model, s.precision, autograd::thread_count(), autograd::join("prompt ", s.prompt),
                  1e3 * tokens / ms, peak / flops * tokens, 1e3 * flops / ms / peak);
        return;
    }
    // In turn, as the speed of both changes with what else the machine does.
    const Reading reading(generation.bytes_per_token());
    std::vector<double> ours, reads, shares;
    generation.run();
    for (int round = 0; round < 15; ++round) {
        reads.push_back(reading.seconds_of_best(kTokens));
        ours.push_back(generation.run());
        shares.push_back(reads.back() / ours.back());
    }
    table.row(s.model, s.precision, autograd::thread_count(), "tokens", 1 / median(ours), 1 / median(reads),
              median(shares));
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.add("--model", "of random weights; tiny: to see that it runs", s.model,
                    {"gpt2", "smollm", "tiny"});
        options.add("--prompt", "N", "reads a text of N tokens instead; 0: writes", s.prompt, {.max = 1024});
        s.add_to(options);
    };
    return run("bench_generation", "measures how fast language models write", argc, argv, &s.csv, add, [&] {
        if (s.turns)
            take_turns(s, [&] {
                auto generation = std::make_shared<Generation>(s);
                return [=] { generation->run(); };
            });
        else
            measure(s);
    });
}
