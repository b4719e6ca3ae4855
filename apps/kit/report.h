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
//     {"kind":"embedding","step":100,"labels":["cat",...],"vectors":["",150,2.5,"AfS7..."]}
//     {"kind":"sample","step":100,"text":"5 3 9 -> 9 3 5"}
//     {"kind":"score","step":100,"name":"BLEU","value":31.2}
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/batch.h"
#include "models/runs/run.h"
#include "nn/checkpoint/json.h"
#include "nn/probe.h"

namespace plaingrad::kit {
using Labels = std::vector<std::string>;
using Scores = std::vector<std::pair<std::string, double>>;

// A text at which the page looks: its tokens, and what the model reads.
struct ReportText {
    Labels source, target = {};  // target: of an encoder-decoder
    std::vector<autograd::Tokens> inputs = {};
};

// What the model says at a snapshot: lines, and how often it gave a text of this class that label.
struct Answers {
    Labels samples = {};
    std::vector<std::vector<int64_t>> confusion = {};  // [true class][predicted class]
};

// What the recorder knows about a model, which must outlive it.
struct ReportModel {
    std::vector<nn::NamedModule> modules = {};
    std::vector<nn::NamedParameter> parameters = {};
    std::vector<ReportText> texts = {};
    autograd::Tensor embedding = {};  // (V, d_model)
    Labels tokens = {};               // of its rows; those in <> are special and not shown
    Labels classes = {};              // of a classifier
    std::function<Answers()> answers = {};
};
template <class Model>
ReportModel about(const Model& model, const autograd::Tensor& embedding, const Labels& tokens) {
    return {.modules = nn::modules(model),
            .parameters = nn::parameters(model),
            .embedding = embedding,
            .tokens = tokens};
}

Labels names_of(const std::vector<int32_t>& ids, const Labels& names);
// The texts' first positions; all but the first text, if it has padding, are padded to the longest.
std::vector<autograd::Tokens> as_in_a_batch(std::vector<autograd::Tokens> texts, int64_t positions);

std::string base64(const std::string& bytes);

struct RunPlan;

class Recorder {
public:
    // The plan outlives it. earlier: the lines of a run that is resumed after step `done`. Those of later
    // steps are dropped, as they will come again.
    Recorder(const RunPlan& plan, int64_t steps, const std::string& earlier = "", int64_t done = 0);

    // To be called after each step, and before the first one with 0. Takes a snapshot if one is due: ten in
    // the whole run, of fewer positions if the attention of many heads would make the page too large. Returns
    // whether it did.
    bool after_step(int64_t step);
    bool snapshot(int64_t step);  // now, unless there is one of this step
    // A call of the program: pairs of what and where it ran, the settings, as kit::Options keeps them,
    // and the seconds that each layer takes in a training step.
    void call(int64_t step, const std::vector<Labels>& facts, const std::string& settings,
              const std::map<std::string, double>& seconds = {});
    void score(int64_t step, const Scores& scores);

    // Of a run that has a folder or a page: takes the first snapshot, and the time of each layer. Throws
    // Error if the page cannot be written.
    void begin(const models::Run& run);
    // To be called after each step, before a checkpoint is written: the page is written at the end, and
    // whenever the run goes on after a snapshot or a validation. scores: of its validation, if any.
    void after_step(const models::Run& run, const nn::StepReport& step, const Scores& scores = {});

    std::string lines() const;

private:
    int64_t positions_that_fit(const nn::Probe& seen) const;
    struct Row {
        std::string kind, line;  // of JSON
    };
    void add(const std::string& kind, int64_t step,
             const std::vector<nn::checkpoint::JsonText::Member>& members);
    void embedding(int64_t step);

    const RunPlan& plan_;
    const ReportModel& model_;
    int64_t steps_, last_ = -1;
    std::vector<Row> rows_;
};

// The names of all ids below `size`: of the special ones, and name(id) of the others.
template <class Name>
Labels token_names(int64_t size, const Name& name) {
    Labels names = {"<pad>", "<sos>", "<eos>", "<unk>"};
    for (int32_t id = models::kFirstFreeId; id < size; ++id)
        names.push_back(name(id));
    return names;
}

// A page about an encoder-decoder that looks at these texts, batches of one: at the attention of the first 32
// positions, and at what the model answers. Or about a model with one stack: at the first 64 positions of
// texts (1, T). All but the first are padded to the longest, as in a batch. names: of each id.
ReportModel report_model_of(const models::Transformer& model, const std::vector<models::Batch>& texts,
                            const Labels& names, const Labels& target_names);
template <class Model>
ReportModel report_model_of(const Model& model, const std::vector<autograd::Tokens>& texts,
                            const Labels& names) {
    ReportModel s = about(model, model.backbone.embedding.tokens.table, names);
    for (const autograd::Tokens& text : as_in_a_batch(texts, 64))
        s.texts.push_back({names_of(text.ids(), names), {}, {text}});
    return s;
}

struct PageRun {
    std::string name;   // where there are several: the folder's
    std::string log;    // CSV, as nn::TrainingLog writes it
    std::string lines;  // what a Recorder has recorded
};

// The page of one run, or of several to be compared. While a run goes on, the page loads itself again after
// `reload` seconds; 0: never.
std::string html_page(const std::string& title, const std::vector<PageRun>& runs, int64_t reload = 0);

// What a run that is resumed has recorded.
std::string earlier_lines(const models::RunFolder& folder);

// Before a page is written: throws Error if this file cannot be, or if it is something else than such a page.
void check_page(const std::string& file);

}  // namespace plaingrad::kit
