// From a language model to text: one token after the other, each drawn from the model's distribution.
#pragma once

#include <functional>
#include <vector>

#include "models/language_model.h"

namespace plaingrad::models {

struct SamplingOptions {
    double temperature = 1;  // logits are divided by it: below 1 more careful, above 1 wilder; 0 is greedy
    int64_t top_k = 0;       // only the k most probable tokens; 0: all
    double top_p = 1;        // of these only the most probable ones that together have this probability, the
                             // one that reaches it included (nucleus sampling, Holtzman et al. 2020)
    std::vector<int32_t> never = {kPad, kSos, kUnk};  // ids that are not drawn: no text contains them
};

// One token from the logits of what comes next; uniform: a random number in [0, 1). Of equally probable tokens
// the smaller id comes first, so temperature 0 and top_k 1 give the smallest of the most probable. At least one
// token always survives. Throws Error for options out of range, for a logit that is not a number, and if
// `never` and logits of -inf leave nothing.
int32_t sample(const Real* logits, int64_t vocabulary, double uniform, const SamplingOptions& options = {});

struct GenerationOptions {
    SamplingOptions sampling = {};
    int64_t max_tokens = 100;            // new ones, the stop token not counted
    std::vector<int32_t> stop = {kEos};  // a sentence ends before these
    // When the text has reached the model's max_length: go on with the newer half of it as context (true), or
    // end all sentences (false).
    bool slide = true;
};

// What each prompt (a row; all of one length, at least 1, without padding) is continued by. Token i of sentence
// b is drawn with number i of rng.fork(b), so a sentence does not depend on the others of its batch. on_token,
// if given, is called with each token as it is drawn. A prompt over max_length is read from its end if it may
// slide, else refused.
std::vector<std::vector<int32_t>> generate(
    const LanguageModel& model, const Tokens& prompts, const Rng& rng, const GenerationOptions& options = {},
    const std::function<void(int64_t b, int32_t token)>& on_token = {});

}  // namespace plaingrad::models
