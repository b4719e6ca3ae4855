#include "apps/kit/plan.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/kit/progress.h"
#include "nn/parallel/data_parallel.h"

namespace plaingrad::kit {

using autograd::join;

namespace {

// The memory that this process may use: of the machine's, or of a container's, its share; or less under a
// resource limit.
double available_memory() {
    double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    double group = 0;
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> group)
        bytes = std::min(bytes, group);
    bytes /= processes_here();
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
    return bytes;
}

std::string mib(double bytes) { return grouped(std::llround(bytes / (1 << 20))); }

}  // namespace

// The factor 1.5 is for buffers kept for reuse (autograd/storage.cpp): batches have many shapes, so these may
// take half as much memory again.
// A decoder layer has three sub-layers, and counts as two layers.
double activation_bytes(const models::Config& c, int64_t tokens) {
    const bool pair = c.kind == models::Kind::encoder_decoder;
    const double of_layers =
        static_cast<double>(tokens) * static_cast<double>(c.n_layers + (pair ? 2 * c.n_decoder_layers : 0)) *
        static_cast<double>(7 * c.block.d_model + (c.block.gated ? 2 : 1) * c.block.d_ff);
    return 1.5 * sizeof(autograd::Real) * (of_layers + 512.0 * static_cast<double>(c.vocabulary));
}

static void check_available(double bytes, const std::string& what, const char* advice) {
    const double there = available_memory();
    const int sharing = processes_here();
    const std::string whom = sharing > 1 ? join(" to each of ", sharing, " processes here") : "";
    autograd::check(bytes < there, what, ", but only ", mib(there), " MiB are available", whom, "; ", advice);
}

void check_heads(int64_t d_model, int64_t heads) {
    check_usage(d_model % heads == 0, "--d-model ", d_model, " must be a multiple of --heads ", heads);
}

void check_memory(double parameters) {
    const double weights = sizeof(autograd::Real) * parameters;
    check_available(4 * weights,
                    join("memory: weights at least ", mib(weights), " MiB, in training four times that"),
                    "fewer layers, or a smaller width, need less");
}

void check_memory_to_open(double bytes) {
    check_available(bytes, join("memory: weights ", mib(bytes), " MiB"), "a smaller model needs less");
}

static void print_memory(const nn::DataParallel& parallel, const std::vector<nn::NamedParameter>& parameters,
                         const Plan& plan, bool folder) {
    const double learning = sizeof(autograd::Real) * static_cast<double>(nn::parameter_count(parameters));
    const double weights = learning + sizeof(autograd::Real) * plan.frozen;
    const nn::PartSum own = nn::parts_of(parallel.team().rank(), parallel.team().size(), parallel.parts());
    const auto sums = static_cast<double>(
        parallel.parts() > 1 ? std::bit_width(static_cast<uint64_t>(own.end - own.begin)) : 0);
    const double activations = plan.activations / static_cast<double>(parallel.parts());
    const double sum = weights + (3 + sums) * learning + std::max(activations, plan.decoding);
    std::string text = join("memory", parallel.team().size() > 1 ? " of each process" : "", ": weights ",
                            mib(weights), " MiB, gradients ", mib(learning), ", optimizer ",
                            mib(2 * learning), sums > 0 ? ", sums over parts " + mib(sums * learning) : "",
                            ", activations about ", mib(activations));
    if (plan.decoding > 0)
        text += join(" or decoding ", mib(plan.decoding));
    text += join(": ", mib(sum), " MiB");
    check_available(sum, text, plan.advice);
    // last.safetensors also holds two numbers per weight for the optimizer. A new file is written beside the
    // old one. Half a MiB makes mib() round up.
    const double last = weights + 2 * learning, half = 1 << 19;
    if (folder)
        text += join("; files up to ", mib(weights * static_cast<double>(plan.files - 1) + last + half),
                     " MiB, and ", mib(last + half), " more while one is replaced");
    say(text);
}

// "4 processes, 2 parts in each; "
static std::string about_sharing(const nn::DataParallel& parallel) {
    const int64_t size = parallel.team().size(), least = parallel.parts() / size;
    const bool is_even = parallel.parts() % size == 0;
    return size == 1 ? ""
                     : join(size, " processes, ", is_even ? "" : join(least, " or "),
                            counted(least + (is_even ? 0 : 1), "part"), " in each; ");
}

static int64_t without_padding(const autograd::Tokens& tokens) {
    return std::ssize(tokens.ids()) - std::count(tokens.ids().begin(), tokens.ids().end(), tokens.pad());
}
// Those that a model learns to predict, if it predicts the next one; else those that it reads.
static int64_t tokens_of(const Examples& part, const Plan& plan) {
    return without_padding(plan.trial.causal ? part.targets : part.inputs[0]);
}

void print_plan(const nn::DataParallel& parallel, const std::vector<nn::NamedParameter>& parameters,
                const Plan& plan, bool folder, int64_t done, int64_t steps, int64_t batches) {
    print_memory(parallel, parameters, plan, folder);
    constexpr int64_t kMost = 4;  // the first also fetches its memory: not counted if there is a second
    double tokens = 0, seconds = 0, measured = 0;
    for (int64_t i = 0; i < kMost && nn::any(parallel.team(), seconds < 1); ++i) {
        const std::vector batch{plan.trial.examples(done + 1 + i)};
        const auto start = std::chrono::steady_clock::now();
        nn::Gradients gradients(parallel);
        for (const auto& part : models::own_parts(parallel, 1, batch, 1))
            if (without_padding(part.targets) > 0)  // a part may have no mask to fill
                gradients.backward(
                    {plan.trial.loss(part, nn::Mode::train(autograd::Rng(0))), tokens_of(part, plan)}, part);
        const nn::StepGradient found = gradients.sum();
        if (i == 1)
            tokens = seconds = measured = 0;
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        tokens += static_cast<double>(found.tokens);
        measured += 1;
    }
    nn::zero_grad(parameters);
    const double left = std::min(static_cast<double>(batches) * seconds / measured, 1e10);
    const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(left);
    char clock[60];
    std::strftime(clock, sizeof clock, "%H:%M on %d %B %Y", std::localtime(&end));
    say(join(about_sharing(parallel),
             "speed: ", grouped(static_cast<int64_t>(tokens / std::max(seconds, 1e-9))), " tokens/s; ",
             counted(steps, "step"), ": ", duration(left), plan.validates ? " without validation" : "",
             ", until ", clock, plan.validates ? " at the earliest" : ""));
}

}  // namespace plaingrad::kit
