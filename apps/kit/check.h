// --check: is this model ready for a long run, on this data and with these settings? A few seconds of
// questions with known answers find what a loss curve hides for hours: targets that the model can see, inputs
// that it cannot, a learning rate that is far off. (Most are from A. Karpathy's "A Recipe
// for Training Neural Networks", 2019.)
#pragma once

#include <algorithm>

#include "models/batch.h"
#include "models/runs/run.h"

namespace plaingrad::kit {

// Texts as a model reads them, and what it should answer.
struct Examples {
    std::vector<autograd::Tokens> inputs;  // of an encoder-decoder: what each half reads; else one
    autograd::Tokens targets;              // (B, T), one for each position; or (B, 1)
};
// Only the first of the inputs decides about the rows.
Examples part_of(const Examples& batch, const nn::StepPart& at);
inline int64_t row_count(const Examples& batch) { return batch.targets.batch(); }
Examples examples_of(const models::Batch& batch);     // with teacher forcing
Examples examples_of(const autograd::Tokens& texts);  // each position predicts the next one

inline int64_t without_padding(const autograd::Tokens& tokens) {
    return std::ssize(tokens.ids()) - std::count(tokens.ids().begin(), tokens.ids().end(), tokens.pad());
}

// What a model learns, as functions: its answers, its loss, and the batches of a run. --check examines it,
// and the plan takes its time.
struct Objective {
    using Inputs = std::vector<autograd::Tokens>;

    std::function<autograd::Tensor(const Inputs&, const nn::Mode&)> logits = {};  // (B, T, V); or (B, V)
    std::function<autograd::Tensor(const Examples&, const nn::Mode&)> loss = {};  // that training computes
    std::function<Examples(int64_t step)> examples = {};  // the run's batch of that step
    bool causal = true;  // position t of the last input, and what precedes it, predicts target t

    // The loss of a part of a step, with the tokens that it learns to predict; or, if all is predicted at
    // once, that it reads.
    nn::StepLoss operator()(const Examples& part, const nn::Mode& mode) const {
        return {loss(part, mode), without_padding(causal ? part.targets : part.inputs[0])};
    }
};
template <class Model>
Objective objective_of(const Model& model, const std::function<Examples(int64_t step)>& examples,
                       bool causal = true) {
    const auto logits = [&model](const Objective::Inputs& in, const nn::Mode& mode) {
        if constexpr (std::is_same_v<Model, models::Transformer>)
            return model(in[0], in[1], mode);
        else
            return model(in[0], mode);
    };
    const Model* const of = &model;  // captured where it is used
    const auto loss = [=](const Examples& e, const nn::Mode& mode) {
        if constexpr (std::is_same_v<Model, models::Transformer>)
            return of->loss(e.inputs[0], e.inputs[1], e.targets, mode);
        else if constexpr (requires { of->loss(e.inputs[0], e.targets, mode); })
            return of->loss(e.inputs[0], e.targets, mode);
        else
            return cross_entropy(logits(e.inputs, mode), e.targets);
    };
    return {logits, loss, examples, causal};
}

// Asks everything about a new model, and prints a line for each answer to standard output, with what an
// unexpected one usually means (help_texts.txt). Returns whether all are as expected. The model's weights
// are the same afterwards.
struct RunPlan;
bool check(const models::RunModel& model, const RunPlan& plan);

}  // namespace plaingrad::kit
