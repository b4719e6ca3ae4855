// --report FILE.html: a page that shows the run, written at its end and, if asked, while it goes on. What the
// page needs is also kept in the run's folder, so that apps/report makes it afterwards.
//
//     kit::Run run(folder, run_model, options, {.subject = kit::subject_of(model, texts, names)});
//
// It is one HTML file that needs nothing else, also no network: run_page.html with the data. It draws by its
// own script; its policy allows that script and that style, by their hashes, and nothing else.
#pragma once

#include "apps/kit/plan.h"
#include "apps/kit/recorder.h"
#include "models/batch.h"
#include "models/run.h"

namespace plaingrad::kit {

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
Subject subject_of(const models::Transformer& model, const std::vector<models::Batch>& texts,
                   const Labels& names, const Labels& target_names);
template <class Model>
Subject subject_of(const Model& model, const std::vector<autograd::Tokens>& texts, const Labels& names) {
    Subject s = about(model, model.backbone.embedding.tokens.table, names);
    for (const autograd::Tokens& text : as_in_a_batch(texts, 64))
        s.looks.push_back(
            {names_of(text.ids(), names), {}, [=, &model](const nn::Mode& mode) { model(text, mode); }});
    return s;
}

// A plan for an encoder-decoder that learns from batch(step), of at most so many tokens on a side.
template <class BatchOf>
Plan plan_of(const models::Transformer& model, int64_t tokens, const BatchOf& batch, Subject subject) {
    return {.activations = activation_bytes(model.config, tokens),
            .subject = std::move(subject),
            .trial = trial_of(model, [=](int64_t step) { return examples_of(batch(step)); })};
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

// Records a run that has a folder or a page, and writes both: the page at the end, and whenever the run goes
// on after a snapshot or a validation. Does nothing for others.
class Report {
public:
    // Takes the first snapshot, and the time of each layer. Throws Error if the page cannot be written.
    Report(const models::Run& run, const Plan& plan);

    // To be called after each step, before a checkpoint is written.
    void after_step(const nn::StepReport& step);

private:
    const models::Run& run_;
    bool wanted_;
    Recorder recorder_;
};

}  // namespace plaingrad::kit
