// How fast a trained model decodes: 32 tokens for each sentence, greedily, with a key/value cache
// (nn/key_value_cache.h). The model is the multi30k workload's.
//
// For a single sentence, each token is one pass over all weights, with two operations for each: the speed of
// reading weights is the limit. So that case is also compared with the time to read as many bytes.
#include <cstdio>
#include <set>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "models/decoding.h"
#include "models/transformer.h"
#include "tests/bench/measure.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Real;
using autograd::Tensor;
using autograd::Tokens;

constexpr int64_t kTokens = 32;
constexpr int kRounds = 15;

struct Settings {
    bool csv = false, turns = false;
    int64_t batch = 0, threads = 0;
};

class Decoding {
public:
    explicit Decoding(int64_t batch)
        : batch_(batch),
          workload_(workload("multi30k")),
          model_(transformer_config(workload_), autograd::Rng(1)) {}

    void run() const {
        const Tokens src(batch_, workload_.length,
                         random_ids(batch_ * workload_.length, workload_.vocabulary, "src"));
        const auto stepper = model_.start(src);
        for (const models::Hypothesis& h : models::greedy(*stepper, kTokens))
            autograd::check(
                static_cast<int64_t>(h.ids.size()) == kTokens,
                "[bench_decoding] a sentence of this untrained model ends early; take another seed");
    }

    // The weights that a token reads: decoder and output layer, and one row of the embedding. The keys and
    // values of the source are computed once, so the two matrices for them are not read again.
    double bytes_per_token() const {
        int64_t numbers = model_.output.table->numel() + nn::parameter_count(model_.decoder);
        numbers -= workload_.n_layers * 2 * (workload_.d_model + 1) * workload_.d_model;
        return static_cast<double>(numbers) * sizeof(Real);
    }

private:
    int64_t batch_;
    const Workload& workload_;
    models::Transformer model_;
};

double milliseconds(const Decoding& decoding) {
    const double begin = seconds();
    decoding.run();
    return 1e3 * (seconds() - begin);
}

// Bytes per second when reading so many bytes again and again, on all threads: from the cache that they fit
// into.
double read_speed(double bytes) {
    constexpr int64_t kChunk = 1 << 14;  // numbers
    using Wide [[gnu::vector_size(64)]] = uint64_t;
    const int64_t n = static_cast<int64_t>(bytes / sizeof(Real)) / kChunk * kChunk;
    const Tensor x = Tensor::full({n}, 1);                             // its memory is aligned to 64 bytes
    std::vector<uint64_t> seen(static_cast<std::size_t>(n / kChunk));  // or the compiler removes the reading
    return rate(
        [&] {
            autograd::parallel_for(0, n, kChunk, [&](int64_t begin, int64_t end) {
                Wide all[4] = {};
                const auto* at = reinterpret_cast<const Wide*>(x.data() + begin);
                for (const auto* last = reinterpret_cast<const Wide*>(x.data() + end); at < last; at += 4)
                    for (int i = 0; i < 4; ++i)
                        all[i] |= at[i];
                const Wide any = all[0] | all[1] | all[2] | all[3];
                seen[static_cast<std::size_t>(begin / kChunk)] = any[0] | any[7];
            });
            return static_cast<double>(n) * sizeof(Real);
        },
        0.1);
}

void measure(const Settings& s, int64_t batch) {
    const Decoding decoding(batch);
    decoding.run();
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i)
        times.push_back(milliseconds(decoding));
    const double per_second = 1e3 * static_cast<double>(batch * kTokens) / median(times);
    const double bytes = decoding.bytes_per_token(), speed = read_speed(bytes);
    if (s.csv) {
        std::printf("%d,%lld,%.0f,%.0f,%.2f\n", autograd::thread_count(), static_cast<long long>(batch),
                    per_second, bytes, batch == 1 ? speed / bytes : 0.0);
    } else {
        std::printf("%d thread%s batch %2lld: %8.0f tokens a second", autograd::thread_count(),
                    autograd::thread_count() == 1 ? ", " : "s,", static_cast<long long>(batch), per_second);
        if (batch == 1)
            std::printf("; each reads %.1f MB of weights, which alone at %.1f GB/s would allow %.0f",
                        1e-6 * bytes, 1e-9 * speed, speed / bytes);
        std::printf("\n");
    }
    std::fflush(stdout);
}

int take_turns(const Settings& s) {
    if (s.threads > 0)
        autograd::set_thread_count(static_cast<int>(s.threads));
    const double memory_before = peak_memory();
    const Decoding decoding(std::max<int64_t>(1, s.batch));
    decoding.run();
    return serve_turns(memory_before, [&] { decoding.run(); });
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_decoding", argv[0], [&] {
        Settings s;
        kit::Options options({"build/bench/bench_decoding", "measures greedy decoding with a cache"});
        options.add("--batch", "N", "sentences to translate at a time; 0: 1, then 64", s.batch);
        options.add("--threads", "N", "number of threads; 0: one thread, then all", s.threads, {.max = 1024});
        options.add("--csv", "print comma-separated values", s.csv);
        options.add("--turns", "for each number N read: decodes N times, prints the milliseconds of one",
                    s.turns);
        options.parse(argc, argv);
        if (s.turns)
            return take_turns(s);
        if (s.csv)
            std::printf("threads,batch,tokens_per_second,bytes_per_token,tokens_per_second_of_reading\n");
        const int all = autograd::thread_count();
        for (const int threads :
             s.threads > 0 ? std::set<int>{static_cast<int>(s.threads)} : std::set<int>{1, all}) {
            autograd::set_thread_count(threads);
            for (const int64_t batch : s.batch > 0 ? std::set<int64_t>{s.batch} : std::set<int64_t>{1, 64})
                measure(s, batch);
        }
        return 0;
    });
}
