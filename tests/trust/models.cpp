// Random models of every kind, with every option (tests/draw_config.h): a few training steps, saved and
// resumed, on other instruction sets and numbers of threads, with other padding, decoded with and without the
// cache, fused and plain.
//
// A model that fails is printed with its seed and its configuration.
#include <algorithm>
#include <iostream>

#include "autograd/base/check.h"
#include "tests/folder.h"
#include "tests/trust/instrument.h"
#include "tests/trust/models/check.h"
#include "tests/trust/tally.h"

using namespace plaingrad::trust;  // NOLINT

namespace {

class Models {
public:
    void add(uint64_t seed, const ModelFindings& found) {
        for (const auto& [name, text] : found.wrong)
            if (tally_.add(name, text)) {
                std::cout << "model " << seed << ", " << name << ": " << text << '\n' << describe_model(seed);
                tally_.describe(name, plaingrad::autograd::join("model ", seed, ": ", text));
            }
        decoders_ += found.decodes;
        gradients_ += found.gradients_compared;
        sharp_ += found.n_sharp;
    }

    void print(const Instrument& trust) const {
        tally_.print(trust, "models");
        trust.figure("models.decoders", static_cast<double>(decoders_));
        trust.figure("models.sharp", 100 * static_cast<double>(sharp_) / static_cast<double>(gradients_));
    }

private:
    Tally tally_;
    int64_t decoders_ = 0, gradients_ = 0, sharp_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    return run(
        "models", "random models, trained, saved, resumed and decoded", argc, argv,
        [](const Instrument& trust) {
            const plaingrad::tests::Folder folder;
            const bool one = trust.only > 0;
            const int64_t count = one ? 1 : trust.count(200, 500, 5'000);
            const uint64_t first = one ? trust.only : trust.seed * 1'000'000'000;
            Models models;
            for (int64_t i = 0; i < count; ++i) {
                const uint64_t seed = first + static_cast<uint64_t>(i);
                models.add(seed, check_model(seed, folder.path));
                if ((i + 1) % std::max<int64_t>(count / 10, 1) == 0)
                    std::cout << i + 1 << " models" << std::endl;
            }
            trust.figure("models.models", static_cast<double>(count));
            models.print(trust);
        },
        {}, true);
}
