// The fuzzer's readers on mutations of good files, with any compiler. `make fuzz` goes deeper.
#include "autograd/random.h"
#include "tests/catch.h"
#include "tests/fuzz/readers.h"

using namespace plaingrad;  // NOLINT

namespace {

class Mutator {
public:
    std::string operator()(std::string bytes) {
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
            bytes += bytes.empty() ? " " : "";
            const std::size_t at = below(bytes.size()), length = below(16);
            switch (below(6)) {
                case 0:
                    bytes[at] = static_cast<char>(below(256));
                    break;
                case 1:
                    bytes[at] = kPieces[below(kPieces.size())];
                    break;
                case 2:
                    bytes.erase(at, length);
                    break;
                case 3:
                    bytes.insert(at, 1, kPieces[below(kPieces.size())]);
                    break;
                case 4:
                    bytes.insert(at, "\\n");  // which becomes a line break in a name
                    break;
                default:
                    bytes.insert(below(bytes.size()), bytes.substr(at, length));
                    break;
            }
        }
        return bytes;
    }

private:
    std::size_t below(std::size_t n) {
        return static_cast<std::size_t>(rng_.uniform(i_++) * static_cast<double>(n));
    }

    const std::string kPieces = "{}[]\",:\\u0eE+-.19tfn \n\x80\xc3";
    autograd::Rng rng_{1};
    uint64_t i_ = 0;
};

}  // namespace

TEST_CASE("fuzz: every reader takes its seeds, and mutations of them or complains in one line", "[fuzz]") {
    constexpr int kRounds = 300;
    for (const fuzz::Reader& reader : fuzz::readers()) {
        INFO(reader.name);
        const std::vector<std::string> seeds = reader.seeds();
        REQUIRE(!seeds.empty());
        Mutator mutated;
        int refused = 0;
        for (const std::string& seed : seeds) {
            CHECK(fuzz::reads(reader, seed));
            for (std::size_t part = 0; part < 8; ++part)
                fuzz::reads(reader, seed.substr(0, seed.size() * part / 8));
        }
        for (int round = 0; round < kRounds; ++round)
            refused +=
                fuzz::reads(reader, mutated(seeds[static_cast<std::size_t>(round) % seeds.size()])) ? 0 : 1;
        CHECK(refused > 0);
        CHECK(refused < kRounds);
    }
}
