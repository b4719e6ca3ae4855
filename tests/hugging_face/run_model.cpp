// Computes with the model of a folder from Hugging Face, for compare_models.py.
//
// usage: run_model FOLDER INPUTS OUTPUTS [TASK]...
//     logits        of all texts
//     steps         those of the texts without padding once more, the second half of them token by token
//     train FOLDER  five steps of AdamW: the losses, the first step's gradients, the logits afterwards; the
//                   model is then saved in that folder
//     greedy N, beam N
//                   up to N tokens after each text, by greedy search, or by one with four beams
//
// INPUTS and OUTPUTS are safetensors files. INPUTS: ids (B, T), whole numbers as F32, padded with the id
// `pad`; types (B, T), if there are any; for training, targets (B, T), which do not count where they are
// `pad`, or one a text.
#include <iostream>

#include "models/decoding/decoding.h"
#include "models/hugging_face/weights.h"
#include "nn/optim.h"
#include "tests/hugging_face/with_model.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
namespace checkpoint = nn::checkpoint;

namespace {

class Job {
public:
    Job(const char* folder, const char* inputs, const char* outputs)
        : folder_(folder), inputs_(checkpoint::read(inputs)), outputs_(outputs) {
        pad_ = static_cast<int32_t>(inputs_.tensor("pad").item());
        ids_ = tokens("ids", pad_);
        if (inputs_.find("types") != nullptr)
            types_ = tokens("types", Tokens::kNoPadding);
    }

    void run(const std::vector<std::string>& tasks) {
        tests::with_model(folder_, [&](const auto& model) { run(model, tasks); });
        checkpoint::write(outputs_, results_);
    }

private:
    // (B, T), or (B) as (B, 1)
    Tokens tokens(const char* name, int32_t pad) const {
        const Tensor x = inputs_.tensor(name);
        const std::vector<int32_t> ids(x.data(), x.data() + x.numel());
        return Tokens(x.size(0), x.rank() > 1 ? x.size(1) : 1, ids, pad);
    }

    // The texts without padding.
    std::vector<std::vector<int32_t>> full_rows() const {
        std::vector<std::vector<int32_t>> rows;
        for (int64_t b = 0; b < ids_.batch(); ++b)
            if (ids_.lengths()[static_cast<std::size_t>(b)] == ids_.length())
                rows.emplace_back(ids_.ids().begin() + b * ids_.length(),
                                  ids_.ids().begin() + (b + 1) * ids_.length());
        return rows;
    }

    Tensor logits(const LanguageModel& model, const Mode& mode) const { return model(ids_, mode); }
    template <class Model>
    Tensor logits(const Model& model, const Mode& mode) const {
        return model(ids_, mode, types_);
    }

    // Each position predicts the next one.
    Tensor loss(const LanguageModel& model, const Mode& mode) const {
        const int64_t T = ids_.length();
        return model.loss(ids_.slice(0, T - 1), ids_.slice(1, T), mode);
    }
    template <class Model>
    Tensor loss(const Model& model, const Mode& mode) const {
        const bool one_a_text = std::is_same_v<Model, Classifier>;
        return autograd::cross_entropy(logits(model, mode),
                                       tokens("targets", one_a_text ? Tokens::kNoPadding : pad_));
    }

    void steps(const LanguageModel& model) {
        const Tokens rows = Tokens::padded(full_rows(), Tokens::kNoPadding);
        const auto stepper = model.start(rows.slice(0, 1));
        const int64_t T = rows.length(), first = (T + 1) / 2;
        std::vector<Tensor> parts = {stepper->step(rows.slice(0, first))};
        for (int64_t t = first; t < T; ++t)
            parts.push_back(stepper->step(rows.slice(t, t + 1)));
        for (std::size_t i = 0; i < parts.size(); ++i)
            results_.push_back({autograd::join("steps/", i), parts[i]});
    }

    template <class Model>
    void train(const Model& model, const std::string& out) {
        const auto all = nn::all_parameters(model);
        nn::Adam optimizer(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.01, .decoupled = true});
        for (int i = 0; i < 5; ++i) {
            optimizer.zero_grad();
            const Tensor loss_now = loss(model, Mode::train(Rng(1).fork(static_cast<uint64_t>(i))));
            loss_now.backward();
            results_.push_back({autograd::join("loss/", i), loss_now.detach()});
            if (i == 0)
                gradients(all);
            optimizer.step();
        }
        save(out, model, folder_.config);
        results_.push_back({"trained", logits(model, Mode::eval()).detach()});
    }

    // By the names and in the layouts of the file.
    void gradients(const std::vector<nn::NamedParameter>& parameters) {
        auto state = saved_state(parameters, folder_.config);
        for (checkpoint::StateEntry& entry : state) {
            const Tensor x = entry.tensor;
            entry.tensor = x.has_grad() ? x.grad() : Tensor::zeros(x.shape());
            results_.push_back({"gradient/" + entry.name, checkpoint::in_file_order(entry)});
        }
    }

    void search(const LanguageModel& model, const std::string& kind, int64_t n) {
        const auto stepper = model.start(Tokens::padded(full_rows(), Tokens::kNoPadding));
        std::vector<Hypothesis> found;
        if (kind == "greedy")
            found = greedy(*stepper, n);
        else
            for (const auto& best : beam_search(*stepper, {.alpha = 0, .max_tokens = n}))
                found.push_back(best.at(0));
        for (std::size_t b = 0; b < found.size(); ++b) {
            std::vector<Real> ids(found[b].ids.begin(), found[b].ids.end());
            ids.push_back(-1);  // a tensor is never empty
            const auto size = static_cast<int64_t>(ids.size());
            results_.push_back({autograd::join(kind, "/", b), Tensor::from({size}, ids)});
        }
    }

    template <class Model>
    void run(const Model& model, const std::vector<std::string>& tasks) {
        constexpr bool generates = std::is_same_v<Model, LanguageModel>;
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            const std::string& task = tasks[i];
            if (task == "logits") {
                const autograd::NoGrad no_grad;
                const Tensor y = logits(model, Mode::eval());
                results_.push_back({"logits", y});
                if constexpr (std::is_same_v<Model, TextEncoder>)
                    results_.push_back({"pooled", model.pooled(y)});
            } else if (task == "train") {
                if constexpr (!std::is_same_v<Model, TextEncoder>)
                    train(model, tasks.at(++i));
            } else if constexpr (generates) {
                const autograd::NoGrad no_grad;
                if (task == "steps")
                    steps(model);
                else
                    search(model, task, std::stoll(tasks.at(++i)));
            }
        }
    }

    SavedModel folder_;
    checkpoint::SafeTensors inputs_;
    std::string outputs_;
    int32_t pad_ = 0;
    Tokens ids_, types_;
    std::vector<checkpoint::StateEntry> results_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: run_model FOLDER INPUTS OUTPUTS [TASK]...\n";
        return 2;
    }
    try {
        Job(argv[1], argv[2], argv[3]).run({argv + 4, argv + argc});
    } catch (const autograd::Error& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
