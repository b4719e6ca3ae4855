// How fast a model decodes: 32 tokens for each sentence, with a key/value cache (nn/key_value_cache.h). The
// model is the multi30k workload's, and the end of a sentence is forbidden, so that all have 32 tokens.
//
// For a single sentence, each token is one pass over all weights, with two operations for each: the speed of
// reading weights is the limit. So that case is also compared with the time to read as many bytes.
#include <fstream>
#include <memory>

#include "models/decoding/decoding.h"
#include "models/families/transformer.h"
#include "models/pytorch.h"
#include "tests/bench/bench.h"
#include "tests/bench/reading.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Tokens;

constexpr int64_t kTokens = 32, kBeam = 5, kTopK = 40;

struct Settings : bench::Common {
    std::string search = "greedy", save;
    int64_t batch = 0;
};

class Decoding {
public:
    Decoding(int64_t batch, const Settings& s)
        : batch_(batch),
          search_(s.search),
          workload_(workload("multi30k")),
          model_(config_of(workload_), autograd::Rng(1)) {
        model_.config.block.precision = s.kind();
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
        std::ofstream read(folder + "/source.txt"), written(folder + "/written.txt");
        const auto print = [](std::ostream& out, auto first, auto last) {
            for (; first != last; ++first)
                out << *first << (first + 1 == last ? '\n' : ' ');
        };
        const auto ids = source().ids();
        for (auto row = ids.begin(); row != ids.end(); row += workload_.length)
            print(read, row, row + workload_.length);
        for (const auto& sentence : run())
            print(written, sentence.begin(), sentence.end());
        autograd::check(read.flush() && written.flush(), "[bench_decoding] cannot write into ", folder);
    }

    // The weights that a token reads: decoder and output layer, and one row of the embedding. The keys and
    // values of the source are computed once, so the two matrices for them are not read again.
    double bytes_per_token() const {
        int64_t numbers = model_.output.table->numel() + nn::parameter_count(model_.decoder);
        numbers -= workload_.n_layers * 2 * (workload_.d_model + 1) * workload_.d_model;
        return static_cast<double>(numbers) * bytes_of_weight(model_.config.block.precision);
    }

private:
    Tokens source() const {
        return Tokens(batch_, workload_.length,
                      random_ids(batch_ * workload_.length, workload_.vocabulary, "src"));
    }

    int64_t batch_;
    std::string search_;
    const Workload& workload_;
    models::Transformer model_;
};

void measure(const Settings& s, int64_t batch, const Table& table) {
    const Decoding decoding(batch, s);
    const double ms = milliseconds([&] { decoding.run(); });
    // What a token reads, where reading is the limit.
    const double bytes = batch == 1 && s.search != "beam" ? decoding.bytes_per_token() : 0;
    table.row(autograd::thread_count(), s.search, batch, 1e3 * static_cast<double>(batch * kTokens) / ms,
              bytes, bytes > 0 ? 1 / Reading(bytes).seconds_of_best(50) : 0);
}

void measure_all(const Settings& s) {
    const int64_t one = std::max<int64_t>(1, s.batch);
    if (s.turns)
        return take_turns(s, [&] {
            auto decoding = std::make_shared<Decoding>(one, s);
            return [=] { decoding->run(); };
        });
    if (!s.save.empty())
        return Decoding(one, s).save(s.save);
    const Table table(s.csv, {"threads", "search", "batch", "tokens_per_second", "bytes_per_token",
                              "tokens_per_second_of_reading"});
    for (const int threads : thread_counts(s.threads)) {
        autograd::set_thread_count(threads);
        for (const int64_t batch : s.batch > 0 ? std::set{s.batch} : std::set<int64_t>{1, 64})
            measure(s, batch, table);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.add("--batch", "N", "sentences to translate at a time; 0: 1, then 64", s.batch);
        options.add("--search", "of the next token; beam: of 5, sampling: of the 40 most probable", s.search,
                    {"greedy", "beam", "sampling"});
        options.add("--save", "FOLDER", "measures nothing: saves weights, source and what is decoded",
                    s.save);
        s.add_to(options, "one thread, then all");
    };
    return run("bench_decoding", "measures decoding with a cache", argc, argv, &s.csv, add,
               [&] { measure_all(s); });
}
