// Data-parallel training: the same bits for any number of processes, the gradient of the whole batch, and
// what each process keeps.
#include "nn/parallel/data_parallel.h"

#include <set>

#include "nn/schedule.h"
#include "nn/training.h"
#include "tests/catch.h"
#include "tests/models/small.h"
#include "tests/nn/in_parts.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

using models::LanguageModel;

// The table of embeddings has several stretches, other parameters a few numbers.
models::Config config(Real dropout) {
    models::Config c = small_stack("gpt2", 3000);
    c.block.dropout = {dropout, dropout, dropout, dropout};
    return c;
}

constexpr int64_t kRows = 10;

// The rows of a part of a batch, as many as fall to it; the sentences have different lengths.
Tokens rows_of(const StepPart& at) {
    const Rng rng = Rng(7).fork(static_cast<uint64_t>(at.step)).fork(static_cast<uint64_t>(at.batch));
    Sentences rows;
    for (int64_t i = at.part * kRows / at.parts; i < (at.part + 1) * kRows / at.parts; ++i) {
        const Rng of_row = rng.fork(static_cast<uint64_t>(i));
        Ids row;
        for (int64_t t = 0, n = 3 + of_row.below(0, 5); t < n; ++t)
            row.push_back(models::kFirstFreeId + static_cast<int32_t>(of_row.below(uint64_t(1 + t), 2900)));
        rows.push_back(row);
    }
    return rows.empty() ? Tokens() : Tokens::padded(rows, models::kPad);
}

LossOf loss_of(const LanguageModel& model) {
    return [&model](const StepPart& at, const Mode& mode) {
        const Tokens rows = rows_of(at);
        if (rows.batch() == 0)
            return StepLoss{};
        const Tokens read = rows.slice(0, rows.length() - 1), said = rows.slice(1, rows.length());
        return StepLoss{model.loss(read, said, mode), said.count("test", 3000, models::kPad)};
    };
}

// All weights and the state of the optimizer after some steps, which every process has.
struct Outcome {
    std::vector<double> losses = {}, norms = {};
    uint64_t weights = 0, state = 0;
    bool operator==(const Outcome&) const = default;
};

struct Setup {
    int64_t processes = 1, parts = 1, batches = 1;
    Real dropout = Real(0.2);
    bool freezes = false;  // the table of embeddings
};

// What f(team) gives in the process that leads.
template <class F>
auto of_leader(int64_t processes, const F& f) {
    decltype(f(alone())) result;
    run_team(processes, [&](Team& team) {
        auto mine = f(team);
        if (team.leads())
            result = std::move(mine);
    });
    return result;
}

Outcome run(const Setup& s, int64_t steps = 3) {
    return of_leader(s.processes, [&](Team& team) {
        const LanguageModel model(config(s.dropout), Rng(3));
        Adam adam(parameters(model), {.beta2 = 0.98});
        if (s.freezes)
            freeze({adam.parameters()[0]});
        const InParts parallel{adam.parameters(), team, s.parts};
        Outcome mine;
        for (int64_t step = 1; step <= steps; ++step) {
            const StepGradient now =
                backward(parallel, step, Rng(5).fork(static_cast<uint64_t>(step)), loss_of(model), s.batches);
            mine.losses.push_back(now.loss);
            mine.norms.push_back(now.norm);
            adam.step(0.01, now.scale * clip_scale(now.norm, 0.5));
        }
        mine.weights = hash(adam.parameters());
        mine.state = hash(adam.state());
        check_same(team, "other weights", std::to_string(mine.weights) + " " + std::to_string(mine.state));
        return mine;
    });
}

// The flat gradient of step 1, without dropout, of a batch that is cut into so many parts.
std::vector<double> gradient_of_batch(int64_t parts) {
    const LanguageModel model(config(0), Rng(3));
    const std::vector<NamedParameter> all = parameters(model);
    const double scale = backward(InParts{all, alone(), parts}, 1, Rng(0), loss_of(model)).scale;
    std::vector<double> flat;
    for (const Real x : take_gradients(all))
        flat.push_back(static_cast<double>(x) * scale);
    return flat;
}

}  // namespace

TEST_CASE("data parallel: the same bits on any number of processes", "[nn][team][bits]") {
    for (const int64_t parts : {2, 3, 8, 13})
        for (const int64_t batches : {1, 2}) {
            const Outcome one = run({1, parts, batches});
            for (const int64_t processes : {2, 3, 4, 7, 8, 13}) {
                if (processes > parts)
                    continue;
                CAPTURE(parts, batches, processes);
                CHECK(run({processes, parts, batches}) == one);
            }
        }
}

TEST_CASE("data parallel: each part of each batch draws other dropout, whichever process has it",
          "[nn][team]") {
    const int64_t parts = 3, batches = 2;
    std::vector<std::vector<int64_t>> drawn;  // by number of processes: what each part and batch draws first
    for (const int64_t processes : {1, 2, 3}) {
        std::vector<int64_t> keys(static_cast<std::size_t>(parts * batches));
        run_team(processes, [&](Team& team) {
            const Parameter w(Tensor::ones({1}));
            const LossOf loss = [&](const StepPart& at, const Mode& mode) {
                keys[static_cast<std::size_t>(at.part * batches + at.batch)] =
                    mode.rng.below(0, uint64_t{1} << 60);
                return StepLoss{autograd::sum(w.tensor()), 1};
            };
            backward(InParts{{{"w", w}}, team, parts}, 1, Rng(5), loss, batches);
        });
        drawn.push_back(keys);
    }
    CHECK((drawn[1] == drawn[0] && drawn[2] == drawn[0]));
    CHECK(std::set<int64_t>(drawn[0].begin(), drawn[0].end()).size() == drawn[0].size());
}

// Texts, say, each of which is one term of the loss, however many tokens it has.
TEST_CASE("data parallel: batches and parts weigh as much as their terms, not their tokens", "[nn][team]") {
    for (const auto& [processes, parts] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 3)}) {
        CAPTURE(processes, parts);
        const auto [found, gradient] = of_leader(processes, [&, n = parts](Team& team) {
            const NamedParameter w = {"w", Tensor::full({1}, 2).require_grad()};
            const LossOf loss = [&](const StepPart& at, const Mode&) {
                // The loss is (1 + k) w, and the mean of 1 + k terms.
                const int64_t k = at.part * 2 + at.batch;
                return StepLoss{.loss = autograd::sum(w.tensor * static_cast<Real>(1 + k)),
                                .tokens = 10 - k,
                                .terms = 1 + k};
            };
            const StepGradient now = backward(InParts{{w}, team, n}, 1, Rng(5), loss, 2);
            return std::pair(now, w.tensor.grad().item());
        });
        double sum = 0, terms = 0;
        int64_t tokens = 0;
        for (int k = 0; k < 2 * parts; ++k)
            sum += (1 + k) * (1 + k), terms += 1 + k, tokens += 10 - k;
        CHECK(found.norm == Approx(sum / terms));  // of the gradient, which has one number
        CHECK(found.loss == Approx(2 * sum / terms));
        CHECK(found.tokens == tokens);
        CHECK(static_cast<double>(gradient) * found.scale == Approx(sum / terms));
    }
}

// Nobody owns what does not learn, and its state is zeros on any number of processes.
TEST_CASE("data parallel: frozen parameters", "[nn][team][bits]") {
    const Setup frozen = {.parts = 3, .freezes = true};
    const Outcome one = run(frozen);
    CHECK(one.weights != run({.parts = 3}).weights);
    for (const int64_t processes : {2, 3}) {
        // Memory that was in use before is not zeros.
        { const std::vector<Tensor> used(4, Tensor::full({3000, 64}, 7)); }
        Setup s = frozen;
        s.processes = processes;
        CHECK(run(s) == one);
    }
}

// Parts change the order of sums, and nothing else.
TEST_CASE("data parallel: the gradient is that of the whole batch", "[nn][team]") {
    const std::vector<double> whole = gradient_of_batch(1);
    const double most = std::abs(*std::max_element(
        whole.begin(), whole.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
    for (const int64_t parts : {2, 3, 13})
        CHECK(worst_error(gradient_of_batch(parts), whole) < 1e-5 * most);
    const Outcome one = run({1, 1, 1, 0}, 1), three = run({2, 3, 1, 0}, 1);
    CHECK(std::abs(three.losses[0] - one.losses[0]) < 1e-6 * one.losses[0]);
    CHECK(std::abs(three.norms[0] - one.norms[0]) < 1e-5 * one.norms[0]);
}

// One part is a batch as it is.
TEST_CASE("data parallel: with one part, what a plain loop does", "[nn][team][bits]") {
    const LanguageModel model(config(Real(0.2)), Rng(3));
    Adam adam(parameters(model), {.beta2 = 0.98});
    std::vector<double> losses;
    for (int64_t step = 1; step <= 3; ++step) {
        adam.zero_grad();
        const Mode mode = Mode::train(Rng(5).fork(static_cast<uint64_t>(step)));
        const Tensor loss = loss_of(model)({step}, mode).loss;
        loss.backward();
        losses.push_back(static_cast<double>(loss.item()));
        adam.step(0.01, clip_scale(grad_norm(adam.parameters()), 0.5));
    }
    const Outcome one = run({1, 1});
    CHECK(one.losses == losses);
    CHECK(one.weights == hash(adam.parameters()));
}

TEST_CASE("data parallel: of a step, only the gradients are kept", "[nn][team]") {
    for (const auto& [processes, parts] : {std::pair(1, 1), {1, 4}, {3, 3}, {3, 7}}) {
        CAPTURE(processes, parts);
        const int64_t kept = of_leader(processes, [&, n = parts](Team& team) {
            const Parameter w(Tensor::zeros({1000}));
            const auto in_use = [&] {
                team.gather("");  // all have come here
                const int64_t bytes = autograd::storage_statistics().bytes_in_use;
                team.gather("");
                return bytes;
            };
            const int64_t before = in_use();
            backward(InParts{{{"w", w}}, team, n}, 1, Rng(5), [&](const StepPart&, const Mode&) {
                return StepLoss{autograd::sum(w.tensor()), 1};
            });
            return in_use() - before;
        });
        CHECK(kept >= processes * 1000 * static_cast<int64_t>(sizeof(Real)));
        CHECK(kept < processes * 1500 * static_cast<int64_t>(sizeof(Real)));
    }
}

// What is sent together are 2^20 numbers at most.
TEST_CASE("data parallel: a model of several buckets, and buckets that no number of processes divides",
          "[nn][team][bits]") {
    const int64_t n = (1 << 20) + 5;
    std::vector<std::vector<Real>> found;  // by number of processes
    for (const int64_t processes : {1, 2, 3})
        found.push_back(of_leader(processes, [&](Team& team) {
            const Parameter first(Tensor::zeros({7})), w(Tensor::zeros({n}));
            const InParts parallel{{{"first", first}, {"w", w}}, team, 3};
            backward(parallel, 1, Rng(5), [&](const StepPart& at, const Mode&) {
                const Tensor factor = Tensor::uninitialized({n});
                for (int64_t i = 0; i < n; ++i)
                    factor.mutable_data()[i] = static_cast<Real>(i % 1001 + at.part) / 7;
                return StepLoss{autograd::sum(first.tensor()) + autograd::sum(w.tensor() * factor), 1};
            });
            const std::vector<NamedParameter> gradients = {{"first", first->grad()}, {"w", w->grad()}};
            check_same(team, "other gradients", std::to_string(hash(gradients)));
            return take_gradients(parallel.parameters);
        }));
    CHECK((same_bits(found[1], found[0]) && same_bits(found[2], found[0])));
    CHECK(std::count(found[0].begin(), found[0].begin() + 7, Real(3)) == 7);
    CHECK(found[0][7 + 1000] == Approx(1001 * Real(3) / 7));
}

// One part of three has no rows, one parameter is not used at all, and one only in the first step: it does
// not change any more, nor do its averages, and the step does not count. As with Adam alone.
TEST_CASE("data parallel: empty parts and parameters without a gradient", "[nn][team][bits]") {
    const auto run_with = [](int64_t processes, int64_t parts, int64_t empty) {
        return of_leader(processes, [&](Team& team) {
            const Parameter used(Tensor::from({3}, {1, 2, 3})), unused(Tensor::from({2}, {4, 5})),
                once(Tensor::from({1}, {6}));
            Adam adam({{"used", used}, {"unused", unused}, {"once", once}});
            const InParts parallel{adam.parameters(), team, parts};
            std::vector<Real> outcome;
            for (int64_t step = 1; step <= 2; ++step) {
                const StepGradient now =
                    backward(parallel, step, Rng(0), [&](const StepPart& at, const Mode&) {
                        const Tensor loss = autograd::sum(autograd::mul(used, used));
                        return at.part == empty
                                   ? StepLoss{}
                                   : StepLoss{step == 1 ? loss + autograd::sum(once) : loss, 2 + at.part};
                    });
                adam.step(0.1, now.scale);
                outcome.push_back(once->item());
            }
            for (const Parameter* p : {&used, &unused})
                for (const Real x : (*p)->to_vector())
                    outcome.push_back(x);
            for (const int64_t steps : adam.steps_of_each())
                outcome.push_back(static_cast<Real>(steps));
            return outcome;
        });
    };
    for (const int64_t empty : {-1, 0, 1, 2}) {
        INFO("part " << empty << " is empty");
        const std::vector<Real> one = run_with(1, 3, empty);
        REQUIRE(one.size() == 10);
        CHECK((one[0] < 6 && one[1] == one[0]));
        CHECK((one[2] < 1 && one[5] == 4 && one[6] == 5));
        CHECK((one[7] == 2 && one[8] == 0 && one[9] == 1));
        CHECK(same_bits(run_with(2, 3, empty), one));
        CHECK(same_bits(run_with(3, 3, empty), one));
    }
    const std::vector<Real> whole = run_with(1, 1, -1);
    CHECK((whole[0] < 6 && whole[1] == whole[0] && whole[9] == 1));
}

// A batch without a row does not end the step: the one behind it still counts. And a tensor that gets a
// gradient, but is no parameter of the optimizer, is left alone.
TEST_CASE("data parallel: an empty batch before another one, and leaves that are not optimized",
          "[nn][team]") {
    for (const int64_t parts : {1, 2}) {
        const Parameter used(Tensor::from({3}, {1, 2, 3}));
        const Tensor other = Tensor::from({3}, {2, 2, 2}).require_grad();
        Adam adam({{"used", used}});
        const InParts parallel{adam.parameters(), alone(), parts};
        const StepGradient found = backward(
            parallel, 1, Rng(0),
            [&](const StepPart& at, const Mode&) {
                return at.batch == 0 ? StepLoss{} : StepLoss{autograd::sum(autograd::mul(used, other)), 5};
            },
            2);
        CHECK(found.loss == 12);
        adam.step(0.1, found.scale);
        CHECK(used->data()[0] < 1);
        const auto n = static_cast<Real>(5 * parts);  // the weights of the terms
        CHECK(other.grad().to_vector() == std::vector<Real>{n, 2 * n, 3 * n});
        CHECK(other.to_vector() == std::vector<Real>{2, 2, 2});
    }
}

TEST_CASE("data parallel: errors", "[nn][team]") {
    const auto error = [](int64_t processes, int64_t parts, bool computes) {
        return error_of([&] {
            run_team(processes, [&](Team& team) {
                const Parameter x(Tensor::from({1}, {1}));
                const InParts parallel{{{"x", x}}, team, parts};
                const Gradients gradients(parallel.parameters, team, parts);
                if (computes)
                    backward(parallel, 1, Rng(0), [](const StepPart&, const Mode&) { return StepLoss{}; });
            });
        });
    };
    CHECK(contains(error(1, 0, false), "at least one part: got 0"));
    CHECK(contains(error(2, 2, true), "all of its parts are empty"));
    CHECK(contains(error(3, 2, false), "3 processes need at least as many parts: got 2"));
}
