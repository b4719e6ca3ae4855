#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>

#include "apps/kit/picture.h"
#include "apps/kit/run.h"
#include "nn/parallel/data_parallel.h"

namespace plaingrad::kit {

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
    return 1.5 * sizeof(Real) * (of_layers + 512.0 * static_cast<double>(c.vocabulary));
}

static void check_available(double bytes, const std::string& what) {
    const double there = available_memory();
    const int sharing = processes_here();
    const std::string whom = sharing > 1 ? join(" to each of ", sharing, " processes here") : "";
    check(bytes < there, what, ", but only ", mib(there), " MiB are available", whom,
          "; a smaller model needs less, and so do smaller batches");
}

void check_heads(int64_t d_model, int64_t heads) {
    check_usage(d_model % heads == 0, "--d-model ", d_model, " must be a multiple of --heads ", heads);
}

void check_memory(double parameters, double bytes_each) {
    const double bytes = parameters * bytes_each;
    check_available(bytes, join("memory: at least ", mib(bytes), " MiB for ",
                                counted(std::llround(parameters), "parameter")));
}

void print_memory(const models::RunFolder& run, const std::vector<nn::NamedParameter>& parameters,
                  const RunPlan& plan) {
    const auto bytes_of = [](const std::vector<nn::NamedParameter>& some) {
        return sizeof(Real) * static_cast<double>(nn::parameter_count(some));
    };
    const double learning = bytes_of(parameters);
    const double weights = std::max(learning, bytes_of(plan.report_model.parameters));  // also frozen ones
    const nn::PartSum own = nn::parts_of(run.team().rank(), run.team().size(), run.parts);
    const auto sums =
        static_cast<double>(run.parts > 1 ? std::bit_width(static_cast<uint64_t>(own.end - own.begin)) : 0);
    const double activations = plan.activations / static_cast<double>(run.parts);
    const double sum = weights + (3 + sums) * learning + activations;
    const std::string text =
        join("memory", run.team().size() > 1 ? " of each process" : "", ": weights ", mib(weights),
             " MiB, gradients ", mib(learning), ", optimizer ", mib(2 * learning),
             sums > 0 ? ", sums over parts " + mib(sums * learning) : "", ", activations about ",
             mib(activations), ": ", mib(sum), " MiB");
    check_available(sum, text);
    say(text);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 24, kNumbersWidth = 66;  // in columns: the longest bar; room for the numbers
constexpr auto kRedraw = std::chrono::milliseconds(50);
constexpr int64_t kStepsBeforeEstimate = 5;  // the first steps are slower: they fetch memory

}  // namespace

Progress::Progress(int64_t total, int64_t done)
    : total_(total), done_(done), terminal_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
    if (open_)
        std::cerr << '\n';
}

void Progress::update(int64_t step, double loss, int64_t tokens) {
    tokens_ += tokens;
    losses_.push_back(loss);
    if (terminal_ && (step == total_ || Clock::now() - drawn_ >= kRedraw)) {
        std::cerr << '\r' + line(step, loss) + "\033[K";  // clears the rest of a longer line
        open_ = true;
        drawn_ = Clock::now();
    } else if (!terminal_ && (step == done_ + 1 || step == done_ + kStepsBeforeEstimate || step % 100 == 0 ||
                              step == total_)) {
        std::cerr << line(step, loss) + '\n';
    }
}

void Progress::note(const std::string& text) {
    std::cerr << (open_ ? '\r' + text + "\033[K\n" : text + '\n');
    open_ = false;
}

std::string Progress::line(int64_t step, double loss) const {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const double speed = static_cast<double>(tokens_) / std::max(elapsed, 1e-9);
    const auto taken = static_cast<double>(step - done_), rest = static_cast<double>(total_ - step);
    const std::string total = std::to_string(total_);
    std::string text = "step " + right(std::to_string(step), total.size()) + "/" + total + "  loss " +
                       number(loss, 6) + "  " + right(number(speed, 0), 6) + " tokens/s  " +
                       duration(elapsed);
    if (step - done_ >= kStepsBeforeEstimate && step < total_)
        text += ", " + duration(elapsed / taken * rest) + " left";
    if (!terminal_)
        return text;
    // The line must not wrap, or it could not be overwritten. 3: one column free, and "^C" after Ctrl-C.
    const int room = terminal_width(STDERR_FILENO) - 3;
    const int width = std::min(kBarWidth, room - std::max(kNumbersWidth, static_cast<int>(text.size())) - 1);
    return curve(width) + text.substr(0, static_cast<std::size_t>(room));
}

// The losses so far, from the lowest to the highest; a point for each column of steps to come.
std::string Progress::curve(int width) const {
    if (width <= 0)
        return "";
    const std::vector<double> columns =
        means(losses_, static_cast<std::size_t>(total_ - done_), static_cast<std::size_t>(width));
    const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
    std::string text;
    for (const double loss : columns)
        text += bar(*low < *high ? (loss - *low) / (*high - *low) : 1, 0, 1, Ink::blocks);
    for (std::size_t i = columns.size(); i < static_cast<std::size_t>(width); ++i)
        text += "·";
    return text + " ";
}

}  // namespace plaingrad::kit
