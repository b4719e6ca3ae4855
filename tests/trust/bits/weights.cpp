// Trains a small model of each kind, and prints a hash of its weights: the same everywhere, or a promise is
// broken. tests/trust/bits.sh runs it in many ways. It needs only the library, so that every compiler can
// build it alone.
//
//     weights                   each model, 100 steps: a line `NAME HASH` for each
//     weights few               one of each family, for ways that take long, such as emulators
//     weights wide              three models that are wide enough for threads to share their work
//     weights isa               the instruction set
//     weights busy              how much longer 8 threads take than 1 while two others keep the processors
//
// FLUSH=1: trains in a thread that flushes subnormals to zero, as after -ffast-math.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/inspect.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr int kSteps = 100, kBatch = 4;

template <class Model>
uint64_t trained(const Config& config, int steps = kSteps, int batch = kBatch) {
    const Model model(config, Rng(7));
    train(model, steps, batch, 8);
    return hash(model);
}

Config with(Config config, Precision precision) {
    config.block.precision = precision;
    return config;
}
Config without_types(Config config) {
    config.token_types = 0;
    return config;
}

using Kind = std::pair<std::string, std::function<uint64_t()>>;
std::vector<Kind> models_of_each_kind() {
    std::vector<Kind> all;
    for (const std::string& kind : kKinds)
        all.emplace_back(kind, [kind] { return trained<Transformer>(small(kind)); });
    for (const std::string kind : {"gpt2", "bare", "mixed", "llama"})
        all.emplace_back("writer-" + kind, [kind] { return trained<LanguageModel>(small_stack(kind)); });
    all.emplace_back("filler", [] { return trained<MaskedLanguageModel>(small_stack("bert")); });
    all.emplace_back("classifier", [] {
        const Config config = with_classes(without_types(small_stack("bert")), 2);
        return trained<Classifier>(config);
    });
    for (const std::string kind : {"paper", "prenorm"})
        all.emplace_back(kind + "-bf16",
                         [kind] { return trained<Transformer>(with(small(kind), Precision::bf16)); });
    return all;
}

std::vector<Kind> few_models() {
    std::vector<Kind> few;
    for (const Kind& kind : models_of_each_kind())
        if (kind.first == "paper" || kind.first == "writer-llama" || kind.first == "classifier")
            few.push_back(kind);
    return few;
}

// 68 wide, which is no multiple of 16, and batches of 64: every kind of kernel divides its work among
// threads.
Config widened(Config config) {
    config.block.d_model = 68;
    config.block.n_heads = 4;
    config.block.d_ff = 132;
    config.block.dropout = {.embeddings = Real(0.1), .feed_forward = Real(0.1), .attention = Real(0.1)};
    return config;
}
std::vector<Kind> wide_models() {
    constexpr int kWideSteps = 100, kWideBatch = 64;
    return {
        {"wide-blog",
         [] { return trained<Transformer>(widened(small("blog", 40)), kWideSteps, kWideBatch); }},
        {"wide-llama",
         [] { return trained<LanguageModel>(widened(small_stack("llama", 40)), kWideSteps, kWideBatch); }},
        {"wide-filler",
         [] {
             return trained<MaskedLanguageModel>(widened(small_stack("bert", 40)), kWideSteps, kWideBatch);
         }},
    };
}

// ---- the caller's floating-point control register

void flush_subnormals() {
#if defined(__x86_64__)
    uint32_t control = 0;
    asm volatile("stmxcsr %0" : "=m"(control));
    control |= 0x8040;  // results and operands
    asm volatile("ldmxcsr %0" : : "m"(control));
#elif defined(__aarch64__)
    uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    control |= uint64_t{1} << 24;
    asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

void print(const std::vector<Kind>& kinds) {
    if (std::getenv("FLUSH") != nullptr)
        flush_subnormals();
    for (const auto& [name, hash_of] : kinds) {
        const uint64_t h = hash_of();
        std::printf("%s %016" PRIx64 "\n", name.c_str(), h);
        std::fflush(stdout);
    }
}

// ---- threads that have to wait for a processor

double seconds_at(int threads) {
    const Threads at(threads);
    const auto begin = std::chrono::steady_clock::now();
    trained<Transformer>(widened(small("blog", 40)), 20, 16);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A thread that spins until the others are done keeps the others from their processor: eight of these take
// some sixty times as long as one thread, which has nobody to wait for. (And two some twenty times.)
void print_busy() {
    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i)
        others.emplace_back([&] {
            while (!stop) {
            }
        });
    const double one = seconds_at(1), eight = seconds_at(8);
    stop = true;
    for (std::thread& other : others)
        other.join();
    std::printf("busy %.3f: %.2f s with 1 thread, %.2f s with 8\n", eight / one, one, eight);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "isa")
        std::printf("%s\n", autograd::instruction_set());
    else if (what == "busy")
        print_busy();
    else
        print(what == "wide" ? wide_models() : what == "few" ? few_models() : models_of_each_kind());
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
