#include "models/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace plaingrad::models {
namespace {

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
    // probability is at most the result. The difference is rounded, so it is moved down by two floating-point
    // steps: then it is never too large.
    Real rejected(double log_probability) const {
        constexpr Real lowest = -std::numeric_limits<Real>::infinity();
        return std::nextafter(std::nextafter(static_cast<Real>(worst_ - log_probability), lowest), lowest);
    }
    std::vector<Candidate> best() && { return std::move(best_); }

private:
    std::size_t count_;
    double worst_ = -std::numeric_limits<double>::infinity();  // of a full ranking
    std::vector<Candidate> best_;
};

// Nearly every token of a vocabulary is rejected. So they are compared in blocks of constant size, for which
// the compiler uses vector instructions. NaN counts as above any limit.
constexpr int64_t kBlock = 32;

bool all_rejected(const Real* log_p, Real limit) {
    int more = 0;
    for (int64_t i = 0; i < kBlock; ++i)
        more |= !(log_p[i] <= limit);
    return more == 0;
}

}  // namespace

std::vector<Candidate> best_candidates(std::span<const Live> hypotheses, const Tensor& log_p,
                                       std::size_t count, const Specials& specials) {
    const int64_t vocabulary = log_p.size(1);
    Ranking ranking(count);
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const Real* row = log_p.data() + hypotheses[i].row * vocabulary;
        const double so_far = hypotheses[i].log_probability;
        Real limit = ranking.rejected(so_far);
        for (int64_t begin = 0; begin < vocabulary; begin += kBlock) {
            const int64_t end = std::min(begin + kBlock, vocabulary);
            if (end - begin == kBlock && all_rejected(row + begin, limit))
                continue;
            for (int64_t v = begin; v < end; ++v) {
                const auto token = static_cast<int32_t>(v);
                if (specials.is_never(token))
                    continue;
                check(!std::isnan(row[v]), "[beam_search] the probability of id ", v,
                      " is not a number; the model's weights are broken");
                ranking.add({static_cast<int32_t>(i), token, so_far + static_cast<double>(row[v])});
            }
            limit = ranking.rejected(so_far);
        }
    }
    return std::move(ranking).best();
}

}  // namespace plaingrad::models
