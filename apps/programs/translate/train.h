// A training run of the translator, which lives in a folder.
#pragma once

#include <cmath>

#include "apps/kit/progress.h"
#include "apps/kit/saved.h"
#include "apps/kit/watch.h"
#include "apps/programs/translate/folder.h"
#include "apps/programs/translate/plan.h"
#include "apps/programs/translate/score.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/schedule.h"

namespace plaingrad::translate {

// The mean of models in files, in order, computed in double; written into the parameters of `into`.
inline void average(const std::vector<std::string>& files, const models::Transformer& into) {
    const std::vector<nn::NamedParameter> parameters = nn::parameters(into);
    std::vector<std::vector<double>> sums(parameters.size());
    for (const std::string& file : files) {
        const models::Transformer one = kit::load_transformer(file);
        const std::vector<nn::NamedParameter> values = nn::parameters(one);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const autograd::Tensor& x = values[i].tensor;
            sums[i].resize(static_cast<std::size_t>(x.numel()));
            for (int64_t j = 0; j < x.numel(); ++j)
                sums[i][static_cast<std::size_t>(j)] += static_cast<double>(x.data()[j]);
        }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const autograd::Tensor& x = parameters[i].tensor;
        for (int64_t j = 0; j < x.numel(); ++j)
            x.mutable_data()[j] = static_cast<autograd::Real>(sums[i][static_cast<std::size_t>(j)] /
                                                              static_cast<double>(files.size()));
    }
}

class Run {
public:
    // All must outlive it. validation may be null. kept: the settings, for checkpoints.
    Run(const models::Transformer& model, const TextCodec& codec, const Corpus& corpus,
        const Corpus* validation, const Settings& s, const std::string& kept)
        : model_(model),
          codec_(codec),
          corpus_(corpus),
          validation_(validation),
          s_(s),
          kept_(kept),
          folder_{s.save},
          data_(join(corpus.fingerprint(), "; ", validation ? validation->fingerprint() : "no validation")),
          cursor_(corpus, codec, s.batch_tokens, s.bpe_dropout, static_cast<uint64_t>(s.seed)),
          training_(nn::parameters(model), {.beta2 = 0.98, .eps = 1e-8}) {}

    // From where the run in the folder stands; `metadata` is that of its checkpoint. Throws Error if it began
    // with other data.
    void go_on_from(const kit::Metadata& metadata) {
        const nn::checkpoint::FieldReader field{metadata, "translate.", folder_.last()};
        check(field.required("data") == data_, folder_.last(),
              ": the run began with other data or another validation than these files; it can only go on "
              "with the same");
        kit::load_training(folder_.last(), training_);
        const auto batch = field.required_as<int64_t>("batch");
        const auto epoch = field.required_as<int64_t>("epoch");
        check(epoch >= 0, folder_.last(), ": translate.epoch must not be negative: got ", epoch);
        cursor_.move(epoch, 0);
        check(batch >= 0 && batch < cursor_.per_epoch(), folder_.last(), ": translate.batch is ", batch,
              ", but an epoch has ", cursor_.per_epoch());
        cursor_.index = batch;
        field("tokens", tokens_);
        field("loss_sum", loss_sum_);
        field("log", log_);
    }

    void operator()() {
        const bool had_ended = has_ended();
        if (had_ended && folder_.model_is_newest() && average_of_model() == s_.average) {
            std::cerr << "this run has ended, after step " << training_.adam.steps() << ": "
                      << folder_.model()
                      << "; --steps or --patience lets it go on, --average N averages anew\n";
            return;
        }
        if (!had_ended)
            learn();
        else
            save_last();  // with the options that are new
        if (has_ended())
            finish();
        else
            std::cerr << "stopped after step " << stop_ << "; --resume " << folder_.path << " goes on\n";
    }

private:
    bool has_ended() const {
        return training_.adam.steps() >= s_.steps || (s_.patience > 0 && training_.worse >= s_.patience);
    }

    void learn() {
        stop_ = s_.stop_after == 0 ? s_.steps : std::min(s_.steps, training_.adam.steps() + s_.stop_after);
        print_time(model_, corpus_, cursor_, training_.adam.steps(), stop_, s_);
        if (training_.adam.steps() == 0)
            save_last();  // if that can't be done, it is better to know before anything was learned
        kit::listen_for_interrupt();
        nn::train(
            training_, [&](int64_t, const nn::Mode& mode) { return next_loss(mode); }, options(), watch());
        if (kit::interrupted())
            std::cerr << "saved; --resume " << folder_.path << " goes on\n";
        kit::stop_listening_for_interrupt();
    }

    nn::TrainingOptions options() {
        const int64_t d_model = model_.config.d_model;
        const double factor =
            s_.lr * std::sqrt(static_cast<double>(d_model) * static_cast<double>(s_.warmup));
        nn::TrainingOptions options = {.steps = s_.steps,
                                       .stop = stop_,
                                       .learning_rate = nn::WarmupInverseSqrt{d_model, s_.warmup, factor},
                                       .clip = s_.clip,
                                       .accumulate = s_.accumulate,
                                       .seed = static_cast<uint64_t>(s_.seed),
                                       .patience = s_.patience,
                                       .restore_best = false};
        if (validation_ != nullptr)
            options.validation_loss = [&] { return validate(); };
        return options;
    }

    nn::Watch watch() {
        nn::Watch watch = kit::watch(
            stop_, {.done = training_.adam.steps(), .describe_validation = [&](int64_t step, double loss) {
                        return epoch_line(step, loss);
                    }});
        watch.after_step = [&](const nn::StepReport& report) {
            after_step(report.step, report.validation.has_value());
        };
        return watch;
    }

    nn::StepLoss next_loss(const nn::Mode& mode) {
        nn::StepLoss loss = models::teacher_forcing(model_, cursor_.next(epoch_ended_), mode,
                                                    static_cast<autograd::Real>(s_.label_smoothing));
        loss.ends_epoch = epoch_ended_;
        loss_sum_ += static_cast<double>(loss.loss.item()) * static_cast<double>(loss.tokens);
        tokens_ += loss.tokens;
        return loss;
    }

    double validate() {
        validation_loss_ = mean_loss(model_, *validation_, s_.batch_tokens);
        const Translator greedy{model_, codec_, {.beam = 1, .alpha = 0}};
        validation_bleu_ = measure_bleu(greedy, validation_->sentences()).score;
        return validation_loss_;
    }

    double training_loss() const { return loss_sum_ / static_cast<double>(tokens_); }

    // Of the last batch, from 1. cursor_ has moved on to the next one.
    int64_t epoch() const { return cursor_.epoch + (cursor_.index > 0 ? 1 : 0); }

    std::string epoch_line(int64_t step, double loss) const {
        char text[160];
        std::snprintf(text, sizeof text,
                      "epoch %lld  step %lld  training loss %.4f  validation loss %.4f  BLEU %.2f (greedy)",
                      static_cast<long long>(epoch()), static_cast<long long>(step), training_loss(), loss,
                      validation_bleu_);
        return text;
    }

    // What is needed to go on is written last: a run that is killed before does all this once more, with the
    // same result.
    void after_step(int64_t step, bool validated) {
        if (epoch_ended_ || step == s_.steps) {  // the run's last epoch may be a part of one
            log_epoch(step, validated);
            if (validated && training_.best_step == step)
                kit::save(folder_.best(), model_, codec_.metadata());
            save_epoch(epoch());
            nn::checkpoint::replace_file(folder_.log(), {log_});
        }
        const bool stops = kit::interrupted() || step == s_.steps || step == stop_;
        if (epoch_ended_ || stops || (s_.save_every > 0 && step % s_.save_every == 0))
            save_last();
    }

    // And those that have no part in the average any more are removed.
    void save_epoch(int64_t number) const {
        kit::save(folder_.epoch(number), model_, codec_.metadata());
        std::error_code none;
        for (int64_t old = number - s_.average; std::filesystem::remove(folder_.epoch(old), none);)
            --old;
    }

    void log_epoch(int64_t step, bool validated) {
        if (log_.empty())
            log_ = "epoch,step,training loss,validation loss,BLEU (greedy)\n";
        char text[160] = ",";
        if (validated)
            std::snprintf(text, sizeof text, "%.4f,%.2f", validation_loss_, validation_bleu_);
        char loss[40];
        std::snprintf(loss, sizeof loss, "%.4f", training_loss());
        log_.append(join(epoch(), ",", step, ",", loss, ",", text, "\n"));
        if (!epoch_ended_)
            return;
        loss_sum_ = 0;
        tokens_ = 0;
    }

    void save_last() const {
        kit::Metadata all = codec_.metadata();
        nn::checkpoint::FieldWriter field{all, "translate."};
        field("arguments", kept_);
        field("data", data_);
        field("epoch", cursor_.epoch);
        field("batch", cursor_.index);
        field("tokens", tokens_);
        field("loss_sum", loss_sum_);
        field("log", log_);
        kit::save(folder_.last(), model_, all, &training_);
    }

    // How many epochs the model that was saved is the average of, at most.
    int64_t average_of_model() const {
        const nn::checkpoint::SafeTensors model = nn::checkpoint::read(folder_.model());
        int64_t epochs = 0;
        nn::checkpoint::FieldReader{model.metadata(), "", folder_.model()}(kAverage, epochs);
        return epochs;
    }

    // The average of the last epochs (Vaswani et al. 2017, §6.1), or of as many as there are; but the model
    // of the best validation where that is better, as in a short run, whose first epochs have learned little.
    void finish() {
        std::vector<std::string> epochs;
        std::error_code none;
        for (int64_t number = epoch(); number > epoch() - s_.average; --number)
            if (std::filesystem::exists(folder_.epoch(number), none))
                epochs.push_back(folder_.epoch(number));
        if (!epochs.empty())
            average(epochs, model_);
        std::string kept = epochs.empty() ? "the weights of the last step"
                                          : "the average of the last " +
                                                kit::counted(static_cast<int64_t>(epochs.size()), "epoch");
        double loss = validation_ == nullptr ? 0 : mean_loss(model_, *validation_, s_.batch_tokens);
        if (validation_ != nullptr && training_.best_step > 0)
            choose_best(kept, loss);
        kit::Metadata metadata = codec_.metadata();
        metadata[kAverage] = std::to_string(s_.average);
        kit::save(folder_.model(), model_, metadata);
        std::cerr << "saved " << folder_.model() << ": " << kept << '\n';
        if (validation_ == nullptr)
            return;
        const Translator translator{model_, codec_, {.beam = s_.beam}};
        std::cout << "validation loss " << loss << "\nbeam " << s_.beam << ": "
                  << measure_bleu(translator, validation_->sentences()).text << '\n';
    }

    // model_, whose validation loss is `loss`, becomes the best one if that is as good. Says so in `kept`.
    void choose_best(std::string& kept, double& loss) const {
        std::error_code none;
        const double best = training_.best_validation;
        const std::string of_step = join("step ", training_.best_step);
        if (loss < best || !std::filesystem::exists(folder_.best(), none)) {
            kept += join(": validation loss ", loss, ", the best epoch's, of ", of_step, ", is ", best);
            return;
        }
        nn::copy_values(nn::parameters(kit::load_transformer(folder_.best())), nn::parameters(model_));
        kept = join("the weights of ", of_step, ", of the best validation: loss ", best, "; ", kept, " has ",
                    loss);
        loss = best;
    }

    static constexpr const char* kAverage = "translate.average";

    const models::Transformer& model_;
    const TextCodec& codec_;
    const Corpus& corpus_;
    const Corpus* validation_;
    const Settings& s_;
    const std::string& kept_;
    Folder folder_;
    std::string data_;  // what a run began with, and must go on with
    Cursor cursor_;
    nn::Training training_;
    double validation_loss_ = 0, validation_bleu_ = 0;
    bool epoch_ended_ = false;
    double loss_sum_ = 0;  // of the epoch
    int64_t tokens_ = 0;
    int64_t stop_ = 0;  // the step after which this call ends
    std::string log_;   // log.csv
};

}  // namespace plaingrad::translate
