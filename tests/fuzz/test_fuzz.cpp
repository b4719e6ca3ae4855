// The fuzzer's targets with any compiler: the inputs that are kept, and mutations of good ones. `make fuzz`
// goes deeper.
#include <algorithm>
#include <cstring>

#include "autograd/plain.h"
#include "tests/catch.h"
#include "tests/fuzz/mutate.h"

using namespace plaingrad;  // NOLINT

TEST_CASE("fuzz: every target takes its seeds, and what is kept is accepted, or refused in one line",
          "[fuzz]") {
    for (const fuzz::Target& target : fuzz::targets()) {
        INFO(target.name);
        for (const std::string& seed : target.seeds()) {
            INFO(fuzz::to_line(seed));
            CHECK(fuzz::accepts(target, seed));
            for (std::size_t part = 0; part < 8; ++part)
                CHECK_NOTHROW(fuzz::accepts(target, seed.substr(0, seed.size() * part / 8)));
        }
        const std::vector<std::string> inputs = fuzz::kept(target);
        CHECK(!inputs.empty());
        for (const std::string& input : inputs) {
            INFO(fuzz::to_line(input));
            CHECK_NOTHROW(fuzz::accepts(target, input));
        }
    }
}

// Of a file of weights, what comes before the numbers, of which any are accepted; of others the whole.
static std::string header(const fuzz::Target& target, const std::string& bytes) {
    uint64_t length = 0;
    if (target.form == fuzz::Form::safetensors)
        std::memcpy(&length, bytes.data(), std::min<std::size_t>(bytes.size(), 8));
    return length == 0 || length > bytes.size() ? bytes : bytes.substr(0, 8 + length);
}

TEST_CASE("fuzz: mutated seeds are accepted, or refused in one line, and enough are accepted", "[fuzz]") {
    constexpr int kRounds = 200;
    for (const fuzz::Target& target : fuzz::targets()) {
        INFO(target.name);
        const std::vector<std::string> seeds = target.seeds();
        REQUIRE(!seeds.empty());
        fuzz::Dice dice(autograd::Rng(1));
        const auto inner = [&](const std::string& bytes) { return fuzz::mutate_bytes(bytes, dice); };
        int accepted = 0;
        for (int round = 0; round < kRounds; ++round) {
            const std::string& seed = dice.one_of(seeds);
            const std::string input = fuzz::mutate(target, seed, inner, dice);
            INFO(fuzz::to_line(input));
            bool is_accepted = false;
            CHECK_NOTHROW(is_accepted = fuzz::accepts(target, input));
            accepted += is_accepted && header(target, input) != header(target, seed) ? 1 : 0;
        }
        CHECK(!autograd::Plain::active());  // which would stay so for all tests that follow
        // A mutator that keeps nothing of a file's structure would have none of them accepted.
        CHECK(accepted >= kRounds / 100);
    }
}
