#include "models/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "autograd/kernels/kernels.h"

namespace plaingrad::models {
namespace {

using autograd::kernels::cpu;

bool before(const Candidate& a, const Candidate& b) {
    return std::tie(b.log_probability, a.from, a.token) < std::tie(a.log_probability, b.from, b.token);
}

// The best candidates so far, best first, at most `count`.
class Ranking {
public:
    explicit Ranking(std::size_t count) : count_(count) {}

    void add(const Candidate& c) {
        if (c.log_probability <= worst_)
            return;
        best_.insert(std::upper_bound(best_.begin(), best_.end(), c, before), c);
        if (best_.size() > count_)
            best_.pop_back();
        if (best_.size() == count_)
            worst_ = best_.back().log_probability;
    }
    // `add` rejects every continuation of a hypothesis with this log probability by a token whose log
    // probability is at most the result, but for rounding.
    Real rejected(double log_probability) const { return static_cast<Real>(worst_ - log_probability); }
    std::vector<Candidate> best() && { return std::move(best_); }

private:
    std::size_t count_;
    double worst_ = -std::numeric_limits<double>::infinity();  // of a full ranking
    std::vector<Candidate> best_;
};

// log Σ exp of a row of logits, as the two numbers that the kernel of cross-entropy keeps of each row: the
// largest logit, and log Σ exp(logit - largest). They are the same for every target; its loss is not needed.
struct LogSumExp {
    Real largest, rest;
};
LogSumExp log_sum_exp(int64_t vocabulary, const Real* logits) {
    constexpr int32_t target = 0, none_ignored = -1;
    Real loss, statistics[2];
    cpu().cross_entropy(1, vocabulary, logits, &target, none_ignored, 0, &loss, statistics);
    return {statistics[0], statistics[1]};
}

// The log probabilities of a row of logits, with log_softmax's bits, but only those that are asked for.
struct LogSoftmax {
    LogSumExp all;

    Real of(Real logit) const { return (logit - all.largest) - all.rest; }
    // Every logit below the result has at most this log probability. That one is rounded, and so is each step
    // here and in `of`; the margin is larger than all of these errors together.
    Real logit_for(Real log_p) const {
        const Real size = std::abs(log_p) + std::abs(all.largest) + std::abs(all.rest);
        return (log_p + all.rest) + all.largest - 4 * std::numeric_limits<Real>::epsilon() * size;
    }
};

}  // namespace

// Nearly every token of a vocabulary is rejected, by a comparison of its logit alone.
std::vector<Candidate> best_candidates(std::span<const Live> hypotheses, const Tensor& logits,
                                       std::size_t count, const Specials& specials) {
    const int64_t vocabulary = logits.size(1);
    Ranking ranking(count);
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const Real* const row = logits.data() + hypotheses[i].row * vocabulary;
        const LogSoftmax log_p = {log_sum_exp(vocabulary, row)};
        const double so_far = hypotheses[i].log_probability;
        Real bound = log_p.logit_for(ranking.rejected(so_far));
        for (int64_t v = 0; (v += cpu().first_from(vocabulary - v, row + v, bound)) < vocabulary; ++v) {
            if (specials.is_never(static_cast<int32_t>(v)))
                continue;
            const Real p = log_p.of(row[v]);
            check(!std::isnan(p), "[decoding] the probability of id ", v,
                  " is not a number; the model's weights are broken");
            ranking.add({static_cast<int32_t>(i), static_cast<int32_t>(v), so_far + static_cast<double>(p)});
            bound = log_p.logit_for(ranking.rejected(so_far));
        }
    }
    return std::move(ranking).best();
}

}  // namespace plaingrad::models
