// Data-parallel training: the same bits for any number of processes, the gradient of the whole batch, and
// what each process keeps.
#include "nn/data_parallel.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "autograd/base/hash.h"
#include "nn/schedule.h"
#include "nn/training.h"
#include "tests/catch.h"
#include "tests/models/small.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

using models::LanguageModel;

// The table of embeddings has several stretches, other parameters a few numbers.
models::StackConfig config(Real dropout) {
    models::StackConfig c = small_stack("gpt2", 3000);
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

// All weights and the whole state of the optimizer after some steps, as process 0 has them.
struct Outcome {
    std::vector<double> losses = {}, norms = {};
    uint64_t weights = 0, state = 0;
    bool operator==(const Outcome&) const = default;
};

uint64_t hash_of(const std::vector<Tensor>& tensors) {
    autograd::Hash hash;
    for (const Tensor& tensor : tensors)
        if (tensor.defined())
            hash.add(std::string_view(reinterpret_cast<const char*>(tensor.data()),
                                      static_cast<std::size_t>(bytes_of(tensor.numel()))));
    return hash.value;
}

struct Setup {
    int64_t processes = 1, parts = 1, batches = 1;
    DataParallelOptions options = {.bucket = 1000};
    Real dropout = Real(0.2);
    bool freezes = false;  // the table of embeddings
};

template <class Member = ThreadTeam>
Outcome run(const Setup& s, int64_t steps = 3) {
    Outcome first;
    run_team<Member>(s.processes, [&](Team& team) {
        const LanguageModel model(config(s.dropout), Rng(3));
        Adam adam(parameters(model), {.beta2 = 0.98});
        if (s.freezes)
            freeze({adam.parameters()[0]});
        DataParallel parallel(adam, team, s.parts, s.options);
        Outcome mine;
        for (int64_t step = 1; step <= steps; ++step) {
            const StepGradient now =
                parallel.backward(step, Rng(5).fork(static_cast<uint64_t>(step)), loss_of(model), s.batches);
            mine.losses.push_back(now.loss);
            mine.norms.push_back(now.norm);
            parallel.step(0.01, clip_scale(now.norm, 0.5));
        }
        std::vector<Tensor> weights, state;
        for (const NamedParameter& p : adam.parameters())
            weights.push_back(p.tensor);
        mine.weights = hash_of(weights);
        // Every process has all weights.
        check_same(team, "other weights", std::to_string(mine.weights));
        if (!team.leads())
            return parallel.send_state();
        for (std::size_t i = 0; i < adam.state().size(); ++i)
            state.push_back(parallel.gather_state(i));
        mine.state = hash_of(state);
        first = mine;
    });
    return first;
}

// The flat gradient of a batch of step 1, without dropout, as the sum over its terms.
std::vector<double> gradient_of_batch(int64_t parts) {
    std::vector<double> sum;
    for (int64_t part = 0; part < parts; ++part) {
        const LanguageModel model(config(0), Rng(3));
        const StepLoss loss = loss_of(model)({1, 0, part, parts}, Mode::train(Rng(0)));
        if (!loss.loss.defined())
            continue;
        loss.loss.backward();
        std::size_t at = 0;
        for (const NamedParameter& p : parameters(model))
            for (const Real x : p.tensor.grad().to_vector()) {
                sum.resize(std::max(sum.size(), at + 1));
                sum[at++] += static_cast<double>(x) * static_cast<double>(loss.tokens);
            }
    }
    return sum;
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
            const LanguageModel model(config(Real(0.2)), Rng(3));
            Adam adam(parameters(model));
            DataParallel parallel(adam, team, parts);
            const LossOf loss = [&](const StepPart& at, const Mode& mode) {
                keys[static_cast<std::size_t>(at.part * batches + at.batch)] =
                    mode.rng.below(0, uint64_t{1} << 60);
                return loss_of(model)(at, mode);
            };
            parallel.backward(1, Rng(5), loss, batches);
            parallel.step(0.01);
        });
        drawn.push_back(keys);
    }
    CHECK(drawn[1] == drawn[0]);
    CHECK(drawn[2] == drawn[0]);
    CHECK(std::set<int64_t>(drawn[0].begin(), drawn[0].end()).size() == drawn[0].size());
}

// Texts, say, each of which is one term of the loss, however many tokens it has.
TEST_CASE("data parallel: batches and parts weigh as much as their terms, not their tokens", "[nn][team]") {
    for (const auto& [processes, parts] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 3)}) {
        CAPTURE(processes, parts);
        StepGradient found;
        run_team(processes, [&, n = parts](Team& team) {
            const NamedParameter w = {"w", Tensor::full({1}, 2).require_grad()};
            Adam adam({w});
            DataParallel parallel(adam, team, n);
            const LossOf loss = [&](const StepPart& at, const Mode&) {
                const int64_t k =
                    at.part * 2 + at.batch;  // its loss is (1 + k) w, and the mean of 1 + k terms
                StepLoss batch;
                batch.loss = autograd::sum(w.tensor * static_cast<Real>(1 + k));
                batch.tokens = 10 - k;
                batch.terms = 1 + k;
                return batch;
            };
            const StepGradient now = parallel.backward(1, Rng(5), loss, 2);
            if (team.leads())
                found = now;
            parallel.step(0.01);
        });
        double sum = 0, terms = 0;
        int64_t tokens = 0;
        for (int k = 0; k < 2 * parts; ++k)
            sum += (1 + k) * (1 + k), terms += 1 + k, tokens += 10 - k;
        CHECK(found.norm == Approx(sum / terms));  // of the gradient, which has one number
        CHECK(found.loss == Approx(2 * sum / terms));
        CHECK(found.tokens == tokens);
    }
}

// With beta1 = beta2 = 0 and a large eps, Adam's step is lr g / eps: it shows the gradient's size.
TEST_CASE("data parallel: a step is clipped to the same length, however a batch is cut", "[nn][team]") {
    for (const auto& [processes, parts] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 3)}) {
        CAPTURE(processes, parts);
        std::vector<Real> moved;
        run_team(processes, [&, n = parts](Team& team) {
            const NamedParameter w = {"w", Tensor::zeros({2}).require_grad()};
            Adam adam({w}, {.beta1 = 0, .beta2 = 0, .eps = 1e6});
            DataParallel parallel(adam, team, n);
            const StepGradient now = parallel.backward(1, Rng(0), [&](const StepPart& at, const Mode&) {
                return StepLoss{autograd::sum(w.tensor * Tensor::from({2}, {3, -4})), 1 + at.part};
            });
            parallel.step(1e6, clip_scale(now.norm, 0.5));
            if (team.leads())
                moved = w.tensor.to_vector();
        });
        CHECK(worst_error(moved, std::vector<double>{-0.3, 0.4}) < 1e-4);  // a tenth of the gradient
    }
}

TEST_CASE("data parallel: buckets and overlap change nothing", "[nn][team][bits]") {
    const Outcome one = run({1, 5});
    for (const int64_t bucket : {1, 20'000, 1 << 18})
        for (const bool overlaps : {true, false}) {
            CAPTURE(bucket, overlaps);
            CHECK(run({3, 5, 1, {bucket, overlaps}}) == one);
        }
}

TEST_CASE("data parallel: messages that arrive at once change nothing", "[nn][team][bits]") {
    const Outcome one = run({1, 5});
    for (const int64_t processes : {2, 3, 5})
        CHECK(run<EagerTeam>({processes, 5}) == one);
}

TEST_CASE("data parallel: buckets are sent while backward goes on", "[nn][team]") {
    for (const bool overlaps : {true, false}) {
        std::vector<Traffic> traffic(3);
        run_team(3, [&](Team& team) {
            const LanguageModel model(config(0), Rng(3));
            Adam adam(parameters(model));
            DataParallel parallel(adam, team, 3, {1000, overlaps});
            parallel.backward(1, Rng(5), loss_of(model));
            traffic[static_cast<std::size_t>(team.rank())] = parallel.traffic();
            parallel.step(0.01);
        });
        for (const Traffic& t : traffic) {
            CAPTURE(overlaps, t.first_sent, t.backward_ended);
            CHECK(t.bytes > 0);
            CHECK((t.first_sent < t.backward_ended) == overlaps);
        }
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

// As a learning rate's function may do, which `train` calls between the two.
TEST_CASE("data parallel: what is frozen between backward and step does not change", "[nn][team]") {
    for (const int64_t parts : {1, 2}) {
        INFO(parts << " parts");
        const Parameter x(Tensor::from({1}, {2})), y(Tensor::from({1}, {3}));
        Adam adam({{"x", x}, {"y", y}});
        DataParallel parallel(adam, alone(), parts);
        parallel.backward(1, Rng(0), [&](const StepPart&, const Mode&) {
            return StepLoss{autograd::sum(x.tensor() * y.tensor()), 1};
        });
        freeze({{"y", y}});
        const Tensor reused = Tensor::full({1}, 7);  // perhaps the memory of y's gradient
        parallel.step(0.5);
        CHECK(y->item() == 3);
        CHECK(x->item() < 2);
    }
}

TEST_CASE("data parallel: with several parts, a parameter that is unfrozen later is refused", "[nn][team]") {
    for (const int64_t parts : {1, 2}) {
        const Parameter x(Tensor::from({1}, {2})), y(Tensor::from({1}, {3})), none(Tensor::zeros({0}));
        freeze({{"y", y}});
        Adam adam({{"x", x}, {"y", y}, {"none", none}});
        DataParallel parallel(adam, alone(), parts);
        const auto backward = [&] {
            parallel.backward(1, Rng(0), [&](const StepPart&, const Mode&) {
                return StepLoss{autograd::sum(x.tensor() * y.tensor()), 1};
            });
        };
        CHECK_NOTHROW(backward());
        freeze({{"y", y}}, false);
        if (parts == 1) {
            CHECK_NOTHROW(backward());
            CHECK(y->grad().item() == 2);
        } else {
            CHECK(error_of(backward) == "[DataParallel] 'y' was frozen; unfreeze it earlier");
        }
    }
}

// Parts change the order of sums, and nothing else.
TEST_CASE("data parallel: the gradient is that of the whole batch", "[nn][team]") {
    const std::vector<double> whole = gradient_of_batch(1);
    double most = 0;
    for (const double g : whole)
        most = std::max(most, std::abs(g));
    for (const int64_t parts : {2, 3, 13}) {
        const std::vector<double> sum = gradient_of_batch(parts);
        REQUIRE(sum.size() == whole.size());
        double far = 0;
        for (std::size_t i = 0; i < sum.size(); ++i)
            far = std::max(far, std::abs(sum[i] - whole[i]));
        CHECK(far < 1e-5 * most);
    }
    const Outcome one = run({1, 1, 1, {}, 0}, 1), three = run({2, 3, 1, {1000}, 0}, 1);
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
    std::vector<Tensor> weights;
    for (const NamedParameter& p : adam.parameters())
        weights.push_back(p.tensor);
    CHECK(one.weights == hash_of(weights));
}

TEST_CASE("data parallel: each process keeps its share of the optimizer's state", "[nn][team]") {
    for (const int64_t processes : {2, 3, 7}) {
        std::vector<int64_t> kept(static_cast<std::size_t>(processes));
        int64_t all = 0;
        run_team(processes, [&](Team& team) {
            const LanguageModel model(config(0), Rng(3));
            Adam adam(parameters(model));
            const DataParallel parallel(adam, team, processes);
            int64_t n = 0;
            for (const NamedParameter& moment : adam.state())
                n += moment.tensor.numel();
            kept[static_cast<std::size_t>(team.rank())] = n;
            if (team.leads())
                all = 2 * parameter_count(model);
        });
        int64_t sum = 0;
        for (const int64_t n : kept) {
            sum += n;
            CHECK(std::abs(n - all / processes) <= 2 * kStretch);
        }
        CHECK(sum == all);
    }
}

TEST_CASE("data parallel: between steps, only weights and the optimizer's state are kept", "[nn][team]") {
    for (const Setup& s : {Setup{1, 4}, Setup{3, 3}, Setup{3, 7}}) {
        std::vector<int64_t> in_use;  // of all processes: before a step, after backward, after the step
        run_team(s.processes, [&](Team& team) {
            const LanguageModel model(config(0), Rng(3));
            Adam adam(parameters(model), {});
            DataParallel parallel(adam, team, s.parts, s.options);
            const auto count = [&] {
                team.barrier();
                if (team.leads())
                    in_use.push_back(autograd::storage_statistics().bytes_in_use);
                team.barrier();
            };
            count();
            parallel.backward(1, Rng(5), loss_of(model));
            count();
            parallel.step(0.01);
            count();
        });
        CHECK(in_use[1] > in_use[0]);
        CHECK(in_use[2] == in_use[0]);
    }
}

// Its last process takes a while to notice what has arrived.
struct LateTeam : ThreadTeam {
    using ThreadTeam::ThreadTeam;
    struct Late : Transfer {
        explicit Late(std::unique_ptr<Transfer> of) : transfer(std::move(of)) {}
        bool is_done() override { return transfer->is_done(); }
        void wait() override {
            transfer->wait();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ++noticed;
        }
        std::unique_ptr<Transfer> transfer;
    };
    std::unique_ptr<Transfer> transfer(int64_t tag, const std::vector<Message>& send,
                                       const std::vector<Message>& receive) override {
        std::unique_ptr<Transfer> transfer = ThreadTeam::transfer(tag, send, receive);
        if (rank() + 1 < size())
            return transfer;
        ++begun;
        return std::make_unique<Late>(std::move(transfer));
    }
    static inline std::atomic<int> begun, noticed;
};

TEST_CASE("data parallel: no process leaves a step before all have the new weights", "[nn][team]") {
    std::vector<int> begun(2), noticed(2);
    run_team<LateTeam>(3, [&](Team& team) {
        const LanguageModel model(config(0), Rng(3));
        Adam adam(parameters(model), {});
        DataParallel parallel(adam, team, 3);
        parallel.backward(1, Rng(5), loss_of(model));
        parallel.step(0.01);
        if (const auto r = static_cast<std::size_t>(team.rank()); r < 2)
            begun[r] = LateTeam::begun, noticed[r] = LateTeam::noticed;
    });
    CHECK(begun[0] > 0);
    CHECK(noticed == begun);
}

TEST_CASE("data parallel: sends what a ring sends", "[nn][team]") {
    // Shares that are subtrees; 3 processes have parts 0, 1, and 2 and 3.
    for (const auto& [processes, parts] : {std::pair(4, 4), std::pair(2, 8), std::pair(3, 4)}) {
        std::vector<int64_t> sent(static_cast<std::size_t>(processes));
        int64_t weights = 0;
        run_team(processes, [&, n = parts](Team& team) {
            const LanguageModel model(config(0), Rng(3));
            Adam adam(parameters(model));
            DataParallel parallel(adam, team, n);
            parallel.backward(1, Rng(5), loss_of(model));
            parallel.step(0.01);
            sent[static_cast<std::size_t>(team.rank())] = parallel.traffic().bytes;
            if (team.leads())
                weights = bytes_of(parameter_count(model));
        });
        int64_t sum = 0;
        for (const int64_t bytes : sent)
            sum += bytes;
        CHECK(sum == 2 * (processes - 1) * weights);
    }
}

// Counts the messages of each process that have bytes.
struct CountingTeam : ThreadTeam {
    using ThreadTeam::ThreadTeam;
    std::unique_ptr<Transfer> transfer(int64_t tag, const std::vector<Message>& send,
                                       const std::vector<Message>& receive) override {
        for (const Message& m : send)
            sent += m.bytes > 0 ? 1 : 0;
        return ThreadTeam::transfer(tag, send, receive);
    }
    int64_t sent = 0;
};

TEST_CASE("data parallel: what the busiest process sends is known before", "[nn][team]") {
    for (const int64_t bucket : {int64_t{1}, int64_t{1000}, int64_t{1} << 18})  // most have one owner, or all
        for (const auto& [processes, parts] : {std::pair(2, 2), std::pair(3, 3), std::pair(3, 8)}) {
            CAPTURE(bucket, processes, parts);
            std::vector<Load> said(static_cast<std::size_t>(processes)), sent = said;
            run_team<CountingTeam>(processes, [&, n = parts](CountingTeam& team) {
                const LanguageModel model(config(0), Rng(3));
                Adam adam(parameters(model));
                DataParallel parallel(adam, team, n, {.bucket = bucket});
                const auto r = static_cast<std::size_t>(team.rank());
                said[r] = parallel.load();
                parallel.backward(1, Rng(5), loss_of(model));
                parallel.step(0.01);
                sent[r] = {team.sent, parallel.traffic().bytes};
            });
            const Load most = *std::max_element(
                sent.begin(), sent.end(), [](const Load& a, const Load& b) { return a.bytes < b.bytes; });
            for (const Load& load : said) {
                CHECK(load.bytes == most.bytes);
                CHECK(load.messages == most.messages);
            }
        }
    Parameter x(Tensor::from({1}, {1}));
    Adam adam({{"x", x}});
    CHECK(DataParallel(adam, alone(), 4).load().bytes == 0);
}

TEST_CASE("data parallel: of one number, a process sends its sum, the other the weight; of two, both do both",
          "[nn][team]") {
    for (const int64_t numbers : {1, 2}) {
        std::vector<Load> said(2);
        run_team(2, [&](ThreadTeam& team) {
            Parameter x(Tensor::from({1}, {1})), y(Tensor::from({1}, {2}));
            const std::vector<NamedParameter> both = {{"x", x}, {"y", y}};
            Adam adam({both.begin(), both.begin() + numbers});
            said[static_cast<std::size_t>(team.rank())] = DataParallel(adam, team, 2).load();
        });
        for (const Load& load : said) {
            CHECK(load.messages == numbers);
            CHECK(load.bytes == bytes_of(numbers));
        }
    }
}

// Sums over own parts, besides the first; and, of the own share, a sum for each that another process sends.
TEST_CASE("data parallel: how many numbers a step keeps", "[nn][team]") {
    struct Case {
        int64_t processes, parts;
        std::vector<int64_t> buffered;  // by each process, of a model of 12 numbers
    };
    for (const Case& c : {Case{1, 1, {0}}, Case{1, 3, {0}}, Case{1, 4, {12}}, Case{1, 8, {24}},
                          Case{2, 2, {6, 6}}, Case{2, 8, {18, 18}}, Case{3, 3, {8, 8, 8}},
                          // They send the sums (0-1); (2-3) and (4); (5) and (6-7).
                          Case{3, 8, {16, 24, 24}}}) {
        CAPTURE(c.processes, c.parts);
        std::vector<int64_t> buffered(c.buffered.size());
        run_team(c.processes, [&](Team& team) {
            const Parameter x(Tensor::zeros({12}));
            Adam adam({{"x", x}});
            buffered[static_cast<std::size_t>(team.rank())] = DataParallel(adam, team, c.parts).buffered();
        });
        CHECK(buffered == c.buffered);
    }
}

// Two numbers for two processes, although there is one bucket.
TEST_CASE("data parallel: a bucket is cut where each process has its fair part", "[nn][team]") {
    const auto cuts = [](const std::vector<int64_t>& sizes, int64_t processes) {
        std::vector<NamedParameter> all;
        for (const int64_t n : sizes)
            all.push_back({"x", Parameter(Tensor::zeros({n}))});
        return make_buckets(all, processes, 1000).at(0).cuts;
    };
    using Cuts = std::vector<int64_t>;
    CHECK(cuts({1, 1}, 2) == Cuts{0, 1, 2});
    CHECK(cuts({1, 1, 1}, 3) == Cuts{0, 1, 2, 3});
    CHECK(cuts({5, 5, 5, 5}, 2) == Cuts{0, 10, 20});
    CHECK(cuts({1, 9}, 2) == Cuts{0, 9, 10});  // the last parameter comes first
    CHECK(cuts({9, 1}, 2) == Cuts{0, 1, 10});
}

TEST_CASE("data parallel: the state of a run on some processes continues on others", "[nn][team][bits]") {
    Outcome first;
    for (const int64_t processes : {1, 2, 3}) {
        Outcome now;
        std::vector<std::vector<Real>> saved, saved_weights;
        const auto steps = [&](Team& team, int64_t begin, int64_t end) {
            const LanguageModel model(config(Real(0.2)), Rng(3));
            Adam adam(parameters(model), {.beta2 = 0.98});
            DataParallel parallel(adam, team, 4);
            if (begin > 1) {
                for (std::size_t i = 0; i < saved.size(); ++i)
                    parallel.set_state(i, [&](int64_t at, int64_t n, Real* to) {
                        std::copy_n(saved[i].begin() + at, n, to);
                    });
                for (std::size_t i = 0; i < saved_weights.size(); ++i)
                    std::copy(saved_weights[i].begin(), saved_weights[i].end(),
                              adam.parameters()[i].tensor.mutable_data());
                adam.set_steps(begin - 1);
            }
            for (int64_t step = begin; step <= end; ++step) {
                parallel.backward(step, Rng(5).fork(static_cast<uint64_t>(step)), loss_of(model));
                parallel.step(0.01);
            }
            if (!team.leads())
                return parallel.send_state();
            saved.clear(), saved_weights.clear();
            for (std::size_t i = 0; i < adam.state().size(); ++i)
                saved.push_back(parallel.gather_state(i).to_vector());
            for (const NamedParameter& p : adam.parameters())
                saved_weights.push_back(p.tensor.to_vector());
        };
        run_team(processes, [&](Team& team) { steps(team, 1, 2); });
        run_team(5 - processes, [&](Team& team) { steps(team, 3, 4); });
        for (const auto& part : {saved, saved_weights})
            for (const std::vector<Real>& x : part)
                now.weights = now.weights * 31 + hash_of({Tensor::from({std::ssize(x)}, x)});
        if (processes == 1)
            first = now;
        CHECK(now == first);
    }
}

// One part of three has no rows, and one parameter is not used at all.
TEST_CASE("data parallel: empty parts and parameters without a gradient", "[nn][team][bits]") {
    const auto run_with = [](int64_t processes, int64_t empty) {
        std::vector<Real> outcome;
        run_team(processes, [&](Team& team) {
            const Parameter used(Tensor::from({3}, {1, 2, 3})), unused(Tensor::from({2}, {4, 5}));
            Adam adam({{"used", used}, {"unused", unused}});
            DataParallel parallel(adam, team, 3);
            for (int64_t step = 1; step <= 2; ++step) {
                parallel.backward(step, Rng(0), [&](const StepPart& at, const Mode&) {
                    return at.part == empty ? StepLoss{}
                                            : StepLoss{autograd::sum(autograd::mul(used, used)), 2 + at.part};
                });
                parallel.step(0.1);
            }
            if (team.leads()) {
                outcome = used->to_vector();
                for (const Real x : unused->to_vector())
                    outcome.push_back(x);
                outcome.push_back(static_cast<Real>(adam.steps_of_each()[1]));
            }
        });
        return outcome;
    };
    for (const int64_t empty : {0, 1, 2}) {
        const std::vector<Real> one = run_with(1, empty);
        INFO("part " << empty << " is empty");
        REQUIRE(one.size() == 6);
        CHECK((one[0] < 1 && one[3] == 4 && one[4] == 5 && one[5] == 0));
        CHECK(same_bits(run_with(2, empty), one));
        CHECK(same_bits(run_with(3, empty), one));
    }
}

// As with Adam alone: neither the weight nor its averages change, and the step does not count.
TEST_CASE("data parallel: a parameter that only an earlier step has used does not change", "[nn][team]") {
    for (const auto& [processes, parts] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 3)}) {
        CAPTURE(processes, parts);
        std::vector<Real> before, after;
        std::vector<int64_t> steps;
        run_team(processes, [&, n = parts](Team& team) {
            const Parameter often(Tensor::from({3}, {1, 2, 3})), once(Tensor::from({2}, {4, 5}));
            Adam adam({{"often", often}, {"once", once}});
            DataParallel parallel(adam, team, n);
            for (int64_t step = 1; step <= 2; ++step) {
                if (team.leads())
                    before = once->to_vector();
                parallel.backward(step, Rng(0), [&](const StepPart& at, const Mode&) {
                    const Tensor loss = autograd::sum(autograd::mul(often, often));
                    return StepLoss{at.step == 1 ? loss + autograd::sum(once) : loss, 1};
                });
                parallel.step(0.1);
            }
            if (team.leads())
                after = once->to_vector(), steps = adam.steps_of_each();
        });
        REQUIRE(before.size() == 2);
        CHECK(before[0] < 4);  // the first step has moved it
        CHECK(same_bits(after, before));
        CHECK(steps == std::vector<int64_t>{2, 1});
    }
}

TEST_CASE("data parallel: an epoch's end is noticed, also if the last part has no row in its last batch",
          "[nn][team]") {
    for (const int64_t processes : {1, 2}) {
        CAPTURE(processes);
        std::vector<StepGradient> found(static_cast<std::size_t>(processes));
        run_team(processes, [&](Team& team) {
            const Parameter x(Tensor::from({1}, {1}));
            Adam adam({{"x", x}});
            DataParallel parallel(adam, team, 2);
            found[static_cast<std::size_t>(team.rank())] = parallel.backward(
                1, Rng(0),
                [&](const StepPart& at, const Mode&) {
                    const bool ends = at.batch == 1;
                    return ends && at.part == 1 ? StepLoss{Tensor(), 0, true}
                                                : StepLoss{autograd::sum(x.tensor()), 1, ends};
                },
                3);
            parallel.step(0.1);
        });
        for (const StepGradient& gradient : found) {
            CHECK(gradient.ends_epoch);
            CHECK(gradient.tokens == 3);  // there is no third batch
        }
    }
}

TEST_CASE("data parallel: the parameter whose gradient is not finite is named", "[nn][team]") {
    for (const auto& [processes, parts] : {std::pair(1, 1), std::pair(1, 2), std::pair(2, 2)})
        for (const std::string bad : {"first", "second", ""}) {
            CAPTURE(processes, parts, bad);
            std::vector<std::string> named(static_cast<std::size_t>(processes));
            run_team(processes, [&, n = parts](Team& team) {
                const Parameter first(Tensor::from({1}, {1})), second(Tensor::from({1}, {1}));
                Adam adam({{"first", first}, {"second", second}});
                DataParallel parallel(adam, team, n);
                parallel.backward(1, Rng(0), [&](const StepPart&, const Mode&) {
                    const auto factor = [&](const char* name) { return bad == name ? Real(HUGE_VAL) : 1; };
                    return StepLoss{autograd::sum(first.tensor() * factor("first")) +
                                        autograd::sum(second.tensor() * factor("second")),
                                    1};
                });
                named[static_cast<std::size_t>(team.rank())] = parallel.not_finite();
                parallel.step(0.1);
            });
            for (const std::string& name : named)
                CHECK(name == bad);
        }
}

// A batch without a row is no end: the one behind it still counts. And a tensor that gets a gradient, but is
// no parameter of the optimizer, is left alone.
TEST_CASE("data parallel: an empty batch before another one, and leaves that are not optimized",
          "[nn][team]") {
    for (const int64_t parts : {1, 2}) {
        const Parameter used(Tensor::from({3}, {1, 2, 3}));
        const Tensor other = Tensor::from({3}, {2, 2, 2}).require_grad();
        Adam adam({{"used", used}});
        DataParallel parallel(adam, alone(), parts);
        const StepGradient found = parallel.backward(
            1, Rng(0),
            [&](const StepPart& at, const Mode&) {
                return at.batch == 0 ? StepLoss{} : StepLoss{autograd::sum(autograd::mul(used, other)), 5};
            },
            2);
        CHECK(found.loss == 12);
        parallel.step(0.1);
        CHECK(used->data()[0] < 1);
        const auto n = static_cast<Real>(5 * parts);  // the weights of the terms
        CHECK(other.grad().to_vector() == std::vector<Real>{n, 2 * n, 3 * n});
        CHECK(other.to_vector() == std::vector<Real>{2, 2, 2});
    }
}

TEST_CASE("data parallel: errors", "[nn][team]") {
    const Parameter x(Tensor::from({1}, {1}));
    Adam adam({{"x", x}});
    CHECK(contains(error_of([&] {
                       const DataParallel none(adam, alone(), 0);
                       return Tensor();
                   }),
                   "at least one part: got 0"));
    const auto in_two = [&](const LossOf& loss) {
        return error_of([&] {
            run_team(2, [&](Team& team) {
                const Parameter own(Tensor::from({1}, {1}));
                Adam of_own({{"own", own}});
                DataParallel parallel(of_own, team, 2);
                parallel.backward(1, Rng(0), loss);
            });
            return Tensor();
        });
    };
    CHECK(contains(in_two([](const StepPart&, const Mode&) { return StepLoss{}; }),
                   "all of its parts are empty"));
    CHECK(contains(error_of([&] {
                       run_team(3, [&](Team& team) {
                           const Parameter own(Tensor::from({1}, {1}));
                           Adam of_own({{"own", own}});
                           const DataParallel parallel(of_own, team, 2);
                       });
                       return Tensor();
                   }),
                   "3 processes need at least as many parts: got 2"));
}
