// The model that ./apps/explain takes apart: an encoder-decoder Transformer, trained to reverse three digits.
#pragma once

#include "models/families/transformer.h"
#include "nn/optim.h"

namespace plaingrad::explain {

using Ids = std::vector<int32_t>;

Ids triple_of(int64_t n);  // the ids of the three digits of n, which is below 1,000
// Every seventh triple takes no part in training. 539 is one of them.
constexpr bool held_out(int64_t n) { return n % 7 == 0; }
std::vector<std::string> names_of(const Ids& ids);  // "5", "<sos>"

struct Trained {
    explicit Trained(int64_t seed);
    // The model's own reversals of triples, generated token by token.
    std::vector<Ids> answers(const std::vector<Ids>& triples) const;
    // How many triples come out right, of those that were held out or of the others.
    int64_t count_right(bool unseen) const;

    models::Transformer model;
    nn::Adam adam;
    double learning_rate = 0;  // of the step that comes next
};

}  // namespace plaingrad::explain
