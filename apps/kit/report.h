// --report FILE.html: a page that shows the run, written as it goes on and at its end. What the page
// needs is also kept in the run's folder, so that apps/report makes it afterwards.
//
//     kit::Run run(folder, run_model, options, {.report_model = kit::report_model_of(model, texts, names)});
//
// It is one HTML file that needs nothing else, also no network: run_page.html with the data. It draws by its
// own script; its policy allows that script and that style, by their hashes, and nothing else.
//
// What it shows is recorded as lines of JSON, which its script reads as they are, and so do other tools:
//
//     {"kind":"model","modules":[["encoder.layers.0.norm1","Norm",128],...],"looks":[...]}
//     {"kind":"call","step":0,"facts":[["machine","..., 2 threads"],...],"settings":"--steps=9\n--",
//      "seconds":[["encoder.layers.0.norm1",0.0123],...]}
//     {"kind":"snapshot","step":100,"attention":[...],"values":[...]}
//     {"kind":"embedding","step":100,"labels":["cat",...],"vectors":["",150,2.5,"01f4bb..."]}
//     {"kind":"sample","step":100,"text":"5 3 9 -> 9 3 5"}
//     {"kind":"score","step":100,"name":"BLEU","value":31.2}
//
// A call of the program takes the steps behind its own again, and then these lines come again, too.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/base/list.h"
#include "models/batch.h"
#include "models/runs/run.h"
#include "nn/probe.h"

namespace plaingrad::kit {

using autograd::Real;
using autograd::Tensor;
using autograd::Tokens;
using Labels = std::vector<std::string>;
using Scores = std::vector<std::pair<std::string, double>>;

// What the model says at a snapshot: lines, and how often it gave a text of this class that label.
struct Answers {
    Labels samples = {}, classes = {};
    std::vector<std::vector<int64_t>> confusion = {};  // [true class][predicted class]
};

// What a page shows of a model, which must outlive it. It looks at some texts: a batch, as the model reads
// it.
struct ReportModel {
    std::vector<nn::NamedModule> modules = {};
    std::vector<nn::NamedParameter> parameters = {};
    std::vector<Tokens> texts = {};        // (B, S), and, of an encoder-decoder, (B, T)
    Labels names = {}, target_names = {};  // of the ids; those in <> are special
    Tensor embedding = {};                 // (V, d_model), whose rows `names` names
    std::function<Answers()> answers = {};
};

Labels names_of(const std::vector<int32_t>& ids, const Labels& names);

struct RunPlan;

class Recorder {
public:
    Recorder(const RunPlan& plan, int64_t steps);  // the plan outlives it

    // Of a run that has a folder or a page: goes on with what is recorded in the folder; or takes the first
    // snapshot. And the time of each layer. Throws Error if the page cannot be written.
    void begin(const models::Run& run);
    // To be called after each step, before a checkpoint is written: the page is written at the end, and
    // whenever the run goes on after a snapshot or a validation. scores: of its validation, if any.
    void after_step(const models::Run& run, const nn::StepReport& step, const Scores& scores = {});
    // Ten in the whole run; of fewer positions if the attention of many heads would make the page too large.
    bool is_due(int64_t step) const;
    void snapshot(int64_t step);
    // A call of the program: pairs of what and where it ran, the settings, as kit::Options keeps them,
    // and the seconds that each layer takes in a training step.
    void call(int64_t step, const std::vector<Labels>& facts, const std::string& settings,
              const std::map<std::string, double>& seconds = {});
    std::string lines() const { return lines_ + embedding_; }

private:
    int64_t positions_that_fit(const nn::Probe& seen) const;
    std::string embedding(int64_t step) const;

    const RunPlan& plan_;
    const ReportModel& model_;
    int64_t steps_;
    std::string lines_, embedding_;  // embedding_: of this call only the last one is kept
    bool told_ = false;              // that the page cannot be written
};

// The names of all ids below `size`: of the special ones, and name(id) of the others.
template <class Name>
Labels token_names(int64_t size, const Name& name) {
    Labels names = {"<pad>", "<sos>", "<eos>", "<unk>"};
    for (int32_t id = models::kFirstFreeId; id < size; ++id)
        names.push_back(name(id));
    return names;
}

// Of an encoder-decoder: what it answers.
Answers answers_of(const models::Transformer& model, const ReportModel& page);
// A page that looks at the first positions of these texts. names: of each id; target_names: if these differ.
template <class Model>
ReportModel report_model_of(const Model& model, const std::vector<Tokens>& texts, const Labels& names,
                            const Labels& target_names = {}) {
    const auto first = [](const Tokens& all) { return all.slice(0, std::min<int64_t>(64, all.length())); };
    ReportModel page = {nn::modules(model), nn::parameters(model), autograd::mapped(texts, first), names};
    if constexpr (std::is_same_v<Model, models::Transformer>) {
        page.embedding = model.src_embedding.tokens.table;
        page.target_names = target_names.empty() ? names : target_names;
        page.answers = [&model, page] { return answers_of(model, page); };
    } else {
        page.embedding = model.backbone.embedding.tokens.table;
    }
    return page;
}

struct PageRun {
    std::string name;   // where there are several: the folder's
    std::string log;    // CSV, as nn::TrainingLog writes it
    std::string lines;  // what a Recorder has recorded
};

// The page of one run, or of several to be compared. While a run goes on, the page loads itself again after
// `reload` seconds; 0: never.
std::string html_page(const std::string& title, const std::vector<PageRun>& runs, int64_t reload = 0);

// Before a page is written: throws Error if this file cannot be, or if it is something else than such a page.
void check_page(const std::string& file);

}  // namespace plaingrad::kit
