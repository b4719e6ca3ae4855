#include "models/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "autograd/base/parallel.h"

namespace plaingrad::models {
namespace {

// No tokens at all, when none may be said, count as one: there is no mean of nothing.
double length_penalty(std::size_t tokens, const BeamOptions& o) {
    return std::pow((o.k + static_cast<double>(std::max<std::size_t>(tokens, 1))) / (o.k + 1), o.alpha);
}

// A hypothesis that is still growing: row `row` of the stepper's batch.
struct Live {
    int32_t row;
    std::vector<int32_t> ids;
    double log_probability;
};

// One way to go on from a live hypothesis.
struct Candidate {
    int32_t from;  // index into the sentence's live hypotheses
    int32_t token;
    double log_probability;
};

struct Search {
    int64_t max_tokens;
    std::vector<Live> live;
    std::vector<Hypothesis> done;      // best first
    bool most_probable_ended = false;  // at some step the best of all continuations was an end
};

bool before(const Candidate& a, const Candidate& b) {
    return std::tie(b.log_probability, a.from, a.token) < std::tie(a.log_probability, b.from, b.token);
}

// The best candidates so far, best first, at most `count`; of equal ones the earlier hypothesis and the smaller id.
class Ranking {
public:
    // count >= 1
    explicit Ranking(std::size_t count) : count_(count) {}

    void add(const Candidate& c) {
        if (c.log_probability <= enough_)
            return;
        best_.insert(std::upper_bound(best_.begin(), best_.end(), c, before), c);
        if (best_.size() > count_)
            best_.pop_back();
        if (best_.size() == count_)
            enough_ = best_.back().log_probability;
    }
    // A number up to which no log probability, added to that of a hypothesis, is enough. Two steps below the
    // rounded difference, so that no rounding matters.
    Real too_little(double log_probability) const {
        constexpr Real lowest = -std::numeric_limits<Real>::infinity();
        return std::nextafter(std::nextafter(static_cast<Real>(enough_ - log_probability), lowest), lowest);
    }
    std::vector<Candidate> best() && { return std::move(best_); }

private:
    std::size_t count_;
    double enough_ = -std::numeric_limits<double>::infinity();
    std::vector<Candidate> best_;
};

// Nearly all of a vocabulary is worse than what has been found: a block of ids is passed over by one vector of
// comparisons, for which the compiler needs its size. Not a number counts as more than any limit.
constexpr int64_t kBlock = 32;

bool all_at_most(const Real* x, Real limit) {
    int more = 0;
    for (int64_t i = 0; i < kBlock; ++i)
        more |= !(x[i] <= limit);
    return more == 0;
}

std::vector<Candidate> best_candidates(const std::vector<Live>& live, const Tensor& log_p,
                                       std::size_t count) {
    const int64_t vocabulary = log_p.size(1);
    Ranking ranking(count);
    for (std::size_t i = 0; i < live.size(); ++i) {
        const Real* row = log_p.data() + live[i].row * vocabulary;
        const double so_far = live[i].log_probability;
        Real limit = ranking.too_little(so_far);
        // <pad> and <sos>, before <eos>, are never said.
        for (int64_t v = kEos, end; v < vocabulary; v = end) {
            end = std::min(v + kBlock, vocabulary);
            if (end - v == kBlock && all_at_most(row + v, limit))
                continue;
            for (; v < end; ++v) {
                check(!std::isnan(row[v]), "[beam_search] the probability of id ", v,
                      " is not a number; the model's weights are broken");
                ranking.add(
                    {static_cast<int32_t>(i), static_cast<int32_t>(v), so_far + static_cast<double>(row[v])});
            }
            limit = ranking.too_little(so_far);
        }
    }
    return std::move(ranking).best();
}

bool better(const Hypothesis& a, const Hypothesis& b) {
    return a.finished != b.finished ? a.finished : a.score > b.score;
}

// finished: with <eos>, which is counted, though it is not among the ids.
void finish(Search& search, const std::vector<int32_t>& ids, double log_probability, bool finished,
            const BeamOptions& o) {
    const double penalty = length_penalty(ids.size() + (finished ? 1 : 0), o);
    const Hypothesis h = {ids, log_probability, log_probability / penalty, finished};
    search.done.insert(std::upper_bound(search.done.begin(), search.done.end(), h, better), h);
}

// Whether no live hypothesis can still be among the n best. Its log probability can only fall, and the
// penalty that divides it is at most that of the longest sentence.
bool decided(const Search& search, const BeamOptions& o) {
    if (static_cast<int64_t>(search.done.size()) < o.n_best)
        return false;
    const double worst = search.done[static_cast<std::size_t>(o.n_best) - 1].score;
    const double longest = length_penalty(static_cast<std::size_t>(search.max_tokens) + 1, o);
    return std::none_of(search.live.begin(), search.live.end(),
                        [&](const Live& l) { return l.log_probability / longest > worst; });
}

// What is still live was cut: it is no whole sentence.
void end_search(Search& search, const BeamOptions& o) {
    for (const Live& l : search.live)
        finish(search, l.ids, l.log_probability, false, o);
    search.live.clear();
}

// One step of one sentence: its live hypotheses give way to their best continuations. Each of them ends in one way
// at most, so twice as many continuations as places leave enough that go on. Of those that end only the best count:
// one that is worse than `beam` others is not what the beam would have kept. (If one hypothesis is all, and the best
// continuation is an end, it is done.)
void advance(Search& search, const Tensor& log_p, const BeamOptions& o) {
    const auto beam = static_cast<std::size_t>(o.beam);
    const std::vector<Candidate> candidates = best_candidates(search.live, log_p, beam == 1 ? 1 : 2 * beam);
    if (candidates.empty())
        return end_search(search, o);
    std::vector<Live> next;
    for (std::size_t rank = 0; rank < candidates.size() && next.size() < beam; ++rank) {
        const Candidate& c = candidates[rank];
        const Live& from = search.live[static_cast<std::size_t>(c.from)];
        if (c.token != kEos) {
            next.push_back({from.row, from.ids, c.log_probability});
            next.back().ids.push_back(c.token);
        } else if (rank < beam) {
            finish(search, from.ids, c.log_probability, true, o);
            search.most_probable_ended = search.most_probable_ended || rank == 0;
        }
    }
    const bool is_done = search.done.size() >= beam && search.most_probable_ended;
    search.live = is_done ? std::vector<Live>() : std::move(next);
}

std::vector<Search> begin(int64_t batch, int64_t max_tokens, const BeamOptions& o) {
    check(o.max_tokens_of.empty() || std::ssize(o.max_tokens_of) == batch, "[beam_search] max_tokens_of has ",
          o.max_tokens_of.size(), " numbers, the batch ", batch, " sentences");
    std::vector<Search> searches;
    for (int32_t b = 0; b < batch; ++b) {
        const int64_t own =
            o.max_tokens_of.empty() ? max_tokens : o.max_tokens_of[static_cast<std::size_t>(b)];
        check(own >= std::min<int64_t>(1, max_tokens), "[beam_search] max_tokens_of must be at least 1: got ",
              own);
        searches.push_back({.max_tokens = std::min(own, max_tokens), .live = {{b, {}, 0}}, .done = {}});
    }
    return searches;
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Stepper& stepper, int64_t batch, const BeamOptions& o) {
    check(o.n_best >= 1 && o.n_best <= o.beam, "[beam_search] n_best must be from 1 to the beam's width ",
          o.beam, ": got ", o.n_best);
    check(batch >= 0, "[beam_search] the batch must not be negative: got ", batch);
    check(o.max_tokens >= 0 && o.alpha >= 0 && o.k >= 0,
          "[beam_search] max_tokens, alpha and k must not be negative");
    const int64_t max_tokens = std::min(o.max_tokens, stepper.max_length());
    std::vector<Search> searches = begin(batch, max_tokens, o);
    std::vector<int32_t> tokens(searches.size(), kSos);

    for (int64_t length = 0; !tokens.empty() && length < max_tokens; ++length) {
        const Tensor log_p = autograd::log_softmax(stepper.step(tokens));  // (rows, V)
        check(log_p.size(1) > kEos, "[beam_search] a vocabulary of ", log_p.size(1),
              " has no <eos>, which is id ", int(kEos));
        std::vector<int32_t> rows;
        tokens.clear();
        autograd::parallel_for(0, batch, 1, [&](int64_t b, int64_t) {
            Search& search = searches[static_cast<std::size_t>(b)];
            advance(search, log_p, o);
            if (decided(search, o))
                search.live.clear();
            if (length + 1 == search.max_tokens)
                end_search(search, o);
        });
        bool same = true;  // the rows stay where they are
        for (Search& search : searches) {
            for (Live& l : search.live) {  // the batch shrinks as sentences end
                const auto row = static_cast<int32_t>(tokens.size());
                same = same && l.row == row;
                rows.push_back(std::exchange(l.row, row));
                tokens.push_back(l.ids.back());
            }
        }
        if (!rows.empty() && !(same && static_cast<int64_t>(rows.size()) == log_p.size(0)))
            stepper.select(rows);
    }

    std::vector<std::vector<Hypothesis>> results;
    for (Search& search : searches) {
        end_search(search, o);
        search.done.resize(std::min(search.done.size(), static_cast<std::size_t>(o.n_best)));
        results.push_back(std::move(search.done));
    }
    return results;
}

std::vector<Hypothesis> greedy(Stepper& stepper, int64_t batch, int64_t max_tokens) {
    std::vector<Hypothesis> results;
    for (std::vector<Hypothesis>& best :
         beam_search(stepper, batch, {.beam = 1, .n_best = 1, .alpha = 0, .max_tokens = max_tokens}))
        results.push_back(std::move(best[0]));
    return results;
}

}  // namespace plaingrad::models
