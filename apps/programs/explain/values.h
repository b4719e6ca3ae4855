// Every value of a forward and a backward pass, by name. The model's own layers compute them, in the plain
// form.
#pragma once

#include <map>
#include <string>

#include "apps/programs/explain/train.h"
#include "models/batch.h"

namespace plaingrad::explain {

using autograd::Tensor;
using Words = std::vector<std::string>;

// labels: what its rows are and what its columns are. S: source tokens, T: the tokens that the decoder reads,
// V: symbols of an answer, i: indices. A third letter, #, marks weights between 0 and 1, which are shaded.
struct Value {
    std::string labels;
    Tensor x;
};
struct Values {
    std::map<std::string, Value> all;
    std::map<std::string, Words> words;  // among them S, T and V

    Tensor keep(const std::string& name, const std::string& labels, const Tensor& x) {
        return (all[name] = {labels, x}).x;
    }
    void keep(const std::string& name, double x) { keep(name, "", static_cast<autograd::Real>(x)); }
    const Tensor& operator()(const std::string& name) const { return all.at(name).x; }
};

// x (1, T, V) -> (11, T): a row for each symbol that can be an answer, the digits and <eos>.
Tensor by_symbol(const Tensor& x);
Tensor split_heads(const Tensor& x);  // (1, T, H*D) -> (1, H, T, D), of two heads

// example: one triple of digits and its reversal. Calls the layers one by one, as
// models/families/transformer.cpp does, and within an attention the ops, as autograd/plain.cpp does. Whatever
// the library returns by itself (input, attentions and their weights, memory, logits) must have the same
// bits; otherwise throws Error. Adds what the words about cross-attention need.
Values forward(const models::Transformer& model, const models::Batch& example);

// Adds how far the fused form of the library is from the plain one: "fused.logits", and "fused.gradients" of
// all parameters, each relative to the largest of its kind. Throws Error above 1e-5 and 1e-3. (Where an
// answer is nearly certain, softmax - target is the small difference of numbers near 1, so that rounding
// weighs more: gradients differ by up to 2e-4.)
void compare_with_fused(const models::Transformer& model, const models::Batch& example, Values& values);

// Adds gradients of the loss, "dlogits", "ddecoded" and so on, link by link down to one weight of the
// cross-attention's W_Q, the one with the largest gradient; its finite differences; and Adam's step, which
// changes the model. Throws Error unless the links and the graph of the whole model agree.
void backward(Trained& trained, const models::Batch& example, Values& values);

}  // namespace plaingrad::explain
