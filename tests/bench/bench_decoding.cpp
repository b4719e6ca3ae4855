// How fast a model decodes: 32 tokens for each sentence, with a key/value cache (nn/key_value_cache.h). The
// model is the multi30k workload's, and the end of a sentence is forbidden, so that all have 32 tokens.
//
// For a single sentence, each token is one pass over all weights, with two operations for each: the speed of
// reading weights is the limit. So that case is also compared with the time to read as many bytes. In a
// long text (--position: the char_4096 workload's model) a token also reads the keys and values of all tokens
// before it.
#include <cstdio>
#include <fstream>
#include <set>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/pytorch.h"
#include "tests/bench/measure.h"
#include "tests/bench/reading.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Real;
using autograd::Tensor;
using autograd::Tokens;

constexpr int64_t kTokens = 32, kBeam = 5, kTopK = 40;
const std::vector<std::string> kSearches = {"greedy", "beam", "sampling"};

struct Settings {
    std::string search = "greedy", save, precision = "float32";
    bool csv = false, turns = false;
    int64_t batch = 0, threads = 0, position = 0;
};

class Decoding {
public:
    Decoding(int64_t batch, const std::string& search, const std::string& precision)
        : batch_(batch),
          search_(search),
          precision_(kit::precision_of(precision)),
          workload_(workload("multi30k")),
          model_(transformer_config(workload_), autograd::Rng(1)) {
        model_.config.block.precision = precision_;
    }

    std::vector<std::vector<int32_t>> run() const {
        const auto stepper = model_.start(source());
        stepper->specials.ends = {};
        stepper->specials.never = {models::kEos};
        if (search_ == "sampling")
            return models::generate(*stepper, autograd::Rng(1),
                                    {.sampling = {.top_k = kTopK}, .max_tokens = kTokens});
        std::vector<std::vector<int32_t>> all;
        if (search_ == "beam")
            for (auto& n_best : models::beam_search(*stepper, {.beam = kBeam, .max_tokens = kTokens}))
                all.push_back(std::move(n_best[0].ids));
        else
            for (models::Hypothesis& h : models::greedy(*stepper, kTokens))
                all.push_back(std::move(h.ids));
        return all;
    }

    // The weights by PyTorch's names, the source, and what comes out: for programs that do the same.
    void save(const std::string& folder) const {
        models::save_pytorch(folder + "/model.safetensors", model_);
        const Tokens src = source();
        std::ofstream read(folder + "/source.txt"), written(folder + "/written.txt");
        for (int64_t b = 0; b < batch_; ++b)
            print_ids(read, src.ids().data() + b * src.length(), src.length());
        for (const auto& ids : run())
            print_ids(written, ids.data(), static_cast<int64_t>(ids.size()));
        autograd::check(read.flush() && written.flush(), "[bench_decoding] cannot write into ", folder);
    }

    // The weights that a token reads: decoder and output layer, and one row of the embedding. The keys and
    // values of the source are computed once, so the two matrices for them are not read again.
    double bytes_per_token() const {
        int64_t numbers = model_.output.table->numel() + nn::parameter_count(model_.decoder);
        numbers -= workload_.n_layers * 2 * (workload_.d_model + 1) * workload_.d_model;
        return static_cast<double>(numbers) * bytes_of_weight(precision_);
    }

private:
    Tokens source() const {
        return Tokens(batch_, workload_.length,
                      random_ids(batch_ * workload_.length, workload_.vocabulary, "src"));
    }
    static void print_ids(std::ostream& out, const int32_t* ids, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
            out << (i > 0 ? " " : "") << ids[i];
        out << '\n';
    }

    int64_t batch_;
    std::string search_;
    autograd::Precision precision_;
    const Workload& workload_;
    models::Transformer model_;
};

void measure(const Settings& s, int64_t batch) {
    const Decoding decoding(batch, s.search, s.precision);
    const double ms = milliseconds([&] { decoding.run(); });
    print_row(s.csv, s.search, batch, 1e3 * static_cast<double>(batch * kTokens) / ms,
              batch == 1 && s.search != "beam" ? decoding.bytes_per_token() : 0);
}

// One text, continued from position s.position on: each run writes kTokens more.
void measure_position(const Settings& s) {
    const Workload& w = workload("char_4096");
    models::Config config = stack_config(w);
    config.max_length = s.position + (kRounds + 1) * kTokens;
    config.block.precision = kit::precision_of(s.precision);
    const models::LanguageModel model(config, autograd::Rng(1));
    const std::vector<int32_t> text = random_ids(config.max_length, w.vocabulary, "text");
    const auto stepper = model.start(Tokens(1, 1, {text[0]}));
    int64_t at = 0;
    const auto read = [&](int64_t count) {
        stepper->step(Tokens(1, count, {text.begin() + at, text.begin() + at + count}));
        at += count;
    };
    while (at < s.position)
        read(std::min<int64_t>(256, s.position - at));
    const double ms = milliseconds([&] {
        for (int64_t i = 0; i < kTokens; ++i)
            read(1);
    });
    const int64_t keys_values = config.n_layers * 2 * (s.position + at) / 2 * w.d_model;  // on average
    const int64_t weights =
        nn::parameter_count(model) - config.max_length * config.block.d_model;  // one position
    const double bytes = static_cast<double>(keys_values) * sizeof(Real) +
                         static_cast<double>(weights) * bytes_of_weight(kit::precision_of(s.precision));
    print_row(s.csv, "at position " + std::to_string(s.position), 1, 1e3 * kTokens / ms, bytes);
}

int take_turns(const Settings& s) {
    if (s.threads > 0)
        autograd::set_thread_count(static_cast<int>(s.threads));
    const double memory_before = peak_memory();
    const Decoding decoding(std::max<int64_t>(1, s.batch), s.search, s.precision);
    decoding.run();
    return serve_turns(memory_before, [&] { decoding.run(); });
}

Settings parse(int argc, char** argv) {
    Settings s;
    kit::Options options({"build/bench/bench_decoding", "measures decoding with a cache"});
    options.add("--batch", "N", "sentences to translate at a time; 0: 1, then 64", s.batch);
    options.add("--search", "of the next token; beam: of 5, sampling: of the 40 most probable", s.search,
                kSearches);
    options.add("--position", "N", "continues a text of N tokens instead; 0: does not", s.position,
                {.max = 1 << 20});
    options.add("--threads", "N", "number of threads; 0: one thread, then all", s.threads, {.max = 1024});
    options.add_precision(s.precision);
    options.add("--csv", "print comma-separated values", s.csv);
    options.add("--turns", "for each number N read: decodes N times, prints the milliseconds of one",
                s.turns);
    options.add("--save", "FOLDER", "measures nothing: saves weights, source and what is decoded", s.save);
    options.parse(argc, argv);
    if (s.turns && s.position > 0)
        throw kit::UsageError("--turns translates: leave out --position");
    return s;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_decoding", argv[0], [&] {
        const Settings s = parse(argc, argv);
        if (s.turns)
            return take_turns(s);
        if (!s.save.empty()) {
            Decoding(std::max<int64_t>(1, s.batch), s.search, s.precision).save(s.save);
            return 0;
        }
        if (s.csv)
            std::printf(
                "threads,search,batch,tokens_per_second,bytes_per_token,tokens_per_second_of_reading\n");
        const int all = autograd::thread_count();
        for (const int threads :
             s.threads > 0 ? std::set<int>{static_cast<int>(s.threads)} : std::set<int>{1, all}) {
            autograd::set_thread_count(threads);
            if (s.position > 0)
                measure_position(s);
            else
                for (const int64_t batch :
                     s.batch > 0 ? std::set<int64_t>{s.batch} : std::set<int64_t>{1, 64})
                    measure(s, batch);
        }
        return 0;
    });
}
