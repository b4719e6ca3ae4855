// Which word of the source a word of a translation comes from, as the attention to the source tells.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/transformer.h"

namespace plaingrad::models {

// (word of the source, word of the translation): what stands between spaces, counted from 0.
using Alignment = std::vector<std::pair<int64_t, int64_t>>;

// As the field writes it: "0-0 2-1".
std::string to_string(const Alignment& alignment);

// The attention to the source, of a batch of sentences and translations of them, from one more pass over
// both.
//
// It is the mean over the heads of the last layer but one, at the position that predicts a token (Garg et al.
// 2019, "Jointly Learning to Align and Translate with Transformer Models", §4.1). On 300 sentences of
// Multi30k it agrees with 83 % of the words of which a statistical aligner is sure. The last layer agrees as
// often; the first one with 4 %, but with 84 % one position later, where the token has been read (Chen et al.
// 2020, SHIFT-ATT): which position is best depends on the depth.
class CrossAttention {
public:
    // sources end in an end, which translations lack, as they lack the start.
    CrossAttention(const Transformer& model, const std::vector<std::vector<int32_t>>& sources,
                   const std::vector<std::vector<int32_t>>& translations);

    // The position below `length` of source b that token t of its translation attends to most. If `among` is
    // true somewhere, only of the positions where it is.
    int64_t most(int64_t b, int64_t t, int64_t length, const std::vector<bool>& among = {}) const;

private:
    Tensor weights_;  // (B, H, T, S)
};

// Aligns each word of translation b with the words of the source that its pieces attend to most, so each has
// at least one. source, target: the word that each piece belongs to. Sorted by the words of the translation.
Alignment align(const CrossAttention& attention, int64_t b, const std::vector<int64_t>& source,
                const std::vector<int64_t>& target);

}  // namespace plaingrad::models
