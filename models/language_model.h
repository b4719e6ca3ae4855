// The decoder-only language model: what comes next? Radford et al. 2018, 2019 (GPT, GPT-2).
#pragma once

#include <vector>

#include "models/backbone.h"

namespace plaingrad::models {

struct LanguageModel {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    LanguageModel(const StackConfig& config, const Rng& rng);

    // ids (B, T) -> logits (B, T, V); row t predicts what follows position t, from positions 0 .. t.
    // Throws Error for an id outside the vocabulary, or if T is over max_length.
    Tensor operator()(const Tokens& ids, const Mode& mode, AttentionWeights* weights = nullptr) const;

    // cross_entropy((*this)(ids, mode), targets, options), without all logits in memory.
    Tensor loss(const Tokens& ids, const Tokens& targets, const Mode& mode,
                const CrossEntropyOptions& options = {.ignore = kPad}) const;

    // The keys and values of each layer, of the positions that were read.
    struct Cache {
        std::vector<SelfCache> layers;
        int64_t length = 0;  // positions
        Tensor
            table;  // of the output, turned around: as large as the table itself, and of its values at the first step
        void select(const std::vector<int32_t>& rows);  // sentence i becomes the old sentence rows[i]
    };
    // The positions that follow those in the cache: ids (B, T) -> logits (B, T, V), to the bit what the call
    // above gives there. Begin with an empty Cache. No padding, no graph.
    // Throws Error for padding, for another batch than the cache's, and over max_length (cache and T together).
    Tensor step(const Tokens& ids, Cache& cache) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("output", output);
    }

    StackConfig config;
    Rng rng;
    Backbone backbone;
    OutputLayer output;
};

}  // namespace plaingrad::models
