// A day of training, compressed: a tiny model takes millions of steps. Its memory stays flat and its
// checkpoint small, and it ends with the same bits if it is saved, dropped and resumed many times. And
// numbers of steps that no test reaches by counting, 2^31, 2^32 and 2^40, are passed by a run that begins
// near them.
#include <algorithm>
#include <cstdio>

#include "autograd/base/parallel.h"
#include "autograd/storage.h"
#include "tests/folder.h"
#include "tests/trust/endurance/memory.h"
#include "tests/trust/endurance/tiny.h"
#include "tests/trust/instrument.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT

namespace {

// The most that something has grown since it was first seen.
struct Growth {
    void see(int64_t now) {
        first = first < 0 ? now : first;
        most = std::max(most, now - first);
    }
    int64_t first = -1, most = 0;
};

struct Grown {
    Growth resident, tensors, system_calls, file;
};

// Trains without a break. It saves 100 times, to see how memory and the file grow, and never loads.
uint64_t without_a_break(int64_t steps, const std::string& file, Grown& grown) {
    constexpr int64_t kSavings = 100, kWarm = 10;
    Trained trained;
    for (int64_t i = 1; i <= kSavings; ++i) {
        trained.train(steps * i / kSavings);
        trained.save(file);
        if (i < kWarm)
            continue;
        const auto s = autograd::storage_statistics();
        grown.resident.see(resident_bytes());
        grown.tensors.see(s.bytes_in_use + s.bytes_recycled);
        grown.system_calls.see(s.system_calls);
        grown.file.see(static_cast<int64_t>(std::filesystem::file_size(file)));
        if (i % 10 == 0 && steps > 1'000'000)
            std::printf("%lld %% of the steps\n", static_cast<long long>(i)), std::fflush(stdout);
    }
    return trained.hash();
}

// Each piece begins with new objects and a file, and ends with another.
uint64_t in_pieces(int64_t steps, int64_t pieces, const std::string& file, const autograd::Rng& rng) {
    std::vector<int64_t> ends = {0, steps};
    for (int64_t i = 1; i < pieces; ++i)
        ends.push_back(1 + rng.below(static_cast<uint64_t>(i), steps));
    std::sort(ends.begin(), ends.end());
    uint64_t hash = 0;
    for (std::size_t i = 1; i < ends.size(); ++i) {
        Trained trained;
        if (ends[i - 1] > 0)
            trained.load(file);
        trained.train(ends[i]);
        trained.save(file);
        hash = trained.hash();
    }
    return hash;
}

void measure(const Instrument& trust) {
    const tests::Folder folder;
    const int64_t steps = trust.count(20'000, 300'000, 5'000'000), pieces = trust.count(20, 100, 1000);
    Grown grown;
    const uint64_t whole = without_a_break(steps, folder / "whole", grown),
                   resumed = in_pieces(steps, pieces, folder / "pieces", trust.rng());
    const bool same =
        whole == resumed && tests::content(folder / "whole") == tests::content(folder / "pieces");
    trust.figure("endurance.steps", static_cast<double>(steps), std::to_string(pieces) + " pieces");
    trust.figure("endurance.unequal", same ? 0 : 1);
    if (grown.resident.first > 0)
        trust.figure("endurance.memory", static_cast<double>(grown.resident.most) / (1 << 20));
    else
        for (const char* figure : {"memory", "bytes_a_step"})
            std::printf("skipped endurance.%s there is no /proc\n", figure);
    trust.figure("endurance.tensors", static_cast<double>(grown.tensors.most + grown.system_calls.most));
    trust.figure("endurance.file", static_cast<double>(grown.file.most));
    trust.figure("endurance.left_over", static_cast<double>(folder.files() - 2));

    int64_t wrong = 0;
    for (const int bits : {31, 32, 40})
        wrong += wrong_optimizer_steps(int64_t(1) << bits) + wrong_runs(int64_t(1) << bits) +
                 wrong_streams(int64_t(1) << bits);
    trust.figure("endurance.counters", static_cast<double>(wrong), "near 2^31, 2^32 and 2^40");
    if (resident_bytes() > 0)
        trust.figure("endurance.bytes_a_step", bytes_a_step(trust.count(20'000, 60'000, 200'000)),
                     "that a run keeps in memory, for its log");
}

}  // namespace

int main(int argc, char** argv) {
    return trust::run("endurance", "a day of training, compressed", argc, argv, [](const Instrument& trust) {
        autograd::set_thread_count(1);  // for so small a model, others would only wait
        measure(trust);
    });
}
