// Everything that is asked of one random model.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plaingrad::trust {

inline constexpr const char* kModelKinds[] = {"Transformer", "LanguageModel", "MaskedLanguageModel",
                                              "Classifier"};

struct ModelFindings {
    // What is wrong, in words; "" if nothing is.
    std::map<std::string, std::string> wrong = {
        {"resumed", ""},    // saved, loaded and trained on: other bits than without a stop
        {"machines", ""},   // other bits with another instruction set or number of threads
        {"decoding", ""},   // other words or probabilities without the cache
        {"padding", ""},    // other bits for a sentence alone than in a batch, or with more padding
        {"gradients", ""},  // fused and plain, beyond the bound
        {"memory", ""},     // still in use when the model is gone
        {"errors", ""},     // an error that nobody expected
    };
    bool decodes = false;  // it has words to write, with and without the cache
    // That are not all 0; of them, those whose bound is below 1 % of their largest number.
    int64_t gradients_compared = 0, n_sharp = 0;
};

// The model that this seed draws, of the kind seed % 4. folder: for its files.
ModelFindings check_model(uint64_t seed, const std::string& folder);
// Its configuration, a field a line.
std::string describe_model(uint64_t seed);

}  // namespace plaingrad::trust
