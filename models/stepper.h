// A model that is decoding: the one way from any model to greedy search, beam search and sampling.
//
//     const auto stepper = model.start(src);        // a Transformer: from the source, <sos> first
//     const auto stepper = model.start(prompts);    // a LanguageModel: from the beginning of a text
//     greedy(*stepper, 50);  // or beam_search (models/decoding.h), generate (models/sampling.h)
#pragma once

#include <memory>
#include <vector>

#include "models/config.h"

namespace plaingrad::models {

// Which logits a step computes: each position's, or the last one's, which are all that a search reads.
enum class Logits { all, last };

// A batch of sentences that are being generated, for one search. The model must outlive it and must not
// change meanwhile. From the first step of its first stepper on, a model also holds a copy of each weight
// that was multiplied, in the order in which products read it, until the weight changes (autograd/weight.h):
// as much memory as these weights in float32, half as much in bf16. A model that only generates needs no
// second form of its weights: nn/packing.h.
class Stepper {
public:
    virtual ~Stepper() = default;

    // The next tokens (B, T), T >= 1, without padding -> logits (B, T, V): row t predicts what follows token
    // t, with the same bits as if computed from the whole text. Or only the last row, (B, 1, V): for a prompt
    // of 1,000 tokens and a vocabulary of 50,000, all of them are 200 MB and the largest product by far.
    // Throws Error for another B, for an id outside the vocabulary, or beyond max_length positions; then
    // nothing has changed.
    virtual Tensor step(const Tokens& tokens, Logits which = Logits::all) = 0;
    // Sentence i of the batch becomes what sentence rows[i] was: reorders, repeats, drops. Throws Error for a
    // row that does not exist.
    virtual void select(const std::vector<int32_t>& rows) = 0;
    // Forgets all tokens that were read but the first `length` of each sentence. The source of a translation
    // stays. Throws Error if fewer were read.
    virtual void rewind(int64_t length) = 0;

    const Tokens prompts;  // (B, T), T >= 1: how the sentences begin; the search reads them first
    // How many tokens of each prompt the next search need not read: a search sets it, so that others with the
    // same stepper do not read the prompts again. After a search that drops or reorders sentences, which one
    // with a beam or of several sentences does, the rows are no longer the prompts': start another stepper.
    int64_t known = 0;
    Specials specials;       // the model's; may be changed before a search
    int64_t max_length = 0;  // positions that the model has

protected:
    Stepper(Tokens prompts_, Specials specials_, int64_t max_length_)
        : prompts(std::move(prompts_)), specials(std::move(specials_)), max_length(max_length_) {}
};

}  // namespace plaingrad::models
