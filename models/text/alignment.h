// Word alignment: which word of the source a word of a translation comes from, judged by the attention.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::models::text {

// (word of the source, word of the translation). Words are separated by spaces and numbered from 0.
using Alignment = std::vector<std::pair<int64_t, int64_t>>;

// In the usual notation, "0-0 2-1".
std::string to_string(const Alignment& alignment);

// weights (B, H, T, S): the attention of a batch of translations to their sources. Returns the position below
// `length` of source b to which token t of its translation attends most, in the mean over the heads. If
// `among` is true anywhere, considers only the positions where it is. Throws Error for a b, t or
// length outside of the weights, and for an `among` that is shorter than length.
int64_t most_attended(const autograd::Tensor& weights, int64_t b, int64_t t, int64_t length,
                      const std::vector<bool>& among = {});

// Aligns each word of translation b with the words of the source that its pieces attend to most: at least
// one. source, target: the word that each piece belongs to. Sorted by the words of the translation.
Alignment align(const autograd::Tensor& weights, int64_t b, const std::vector<int64_t>& source,
                const std::vector<int64_t>& target);

}  // namespace plaingrad::models::text
