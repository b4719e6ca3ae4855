// Beam search against its definition: exhaustive search, greedy search, and searches without a cache.
#include <algorithm>

#include "tests/catch.h"
#include "tests/models/steppers.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

// A random model with an <eos> probable enough that sentences of all lengths compete.
Transformer lively(const std::string& kind, uint64_t seed, int64_t vocabulary) {
    Transformer model(small(kind, vocabulary), Rng(seed));
    Tensor weight = model.output.table;
    for (int64_t i = 0; i < weight.numel(); ++i)
        weight.mutable_data()[i] *= 2;
    if (model.output.bias->defined())
        model.output.bias->mutable_data()[kEos] += 1;
    return model;
}

double score(double log_probability, std::size_t tokens, double alpha) {
    return log_probability / std::pow((5 + static_cast<double>(tokens)) / 6, alpha);
}

// Every possible sentence, each with its probability, computed alone and without a cache.
void enumerate(const Transformer& model, const Ids& source, const Hypothesis& so_far, int left, double alpha,
               std::vector<Hypothesis>& all) {
    if (left == 0) {
        all.push_back(so_far);
        all.back().score = score(so_far.log_probability, so_far.ids.size(), alpha);
        return;
    }
    Ids read = so_far.ids;
    read.insert(read.begin(), kSos);
    const Tensor logits = model(padded({source}), padded({read}), Mode::eval());
    const std::vector<Real> log_p = row(autograd::log_softmax(logits), 0, logits.size(1) - 1);
    for (int32_t v = kEos; v < length(log_p); ++v) {
        Hypothesis next = so_far;
        next.log_probability += static_cast<double>(log_p[static_cast<std::size_t>(v)]);
        if (v == kEos) {
            next.finished = true;
            next.score = score(next.log_probability, next.ids.size() + 1, alpha);
            all.push_back(next);
        } else {
            next.ids.push_back(v);
            enumerate(model, source, next, left - 1, alpha, all);
        }
    }
}

std::vector<Hypothesis> exhaustive(const Transformer& model, const Ids& source, int max_tokens,
                                   double alpha) {
    std::vector<Hypothesis> all;
    const autograd::NoGrad no_grad;
    enumerate(model, source, {}, max_tokens, alpha, all);
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.finished != b.finished ? a.finished : a.score > b.score;
    });
    return all;
}

void check_equal(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected,
                 int64_t count) {
    REQUIRE(std::ssize(found) == count);
    REQUIRE(std::ssize(expected) >= count);
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("hypothesis " << i << " of " << count);
        CHECK(found[i].ids == expected[i].ids);
        CHECK(found[i].finished == expected[i].finished);
        CHECK(found[i].log_probability == Approx(expected[i].log_probability).margin(1e-12));
        CHECK(found[i].score == Approx(expected[i].score).margin(1e-12));
    }
}

}  // namespace

TEST_CASE("beam: a wide beam is exhaustive search", "[models][decoding]") {
    for (const double alpha : {0.0, 0.6, 1.0}) {
        for (uint64_t seed = 0; seed < 4; ++seed) {
            const Transformer model = lively(kKinds[seed], seed, 7);
            const Sentences sources = sentences({3, 1}, seed, 7);
            for (std::size_t b = 0; b < 2; ++b) {
                const std::vector<Hypothesis> all = exhaustive(model, sources[b], 3, alpha);
                REQUIRE(all.size() == 1 + 4 + 16 + 64);  // ended at once, after one, after two; cut
                for (const int64_t n_best : {1, 5, 40, 85}) {
                    INFO("alpha " << alpha << ", seed " << seed << ", n_best " << n_best);
                    const auto found =
                        beam_search(*model.start(padded(sources)),
                                    {.beam = 85, .n_best = n_best, .alpha = alpha, .max_tokens = 3});
                    REQUIRE(found.size() == 2);
                    check_equal(found[b], all, n_best);
                }
            }
        }
        const Transformer model = lively("paper", 17, 6);  // with four tokens of six
        const Sentences source = sentences({4}, 17, 6);
        const auto found = beam_search(*model.start(padded(source)),
                                       {.beam = 121, .n_best = 30, .alpha = alpha, .max_tokens = 4});
        check_equal(found.at(0), exhaustive(model, source[0], 4, alpha), 30);
    }
}

TEST_CASE("beam: 1 is greedy, and a sentence in a batch has the same result as alone", "[models][decoding]") {
    int ended = 0, cut = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
        const Transformer model = lively(kKinds[seed % kKinds.size()], seed, 11);
        const Sentences sources = sentences({4, 1, 6, 2}, seed);
        const auto search = [&](const Sentences& s, int64_t beam, int64_t n_best) {
            return beam_search(*model.start(padded(s)),
                               {.beam = beam, .n_best = n_best, .alpha = 0.6, .max_tokens = 10});
        };
        const std::vector<Hypothesis> expected = greedy(*model.start(padded(sources)), 10);
        const auto one = search(sources, 1, 1), together = search(sources, 4, 3);
        REQUIRE((one.size() == 4 && together.size() == 4));
        for (std::size_t b = 0; b < 4; ++b) {
            INFO("seed " << seed << ", sentence " << b);
            REQUIRE(one[b].size() == 1);
            CHECK(one[b][0].ids == expected[b].ids);
            CHECK(one[b][0].finished == expected[b].finished);
            CHECK(one[b][0].log_probability == expected[b].log_probability);
            ++(expected[b].finished ? ended : cut);
            const auto alone = search({sources[b]}, 4, 3);
            REQUIRE(together[b].size() == 3);
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(together[b][i].ids == alone[0][i].ids);
                CHECK(together[b][i].score == alone[0][i].score);
                for (const int32_t id : together[b][i].ids)
                    CHECK((id == kUnk || id >= kFirstFreeId));
            }
        }
    }
    CHECK((ended > 5 && cut > 0));
}
