#include "tests/trust/instrument.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "apps/kit/options.h"
#include "apps/kit/program.h"

namespace plaingrad::trust {

void Instrument::figure(const std::string& name, double value, const std::string& detail) const {
    std::printf("figure %s %.15g%s%s\n", name.c_str(), value, detail.empty() ? "" : " ", detail.c_str());
    std::fflush(stdout);
}

int run(const std::string& name, const std::string& summary, int argc, char** argv,
        const std::function<void(const Instrument& trust)>& measure, const std::vector<std::string>& parts,
        bool numbers) {
    return kit::run(name, argv[0], [&] {
        std::string scale = "quick";
        int64_t seed = 1, only = 0;
        kit::Options options({"build/trust/" + name, summary});
        options.add("--scale", "how many cases", scale, {"quick", "sample", "long"});
        options.add("--seed", "N", "which cases", seed, {.max = 1'000'000'000});
        if (numbers)
            options.add("--only", "N", "one case alone, by the number that was printed; 0: all", only);
        options.add_threads();
        options.parse(argc, argv);
        const char* const given = std::getenv("TRUST_PART");
        const std::string part = given == nullptr ? "" : given;
        if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end())
            throw kit::UsageError(autograd::join("there is no part '", part, "' of ", name));
        measure({scale == "long"     ? Scale::full
                 : scale == "sample" ? Scale::sample
                                     : Scale::quick,
                 static_cast<uint64_t>(seed), static_cast<uint64_t>(only), part});
        return 0;
    });
}

}  // namespace plaingrad::trust
