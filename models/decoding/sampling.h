// Writing with a model: tokens drawn from its distribution.
#pragma once

#include <functional>

#include "models/decoding/decoding.h"

namespace plaingrad::models {

struct SamplingOptions {
    // The logits are divided by it. Below 1, probable tokens become more probable; above 1, less. 0 is greedy
    // decoding; infinity makes all tokens equally probable.
    double temperature = 1;
    int64_t top_k = 0;  // only the k most probable tokens; 0: all
    double top_p = 1;   // of these only the most probable that together have this probability, the
                        // one that reaches it included (nucleus sampling, Holtzman et al. 2020)
    std::vector<int32_t> never = {};  // ids that are not drawn; `generate` adds those of the stepper
    // Before all that, the logits of tokens that the text already has, its prompt included, are divided by it
    // if they are positive, and multiplied by it if they are negative. Above 1, such tokens become less
    // probable (Keskar et al. 2019, §4.1).
    double repetition_penalty = 1;
};

// One token from the logits of what comes next; uniform: a random number in [0, 1); text: what comes before,
// for repetition_penalty. Of equally probable tokens the smaller id comes first, so temperature 0 and top_k 1
// give the smallest of the most probable. At least one token always survives. Throws Error for options out of
// range, for a logit that is not a number, and if `never` and logits of -inf leave nothing.
int32_t sample(const Real* logits, int64_t vocabulary, double uniform, const SamplingOptions& options = {},
               const std::vector<int32_t>& text = {});

struct GenerationOptions {
    SamplingOptions sampling = {};
    int64_t max_tokens = 100;  // new ones, the end not counted
    // When the text has reached the model's max_length: continue with its newer half as context (true), or
    // end all sentences (false).
    bool slide = true;
};

// Returns the continuation of each of the stepper's prompts, up to one of the stepper's `ends`, which is left
// out. Token i of sentence b is drawn with number i of rng.fork(b), so a sentence does not depend on the
// others in its batch. on_token, if given, is called with each token as it is drawn, and returns whether the
// sentence goes on. Of a prompt longer than max_length, only the end is read if `slide` is true; otherwise
// throws Error.
std::vector<std::vector<int32_t>> generate(
    Stepper& stepper, const Rng& rng, const GenerationOptions& options = {},
    const std::function<bool(int64_t b, int32_t token)>& on_token = {});

}  // namespace plaingrad::models
