// What the lecture is made of: a tiny trained model, and every value of a forward and a backward pass through
// it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/batch.h"
#include "nn/optim.h"

namespace plaingrad::explain {

// ---- the model: an encoder-decoder Transformer, trained to reverse three digits

using Ids = std::vector<int32_t>;

Ids triple_of(int64_t n);  // the ids of the three digits of n, which is below 1,000
// Every seventh triple takes no part in training. 539 is one of them.
constexpr bool held_out(int64_t n) { return n % 7 == 0; }
std::vector<std::string> names_of(const Ids& ids);  // "5", "<sos>"

struct Trained {
    explicit Trained(int64_t seed);
    Ids answer(const Ids& triple) const;  // the model's own reversal, generated token by token

    models::Transformer model;
    nn::Adam adam;
    double learning_rate = 0;  // of the step that comes next
};

// ---- its values, by name. The model's own layers compute them, in the plain form.

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

// example: one triple of digits and its reversal. Calls the layers one by one, as
// models/families/transformer.cpp does, and within an attention the ops, as autograd/plain.cpp does. Whatever
// the library returns by itself (input, attentions and their weights, memory, logits) must have the same
// bits; otherwise throws Error.
Values forward(const models::Transformer& model, const models::Batch& example);

// Adds gradients of the loss, "dlogits", "ddecoded" and so on, link by link down to one weight of the
// cross-attention's W_Q, the one with the largest gradient; its finite differences; and Adam's step, which
// changes the model. Throws Error unless the links and the graph of the whole model agree.
void backward(Trained& trained, const models::Batch& example, Values& values);

extern const std::string_view lecture;  // lecture.txt, compiled in by the Makefile

}  // namespace plaingrad::explain
