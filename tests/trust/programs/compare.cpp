#include "tests/trust/programs/compare.h"

#include <cmath>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
#include "autograd/storage.h"

namespace plaingrad::trust {
namespace {

using autograd::join;

// What must not change a bit.
struct Machine {
    const char* instruction_set;
    int threads;
    bool unclean;  // new memory is full of NaN
};

Run run_on(const Machine& machine, const Program& program, std::size_t count, const How& how) {
    autograd::kernels::use(machine.instruction_set);
    autograd::set_thread_count(machine.threads);
    autograd::storage_poison(machine.unclean);
    Run run = run_program(program, count, how);
    autograd::storage_poison(false);
    return run;
}

// Each instruction set, fused; and one of them, plain.
std::string bits(const Program& program, std::size_t count, uint64_t rotation, Run& first) {
    const char* const* sets = autograd::kernels::available();
    const auto threads = [&](uint64_t i) { return 1 + static_cast<int>((rotation + 3 * i) % 8); };
    first = run_on({sets[0], 1, false}, program, count, {.branches = true});
    const Run plain = run_on({sets[0], 1, false}, program, count, {.plain = true});
    uint64_t n = 0;
    for (; sets[n] != nullptr; ++n) {
        const Machine other = {sets[n], threads(n), n % 2 == rotation % 2};
        const std::string difference =
            first_difference(first, run_on(other, program, count, {.branches = true}));
        if (!difference.empty())
            return join(difference, ", with ", other.instruction_set, ", ", other.threads, " threads",
                        other.unclean ? ", unclean memory" : "");
    }
    const Machine other = {sets[rotation % n], threads(rotation / 8), true};
    const std::string difference = first_difference(plain, run_on(other, program, count, {.plain = true}));
    if (!difference.empty())
        return join("plain: ", difference, ", with ", other.instruction_set, ", ", other.threads, " threads");
    autograd::kernels::use(sets[0]);
    return "";
}

}  // namespace

Findings compare_bits(const Program& program, std::size_t count, uint64_t rotation) {
    Findings found;
    const int64_t before = autograd::storage_statistics().bytes_in_use;
    Run run;
    found.bits = bits(program, count, rotation, run);
    found.errors = run.failure;
    for (const std::string& error : run.errors)
        if (error.empty() && found.errors.empty())
            found.errors = "a call that must throw did not";
    const int64_t after = autograd::storage_statistics().bytes_in_use;
    if (after != before)
        found.memory = join(after - before, " bytes are still in use");
    return found;
}

Comparison compare_with(const Reference& reference, const Run& run, const std::string& what) {
    Comparison result;
    if (reference.has_bounds == 0 || run.branches != reference.branches)
        return result;
    result.compared = true;
    if (run.all.size() != reference.all.size()) {
        result.wrong = what + ": other gradients than in double";
        return result;
    }
    for (std::size_t i = 0; i < run.all.size() && result.wrong.empty(); ++i) {
        const Numbers& found = run.all[i];
        const Expected& expected = reference.all[i];
        double error = found.x.size() == expected.x.size() ? 0 : HUGE_VAL, largest = 0;
        for (std::size_t e = 0; e < std::min(found.x.size(), expected.x.size()); ++e) {
            const double difference = std::fabs(static_cast<double>(found.x[e]) - expected.x[e]);
            error = difference <= error ? error : std::isnan(difference) ? HUGE_VAL : difference;
            largest = std::fmax(largest, std::fabs(expected.x[e]));
        }
        // (Below the smallest normal number, floats lose digits, which a later factor makes larger.)
        const double bound = kFactor * expected.deviation + 0x1p-23 * largest + 0x1p-126;
        result.tensors += largest > 0x1p-20;  // others are 0, or as good as that
        result.sharp += largest > 0x1p-20 && bound <= 0.01 * largest;
        if (!(error <= bound) || !std::isfinite(bound))
            result.wrong =
                join(what, ": ", name_of(found), " differs from double by ", error, ", bound ", bound);
    }
    return result;
}

}  // namespace plaingrad::trust
