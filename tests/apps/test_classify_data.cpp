// The texts that classify holds out.
#include "apps/programs/classify/classify.h"

#include <set>

#include "tests/catch.h"

using namespace plaingrad;            // NOLINT
using namespace plaingrad::classify;  // NOLINT

TEST_CASE("classify does not learn from a held-out text under another label either", "[classify]") {
    std::vector<Example> all;
    for (const char* const text : {"p", "q", "r", "s"})
        for (const char* const label : {"a", "b"})
            all.push_back({label, text, ""});
    std::set<int64_t> sizes;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const Corpus corpus = hold_out(all, 2, autograd::Rng(seed));
        REQUIRE(corpus.held_out.size() == 2);
        const std::set<std::string> texts = {corpus.held_out[0].text, corpus.held_out[1].text};
        for (const Example& e : corpus.training)
            CHECK_FALSE(texts.contains(e.text));
        CHECK(std::ssize(corpus.training) == 8 - 2 * std::ssize(texts));
        sizes.insert(std::ssize(texts));
    }
    CHECK(sizes == std::set<int64_t>{1, 2});  // a text under both labels, and two texts
}
