#include EXERCISE  // the learner's page, or ours
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/exercises/marking.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(9);

using Tokens = std::vector<int>;

static std::string text(const Tokens& tokens) {
    std::string out = "(";
    for (const int token : tokens)
        out += (out.size() > 1 ? " " : "") + std::to_string(token);
    return out + ")";
}

// A tree of three tokens: 0 ends, 1 looks better at first, 2 leads to the better sentence.
//     (): 1 0.6, 2 0.4    (1): end 0.4, 1 and 2 0.3    (2): end 0.9, 1 and 2 0.05    others: end 0.5, ...
static Row tree(const Tokens& tokens) {
    Row p = {0.5, 0.25, 0.25};
    if (tokens.empty())
        p = {1e-9, 0.6, 0.4};
    else if (tokens == Tokens{1})
        p = {0.4, 0.3, 0.3};
    else if (tokens == Tokens{2})
        p = {0.9, 0.05, 0.05};
    for (double& value : p)
        value = std::log(value);
    return p;
}

// Some model of V tokens whose probabilities depend on all that was written.
static Row model(const Tokens& tokens) {
    constexpr std::size_t V = 4;
    uint64_t seed = 17;
    for (const int token : tokens)
        seed = seed * 31 + static_cast<uint64_t>(token) + 1;
    return row_of(log_softmax(random_tensor({V}, seed) * 2));
}

// log p of a whole sentence, its end counted or not.
static double log_p_of(const Model& f, const Tokens& tokens, bool with_end = true) {
    double sum = 0;
    Tokens read;
    for (const int token : tokens) {
        sum += f(read)[static_cast<std::size_t>(token)];
        read.push_back(token);
    }
    return with_end ? sum + f(read)[kEnd] : sum;
}

// All sentences of at most `left` more tokens, the end counted.
static void all_sentences(const Tokens& begun, int left, std::vector<Tokens>& out) {
    if (left == 0)
        return;
    out.push_back(begun);
    for (int token = 1; token < 4; ++token) {
        Tokens longer = begun;
        longer.push_back(token);
        all_sentences(longer, left - 1, out);
    }
}

TEST_CASE("beam 1 is greedy search") {
    const std::vector<Hypothesis> found = beam_search(tree, 1, 5, 0);
    exercise.expect(found.size() == 1, "beam 1 returns ", found.size(), " sentences; expected 1");
    exercise.expect(found[0].tokens != Tokens{1, kEnd},
                    "the sentence has kEnd among its tokens: leave it out");
    exercise.expect(found[0].tokens == Tokens{1}, "beam 1 finds ", text(found[0].tokens),
                    "; expected (1), the most probable token in each step");
}

TEST_CASE("log p is that of the whole sentence, its end counted") {
    for (const std::size_t beam : {std::size_t{1}, std::size_t{3}})
        for (const Hypothesis& h : beam_search(tree, beam, 5, 0)) {
            const double right = log_p_of(tree, h.tokens);
            exercise.expect(std::fabs(h.log_p - log_p_of(tree, h.tokens, false)) > 1e-9, "log p of ",
                            text(h.tokens), " is ", h.log_p, "; expected ", right,
                            ": count the end's log p too");
            exercise.expect(std::fabs(h.log_p - right) < 1e-9, "log p of ", text(h.tokens), " is ", h.log_p,
                            "; expected ", right, ", the sum over its tokens and the end");
        }
}

TEST_CASE("beam 2 finds what greedy search misses") {
    const std::vector<Hypothesis> found = beam_search(tree, 2, 5, 0);
    exercise.expect(!found.empty(), "beam 2 finds no sentence");
    exercise.expect(found[0].tokens == Tokens{2}, "beam 2 finds ", text(found[0].tokens), " first, of log p ",
                    found[0].log_p,
                    "; expected (2), log(0.4 0.9) = -1.02. Are all continuations compared, and those ",
                    "with the largest log p kept?");
    exercise.expect(found.size() == 2, "beam 2 returns ", found.size(),
                    " sentences; expected 2: it goes on after the ",
                    "first end until none lives or max_tokens is reached");
}

TEST_CASE("at most `beam` beginnings are continued in each step") {
    constexpr std::size_t kBeam = 3;
    std::map<std::size_t, std::set<Tokens>> continued;  // by length
    const Model counting = [&](const Tokens& tokens) {
        exercise.expect(std::find(tokens.begin(), tokens.end(), kEnd) == tokens.end(), "the sentence ",
                        text(tokens), " has ended and is continued: put it aside");
        continued[tokens.size()].insert(tokens);
        return model(tokens);
    };
    beam_search(counting, kBeam, 5, 0);
    for (const auto& [length, beginnings] : continued)
        exercise.expect(beginnings.size() <= kBeam, "step ", length + 1, " continues ", beginnings.size(),
                        " beginnings; beam = ", kBeam,
                        ": the best are chosen among all continuations together, not ",
                        "among each beginning's");
    exercise.expect(continued.rbegin()->first <= 4, "a step with ", continued.rbegin()->first,
                    " tokens was computed; max_tokens = 5 allows 4 and the end");
}

TEST_CASE("a beam as wide as all sentences finds the best of all") {
    std::vector<Tokens> sentences;
    all_sentences({}, 4, sentences);
    for (const double alpha : {0.0, 1.0}) {
        const auto score = [&](const Tokens& s) {
            return log_p_of(model, s) / std::pow(static_cast<double>(s.size() + 1), alpha);
        };
        std::sort(sentences.begin(), sentences.end(),
                  [&](const Tokens& a, const Tokens& b) { return score(a) > score(b); });
        const std::vector<Hypothesis> found = beam_search(model, 1000, 4, alpha);
        exercise.expect(found.size() == sentences.size(), "an endless beam finds ", found.size(),
                        " sentences of ", sentences.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            exercise.expect(std::fabs(found[i].score - score(found[i].tokens)) < 1e-9, "the score of ",
                            text(found[i].tokens), " with alpha ", alpha, " is ", found[i].score,
                            "; expected ", score(found[i].tokens),
                            " = log p / length^alpha, the end counted in the length");
            exercise.expect(found[i].tokens == sentences[i], "sentence ", i, " with alpha ", alpha, " is ",
                            text(found[i].tokens), "; expected ", text(sentences[i]),
                            ", the largest score first");
        }
    }
}

TEST_CASE("what has not ended is dropped") {
    const Model endless = [](const Tokens&) { return Row{-50, std::log(0.7), std::log(0.3)}; };
    exercise.expect(beam_search(endless, 2, 3, 0).empty(), "a sentence is returned that never ended");
}
