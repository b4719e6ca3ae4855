// Training steps in the processes that mpirun has started, in turn with the same parts in process 0 alone:
//
//     mpirun -np 2 -bind-to core build/mpi/bench/bench_scaling multi30k --threads 1
//
// `make bench-scaling` runs it for several workloads, by tests/bench/scaling.sh.
#include "apps/kit/options.h"
#include "autograd/base/check.h"
#include "tests/bench/measure.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;

// The milliseconds of one step of some.
double step(Training& training, const nn::DataParallel& parallel, int64_t steps) {
    const double begin = seconds();
    for (int64_t i = 0; i < steps; ++i)
        training.step(parallel);
    return 1e3 * (seconds() - begin) / static_cast<double>(steps);
}

void measure(kit::Options& options) {
    std::vector<std::string> names;
    int64_t rounds = 5, steps = 4;
    options.rest("NAME...", "workloads of bench_training", names, {.least = 1});
    options.add("--rounds", "N", "rounds, in which both take turns", rounds, {.min = 1});
    options.add("--steps", "N", "steps of a turn", steps, {.min = 1});
    options.add_threads();
    options.is_shared();
    options.parse();
    nn::Team& team = *options.team;
    for (const std::string& name : names) {
        Training shared(workload(name)), whole(workload(name));
        const nn::DataParallel by_all(shared.adam().parameters(), team, team.size());
        const nn::DataParallel by_one(whole.adam().parameters(), nn::alone(), team.size());
        std::vector<double> of_all, of_one;
        for (int64_t i = 0; i <= rounds; ++i) {  // the first round also fetches its memory
            of_all.push_back(step(shared, by_all, steps));
            if (team.leads())
                of_one.push_back(step(whole, by_one, steps));
            team.gather("");  // the others wait
        }
        if (!team.leads())
            continue;
        autograd::check(shared.hash_of_weights() == whole.hash_of_weights(), "[bench_scaling] ", name,
                        ": one process gives other weights");
        const double all = median({of_all.begin() + 1, of_all.end()}),
                     one = median({of_one.begin() + 1, of_one.end()});
        std::printf("%-12s %lld processes: %8.2f ms a step; one alone: %8.2f; %.2f times, same bits\n",
                    name.c_str(), static_cast<long long>(team.size()), all, one, one / all);
    }
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("bench_scaling", argc, argv,
                            {{"", "training steps in the processes that mpirun has started", measure}});
}
