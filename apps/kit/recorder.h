// Records what a page shows of a training run (page.h), as lines of JSON. They are text because the page's
// script reads them as they are, and so do other tools.
//
//     {"kind":"model","modules":[["encoder.layers.0.norm1","Norm",128],...],"looks":[...]}
//     {"kind":"call","step":0,"facts":[["machine","..., 2 threads"],...],"settings":"--steps=9\n--",
//      "seconds":[["encoder.layers.0.norm1",0.0123],...]}
//     {"kind":"snapshot","step":100,"attention":[...],"values":[...]}
//     {"kind":"embedding","step":100,"labels":["cat",...],"vectors":["",150,2.5,"AfS7..."]}
//     {"kind":"sample","step":100,"text":"5 3 9 -> 9 3 5"}
//     {"kind":"score","step":100,"name":"BLEU","value":31.2}
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nn/checkpoint/json.h"
#include "nn/probe.h"

namespace plaingrad::kit {

using Labels = std::vector<std::string>;
using Scores = std::vector<std::pair<std::string, double>>;

// A text at which the page looks: its tokens as the model reads them, and a pass over it.
struct Look {
    Labels source, target = {};  // target: of an encoder-decoder
    std::function<void(const nn::Mode& mode)> pass = {};
};

// What the recorder knows about a model, which must outlive it.
struct Subject {
    std::vector<nn::NamedModule> modules = {};
    std::vector<nn::NamedParameter> parameters = {};
    std::vector<Look> looks = {};
    autograd::Tensor embedding = {};       // (V, d_model)
    Labels tokens = {};                    // of its rows; those in <> are special and not shown
    std::function<Labels()> samples = {};  // what the model writes now; asked at each snapshot
    std::function<Scores()> scores = {};   // BLEU, ...; asked after validations
    Labels classes = {};                   // of a classifier, with:
    std::function<std::vector<std::vector<int64_t>>()> confusion = {};  // [true class][predicted class]
};
template <class Model>
Subject about(const Model& model, const autograd::Tensor& embedding, const Labels& tokens) {
    return {.modules = nn::modules(model),
            .parameters = nn::parameters(model),
            .embedding = embedding,
            .tokens = tokens};
}

Labels names_of(const std::vector<int32_t>& ids, const Labels& names);
autograd::Tokens first_of(const autograd::Tokens& text, int64_t positions);
// The texts' first positions; all but the first text, if it has padding, are padded to the longest.
std::vector<autograd::Tokens> as_in_a_batch(std::vector<autograd::Tokens> texts, int64_t positions);

std::string base64(const std::string& bytes);

class Recorder {
public:
    // earlier: the lines of a run that is resumed after step `done`. Those of later steps are dropped, as
    // they will come again.
    Recorder(Subject subject, int64_t steps, const std::string& earlier = "", int64_t done = 0);

    // To be called after each step, and before the first one with 0. Takes a snapshot if one is due: ten in
    // the whole run, or fewer, of fewer positions, if the attention of many heads would make the page too
    // large. Returns whether it did.
    bool after_step(int64_t step);
    bool snapshot(int64_t step);  // now, unless there is one of this step
    // A call of the program: pairs of what and where it ran, the settings, as kit::Options keeps them,
    // and the seconds that each layer takes in a training step.
    void call(int64_t step, const std::vector<Labels>& facts, const std::string& settings,
              const std::map<std::string, double>& seconds = {});
    void scores(int64_t step);

    const std::string& lines() const { return lines_; }

private:
    int64_t positions_that_fit(const nn::Probe& seen) const;
    void add(const std::string& kind, int64_t step,
             const std::vector<nn::checkpoint::JsonText::Member>& members);
    void embedding(int64_t step);

    Subject subject_;
    int64_t steps_, snapshots_ = 10, last_ = -1;
    std::string lines_;
};

}  // namespace plaingrad::kit
