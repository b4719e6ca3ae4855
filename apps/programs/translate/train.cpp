#include "apps/programs/translate/train.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "apps/kit/pretrained.h"
#include "apps/kit/run.h"
#include "apps/programs/translate/score.h"
#include "autograd/base/text_stream.h"
#include "models/saved.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/schedule.h"

namespace plaingrad::translate {
namespace {

using models::Transformer;

constexpr const char* kSteps = "translate.steps";  // in the metadata of the model
constexpr int64_t kBeam = 5;                       // of the translations that are measured at the end

// The mean of models in files, in order, computed in double; written into the parameters of `into`.
void average(const std::vector<std::string>& files, const Transformer& into) {
    const std::vector<nn::NamedParameter> parameters = nn::parameters(into);
    std::vector<std::vector<double>> sums(parameters.size());
    for (const std::string& file : files) {
        const Transformer one = models::load_model<models::Transformer>(file);
        const std::vector<nn::NamedParameter> values = nn::parameters(one);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::vector<autograd::Real> x = values[i].tensor.to_vector();
            sums[i].resize(x.size());
            for (std::size_t j = 0; j < x.size(); ++j)
                sums[i][j] += static_cast<double>(x[j]);
        }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        autograd::Tensor x = parameters[i].tensor;
        autograd::Real* const mean = x.mutable_data();
        for (std::size_t j = 0; j < sums[i].size(); ++j)
            mean[j] = static_cast<autograd::Real>(sums[i][j] / static_cast<double>(files.size()));
    }
}

// Estimates how many bytes the validation needs to translate a batch of its longest sentences with a beam:
// keys and values of every layer, for the source and for a translation of 1.5 times its length; and the
// probabilities of all words, twice.
double decoding_bytes(const models::Config& c, const Corpus& validation, int64_t beam) {
    const auto rows =
        static_cast<double>(beam * std::min(models::TranslationOptions{}.batch, validation.size()));
    const double positions = 2.5 * static_cast<double>(validation.longest());
    return rows * sizeof(autograd::Real) *
           (positions * static_cast<double>(2 * c.block.d_model * c.n_decoder_layers) +
            2 * static_cast<double>(c.vocabulary));
}

// The rows of epochs.csv up to this step: a run that is resumed repeats the later ones.
std::string earlier_epochs(const std::string& file, int64_t done) {
    std::string log = "epoch,step,training loss,validation loss,BLEU (greedy)\n", row;
    autograd::TextReader rows(nn::checkpoint::exists(file) ? nn::checkpoint::read_file(file) : "");
    for (std::getline(rows, row); std::getline(rows, row);)
        if (const std::size_t step = row.find(',') + 1; std::atoll(row.c_str() + step) <= done)
            log += row + '\n';
    return log;
}

class Learner : Job {
public:
    explicit Learner(const Job& job)
        : Job(job),
          run_(folder, models::run_model(model, data(), {{"tokenizer.json", tokenizer.json()}}), options(),
               plan()),
          batches_(corpus, tokenizer, s.batch_tokens, s.accumulate, s.bpe_dropout,
                   static_cast<uint64_t>(s.seed), run_.epoch) {
        if (folder.resumes())
            log_ = earlier_epochs(folder.file("epochs.csv"), run_.step());
    }

    void operator()() {
        if (run_.step() < s.steps)
            print_epoch();
        while (run_.next()) {
            const Batches::Step step = batches_(run_.step());
            run_.learn(step.batches, [&](const models::Batch& batch, const nn::Mode& mode) {
                return models::teacher_forcing(model, batch, mode,
                                               static_cast<autograd::Real>(s.label_smoothing));
            });
            if (step.ends_epoch)
                run_.end_epoch();
            if (!run_.validates())  // an epoch that the run's end cuts short counts as one
                continue;
            std::string measured = ",";
            if (validation != nullptr) {
                bleu_ = bleu({.beam = 1, .alpha = 0}).score;
                const double loss = validation_loss();
                measured = join(kit::number(loss, 4), ",", kit::number(bleu_, 2));
                run_.validated(loss, join("epoch ", epoch(), "  step ", run_.step(), "  loss ",
                                          kit::number(run_.epoch.loss(), 4), "  validation ",
                                          kit::number(loss, 4), "  BLEU ", kit::number(bleu_, 2)));
            }
            keep_epoch(measured);
        }
        if (run_.ends())
            finish();
    }

private:
    std::string data() const {
        return join(corpus.fingerprint(), "; ", validation ? validation->fingerprint() : "no validation");
    }

    // What the page of --report shows: the attention of some sentences, their translations, and BLEU.
    kit::ReportModel report_model() {
        const Corpus& shown = validation != nullptr ? *validation : corpus;
        std::vector<models::Batch> texts;
        std::vector<std::string> lines;
        for (int64_t i = 0; i < std::min<int64_t>(shown.size(), 3); ++i) {
            texts.push_back(shown.batch({i}));
            lines.push_back(shown.sentences()[static_cast<std::size_t>(i)].source);
        }
        const kit::Labels names = kit::token_names(tokenizer);
        kit::ReportModel report_model = kit::report_model_of(model, texts, names, names);
        report_model.samples = [this, lines] {
            kit::Labels all;
            for (const models::Translation& t : models::translate(model, tokenizer, lines, {.beam = 1}))
                all.push_back(lines[all.size()] + "  ->  " + t.best[0].text);
            return all;
        };
        if (validation != nullptr)
            report_model.scores = [this] { return kit::Scores{{"BLEU", bleu_}}; };
        return report_model;
    }

    models::RunOptions options() const {
        const int64_t d_model = model.config.block.d_model;
        const double factor = s.lr * std::sqrt(static_cast<double>(d_model) * static_cast<double>(s.warmup));
        return {.steps = s.steps,
                .learning_rate = nn::WarmupInverseSqrt{d_model, s.warmup, factor},
                .adam = {.beta2 = 0.98, .eps = 1e-8},
                .clip = s.clip,
                .accumulate = s.accumulate,
                .seed = static_cast<uint64_t>(s.seed),
                .patience = s.patience,
                .epochs = true};
    }

    kit::RunPlan plan() {
        return {.activations = kit::activation_bytes(
                    model.config, std::min(s.batch_tokens, corpus.size() * corpus.longest())),
                .decoding = validation == nullptr ? 0 : decoding_bytes(model.config, *validation, kBeam),
                .files = s.average + 3,
                .advice = "a smaller --batch-tokens with --accumulate does the same in less",
                .continues = "a larger --steps or, if --patience ended it, a larger --patience continues it",
                .validates = validation != nullptr,
                .report_model = report_model(),
                .objective = kit::objective_of(
                    model, [this](int64_t step) { return kit::examples_of(batches_(step).batches[0]); })};
    }

    void print_epoch() const {
        const int64_t batches = batches_.per_epoch();
        // Of an epoch. The last step ends with the epoch, and may have fewer batches than the others.
        const int64_t steps = (batches + s.accumulate - 1) / s.accumulate;
        kit::say(join("an epoch: ", kit::counted(corpus.size(), "pair"), ", ",
                      kit::counted(corpus.target_tokens(), "token"), " to predict, in ",
                      kit::grouped(batches), batches == 1 ? " batch" : " batches", " of at most ",
                      kit::grouped(s.batch_tokens), ", ", kit::counted(steps, "step"), "; all ",
                      kit::counted(s.steps, "step"), " are ",
                      kit::counted((s.steps + steps - 1) / steps, "epoch")));
    }

    // All processes call these.
    double validation_loss() const { return mean_loss(folder.team(), model, *validation, s.batch_tokens); }
    Bleu bleu(const models::TranslationOptions& options) const {
        return measure_bleu(folder.team(), model, tokenizer, validation->sentences(), options);
    }

    int64_t epoch() const { return run_.epoch.number(); }

    std::string epoch_file(int64_t number) const {
        return folder.file(join("epoch-", number, ".safetensors"));
    }

    // Logs an epoch and saves its model. Removes the models of epochs that are too old for the average.
    void keep_epoch(const std::string& measured) {
        if (!folder.writes())
            return;
        log_ += join(epoch(), ",", run_.step(), ",", kit::number(run_.epoch.loss(), 4), ",", measured, "\n");
        models::save_checkpoint(epoch_file(epoch()), run_.model.state);
        std::error_code none;
        for (int64_t old = epoch() - s.average; std::filesystem::remove(epoch_file(old), none);)
            --old;
        nn::checkpoint::replace_file(folder.file("epochs.csv"), log_);
    }

    // After how many steps a model was saved.
    std::string steps() const { return std::to_string(run_.training.adam.steps()); }
    bool is_finished() const {
        if (!nn::checkpoint::exists(folder.model()))
            return false;
        const nn::checkpoint::Metadata saved = nn::checkpoint::read(folder.model()).metadata();
        return saved.contains(kSteps) && saved.at(kSteps) == steps();
    }

    // Saves the average of the last epochs (Vaswani et al. 2017, §6.1), or of as many as there are; or the
    // model of the best validation where that is better, as in a short run, whose first epochs pull the
    // average down.
    // Files are process 0's; what is computed, all share.
    void finish() {
        nn::Team& team = folder.team();
        if (nn::any(team, team.leads() && is_finished()))
            return;
        std::string kept = team.leads() ? average_epochs() : "";
        run_.share_weights();
        double loss = validation == nullptr ? 0 : validation_loss();
        if (validation != nullptr && run_.training.best_step > 0)
            choose_best(kept, loss);
        if (folder.writes())
            models::save_checkpoint(folder.model(), run_.model.state, {{kSteps, steps()}});
        std::cerr << join("saved ", kit::as_line(folder.model()), ": ", kept, "\n");
        if (validation == nullptr)
            return;
        std::cout << "validation loss " << loss << "\nbeam " << kBeam << ": " << bleu({.beam = kBeam}).text
                  << '\n';
    }

    std::string average_epochs() const {
        std::vector<std::string> epochs;
        for (int64_t number = epoch(); number > epoch() - s.average; --number)
            if (nn::checkpoint::exists(epoch_file(number)))
                epochs.push_back(epoch_file(number));
        if (epochs.empty())
            return "the weights of the last step";
        average(epochs, model);
        return "the average of the last " + kit::counted(std::ssize(epochs), "epoch");
    }

    // Loads the weights of the best validation into model, unless model, whose validation loss is `loss`,
    // is better. Says in `kept` which one it is.
    void choose_best(std::string& kept, double& loss) const {
        const double best = run_.training.best_validation;
        const std::string of_step = join("step ", run_.training.best_step);
        nn::Team& team = folder.team();
        if (!nn::any(team, team.leads() && loss >= best && nn::checkpoint::exists(folder.best()))) {
            kept += join(": validation loss ", loss, "; the best epoch, at ", of_step, ", has ", best);
            return;
        }
        if (team.leads())
            models::load_weights(folder.best(), models::state_dict(model));
        run_.share_weights();
        kept = join("the weights of ", of_step, ", of the best validation: loss ", best, "; ", kept, " has ",
                    loss);
        loss = best;
    }

    std::string log_ = earlier_epochs("", 0);
    double bleu_ = 0;
    kit::Run run_;
    Batches batches_;  // from the run's epoch on
};

}  // namespace

void train(const Job& job) { Learner{job}(); }

}  // namespace plaingrad::translate
