#include "apps/kit/plan.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>

#include "apps/kit/program.h"
#include "apps/kit/progress.h"

namespace plaingrad::kit {

using autograd::join;
using autograd::Real;

namespace {

// Batches have many shapes, and buffers that wait to be used again may be half as much again
// (autograd/storage.cpp).
double activation_bytes(double layers, int64_t d_model, int64_t d_ff, int64_t vocabulary, int64_t tokens) {
    return 1.5 * sizeof(Real) *
           (static_cast<double>(tokens) * layers * static_cast<double>(7 * d_model + d_ff) +
            512.0 * static_cast<double>(vocabulary));
}

// What this process may have: the machine's memory, or less if a limit or a container says so.
double available_memory() {
    double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
    double group = 0;
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> group && group > 0)
        bytes = std::min(bytes, group);
    return bytes;
}

std::string mib(double bytes) { return grouped(static_cast<int64_t>(bytes / (1 << 20) + 0.5)); }

}  // namespace

double activation_bytes(const models::StackConfig& c, int64_t tokens) {
    return activation_bytes(static_cast<double>(c.n_layers), c.block.d_model, c.block.d_ff, c.vocabulary,
                            tokens);
}

// A decoder layer, with three sub-layers, counts twice.
double activation_bytes(const models::TransformerConfig& c, int64_t tokens) {
    return activation_bytes(static_cast<double>(c.n_encoder_layers + 2 * c.n_decoder_layers), c.block.d_model,
                            c.block.d_ff, c.tgt_vocabulary, tokens);
}

static void print_memory(const std::vector<nn::NamedParameter>& parameters, const Plan& plan, bool folder) {
    double weights = 0;
    for (const nn::NamedParameter& p : parameters)
        weights += sizeof(Real) * static_cast<double>(p.tensor.numel());
    const double sum = 4 * weights + std::max(plan.activations, plan.decoding);
    std::string text = join("memory: weights ", mib(weights), " MiB, gradients ", mib(weights),
                            ", optimizer ", mib(2 * weights), ", activations about ", mib(plan.activations));
    if (plan.decoding > 0)
        text += join(" or decoding ", mib(plan.decoding));
    text += join(": ", mib(sum), " MiB");
    const double there = available_memory();
    autograd::check(sum < there, text, ", but only ", mib(there), " MiB are available; ", plan.advice);
    if (folder)  // the one to resume from has the optimizer's two numbers for each weight, too
        text += join("; files up to ", mib(weights * static_cast<double>(plan.files + 2)), " MiB");
    std::cerr << text << '\n';
}

void print_plan(const std::vector<nn::NamedParameter>& parameters, const Plan& plan, bool folder,
                int64_t steps, int64_t batches) {
    using Clock = std::chrono::steady_clock;
    print_memory(parameters, plan, folder);
    constexpr int64_t kMost = 4;  // the first, which fetches its memory, does not count if there is another
    double tokens = 0, seconds = 0, measured = 0;
    for (int64_t i = 0; i < kMost && seconds < 1; ++i) {
        const Clock::time_point start = Clock::now();
        const nn::StepLoss loss = plan.batch(i);
        loss.loss.backward();
        if (i == 1)
            tokens = seconds = measured = 0;
        seconds += std::chrono::duration<double>(Clock::now() - start).count();
        tokens += static_cast<double>(loss.tokens);
        measured += 1;
    }
    nn::zero_grad(parameters);
    const double left = std::min(static_cast<double>(batches) * seconds / measured, 1e10);
    const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(left);
    char clock[60];
    std::strftime(clock, sizeof clock, "%H:%M on %d %B %Y", std::localtime(&end));
    std::cerr << "speed: " << grouped(static_cast<int64_t>(tokens / std::max(seconds, 1e-9))) << " tokens/s; "
              << counted(steps, "step") << ": " << duration(left) << ", until " << clock << '\n';
}

}  // namespace plaingrad::kit
