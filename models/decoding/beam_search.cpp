#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/base/portable_math.h"
#include "autograd/kernels/kernels.h"
#include "models/decoding/decoding.h"

namespace plaingrad::models {
namespace {

// A hypothesis that is still growing.
struct Live : Hypothesis {
    int32_t row;  // of the stepper's batch
};

// A live hypothesis and one more token.
struct Candidate {
    std::size_t from;  // which hypothesis
    int32_t token;
    double log_probability;  // of the hypothesis with this token
};

// The search for one sentence of the batch.
struct Search {
    int64_t max_tokens;
    std::vector<Live> live;
    std::vector<Hypothesis> done = {};  // best first
    bool most_probable_ended = false;   // at some step the top candidate ended its sentence
};

// The log probabilities of a row of logits: log_softmax's, to the bit, but only where they are asked for. To
// write all of them would take a twentieth of a small model's step.
struct LogSoftmax {
    LogSoftmax(const Real* logits_, int64_t vocabulary) : logits(logits_) {
        constexpr int32_t target = 0, none_ignored = -1;  // of a loss, which has no use here
        Real loss;
        autograd::kernels::cpu().cross_entropy(1, vocabulary, logits, &target, none_ignored, 0, &loss, sum);
    }
    Real of(int32_t id) const {
        const Real p = (logits[id] - sum[0]) - sum[1];
        check(!std::isnan(p), "[decoding] the probability of id ", id,
              " is not a number; the model's weights are broken");
        return p;
    }
    // A bound that each logit reaches whose log probability is p or more. `of` and this function round
    // some sums, each by at most epsilon times the numbers in it; 8 is more than all of that.
    Real least_logit(Real p) const {
        const Real size = std::abs(p) + std::abs(sum[0]) + sum[1];
        return p + sum[1] + sum[0] - 8 * std::numeric_limits<Real>::epsilon() * size;
    }

    const Real* logits;
    Real sum[2];  // the largest logit, and log Σ exp(logit - largest)
};

// An empty sentence counts as length 1, to avoid dividing by 0.
double length_penalty(std::size_t tokens, const BeamOptions& o) {
    const auto length = static_cast<double>(std::max<std::size_t>(tokens, 1));
    return autograd::portable::pow((o.k + length) / (o.k + 1), o.alpha);
}

bool better(const Hypothesis& a, const Hypothesis& b) {
    return a.finished != b.finished ? a.finished : a.score > b.score;
}

// finished: an end token was generated. It counts in the length but is not stored in ids.
void finish(Search& search, Hypothesis h, bool finished, const BeamOptions& o) {
    h.score = h.log_probability / length_penalty(h.ids.size() + (finished ? 1 : 0), o);
    h.finished = finished;
    search.done.insert(std::upper_bound(search.done.begin(), search.done.end(), h, better), h);
    if (finished && o.kept != nullptr)
        o.kept->push_back(h);
}

// The live hypotheses become results, too, as unfinished ones.
void end_search(Search& search, const BeamOptions& o) {
    for (const Live& l : search.live)
        finish(search, l, false, o);
    search.live.clear();
}

// Whether no live hypothesis can still be among the n best. Its log probability can only fall, and the
// penalty that divides it is at most that of the longest sentence.
bool decided(const Search& search, const BeamOptions& o) {
    if (static_cast<int64_t>(search.done.size()) < o.n_best)
        return false;
    const double worst = search.done[static_cast<std::size_t>(o.n_best) - 1].score;
    const double longest = length_penalty(static_cast<std::size_t>(search.max_tokens), o);
    return std::none_of(search.live.begin(), search.live.end(),
                        [&](const Live& l) { return l.log_probability / longest > worst; });
}

// One step of one sentence: replaces its live hypotheses by their best continuations. Those that end go to
// `done`.
//
// How many candidates are enough to leave `beam` live ones? With one end token, each hypothesis has one
// continuation that ends. Take beam 2: at most 2 of the best 4 candidates end, so 2 are left. In general the
// number is beam + beam * ends. Beam 1 needs only one candidate: if that one ends, so does the search. A
// candidate that ends but is not among the best `beam` is dropped, like any other of its rank.
void advance(Search& search, const Tensor& logits, const BeamOptions& o, const Specials& specials) {
    const auto beam = static_cast<std::size_t>(o.beam);
    const int64_t V = logits.size(1);
    const std::size_t all = search.live.size() * static_cast<std::size_t>(V);  // continuations
    const std::size_t enough = beam == 1 ? 1 : std::min(beam, all) * (1 + specials.ends.size());
    std::vector<Candidate> candidates;  // best first, ties going to the earlier hypothesis
    for (std::size_t i = 0; i < search.live.size(); ++i) {
        const Live& l = search.live[i];
        const Real* const row = logits.data() + l.row * V;
        const LogSoftmax log_p(row, V);
        // A candidate's logit must be as large as that of the last of enough others. If one is enough, it is
        // the largest of all, unless that one is forbidden.
        const Real least =
            candidates.size() == enough
                ? log_p.least_logit(Real(candidates.back().log_probability - l.log_probability))
            : enough == 1 ? log_p.sum[0]
                          : -INFINITY;
        std::vector<int32_t> best = best_ids(row, V, static_cast<int64_t>(enough), specials.never, least);
        if (best.empty() && candidates.empty())
            best = best_ids(row, V, static_cast<int64_t>(enough), specials.never);
        for (const int32_t v : best)
            candidates.push_back({i, v, l.log_probability + static_cast<double>(log_p.of(v))});
        std::inplace_merge(candidates.begin(), candidates.end() - std::ssize(best), candidates.end(),
                           [](auto& a, auto& b) { return a.log_probability > b.log_probability; });
        candidates.resize(std::min(candidates.size(), enough));
    }
    if (candidates.empty())  // the search is done already, or no token has a probability
        return end_search(search, o);
    std::vector<Live> next;
    for (std::size_t rank = 0; rank < candidates.size() && next.size() < beam; ++rank) {
        const Candidate& c = candidates[rank];
        const Live& from = search.live[c.from];
        if (!specials.is_end(c.token)) {
            next.push_back({{from.ids, c.log_probability}, from.row});
            next.back().ids.push_back(c.token);
            if (o.kept != nullptr)
                o.kept->push_back(next.back());
        } else if (rank < beam) {
            finish(search, {from.ids, c.log_probability}, true, o);
            search.most_probable_ended = search.most_probable_ended || rank == 0;
        }
    }
    const bool is_done = search.done.size() >= beam && search.most_probable_ended;
    search.live = is_done ? std::vector<Live>() : std::move(next);
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Stepper& stepper, const BeamOptions& o) {
    check(o.beam >= 1, "[beam_search] beam must be at least 1: got ", o.beam);
    check(o.n_best >= 1 && o.n_best <= o.beam, "[beam_search] n_best must be from 1 to the beam's width ",
          o.beam, ": got ", o.n_best);
    check(o.alpha >= 0 && o.k >= 0, "[beam_search] alpha and k must not be negative: got ", o.alpha, ", ",
          o.k);
    const int64_t batch = stepper.prompts.batch(), max_tokens = room_for(stepper, o.max_tokens);
    check(o.max_tokens_of.empty() || std::ssize(o.max_tokens_of) == batch, "[beam_search] max_tokens_of has ",
          o.max_tokens_of.size(), " numbers, the batch ", batch, " sentences");
    std::vector<Search> searches;
    for (int32_t b = 0; b < batch; ++b) {
        const int64_t own =
            o.max_tokens_of.empty() ? max_tokens : o.max_tokens_of[static_cast<std::size_t>(b)];
        searches.push_back({.max_tokens = std::min(own, max_tokens), .live = {{{}, b}}});
    }
    Rows rows(stepper);
    for (int64_t length = 0; length < max_tokens && !rows.empty(); ++length) {
        const Tensor logits = rows.step();  // (rows, V)
        autograd::parallel_for(0, batch, 1, [&](int64_t b, int64_t) {
            Search& search = searches[static_cast<std::size_t>(b)];
            advance(search, logits, o, stepper.specials);
            if (decided(search, o))
                search.live.clear();
            if (length + 1 == search.max_tokens)
                end_search(search, o);
        });
        for (Search& search : searches)
            for (Live& l : search.live)
                l.row = rows.keep(l.row, l.ids.back());
    }
    std::vector<std::vector<Hypothesis>> results;
    for (Search& search : searches) {
        end_search(search, o);
        search.done.resize(std::min(search.done.size(), static_cast<std::size_t>(o.n_best)));
        results.push_back(std::move(search.done));
    }
    return results;
}

// With an alpha of 0 the score is the log probability.
std::vector<Hypothesis> greedy(Stepper& stepper, int64_t max_tokens) {
    return autograd::mapped(beam_search(stepper, {.beam = 1, .alpha = 0, .max_tokens = max_tokens}),
                            [](const std::vector<Hypothesis>& found) { return found[0]; });
}

}  // namespace plaingrad::models
