#include "models/runs/run.h"

#include <cmath>
#include <cstdio>

namespace plaingrad::models {
namespace {

std::string describe(int64_t step, double loss) {
    char text[80];
    std::snprintf(text, sizeof text, "step %lld  validation loss %.4f", static_cast<long long>(step), loss);
    return text;
}

}  // namespace

Run::Run(const RunFolder& of_run, RunModel of_model, RunOptions of_steps)
    : folder(of_run),
      model(std::move(of_model)),
      options(std::move(of_steps)),
      training(model.parameters, options.adam),
      dropout_(nn::Rng(options.seed).fork("dropout")) {
    autograd::check(options.steps >= 0 && options.accumulate >= 1 && options.patience >= 0 &&
                        options.validate_every >= 0 && options.clip >= 0 && options.learning_rate,
                    "[train] a run needs a learning rate, and numbers that are not negative");
    if (folder.writes() && !folder.resumes())
        check_no_model(folder.path, model.texts);
    check_same();
    if (folder.resumes())
        resume();
    now_.step = training.adam.steps();
    share_weights();  // a file of the weights to begin with may be another for each process
}

// A process with other settings or data would spoil the run of all, and nobody would notice.
void Run::check_same() const {
    nn::Team& team = folder.team();
    if (team.size() == 1)
        return;
    std::string shapes;
    for (const nn::NamedParameter& p : model.parameters)
        shapes += autograd::join(p.name, " ", p.tensor.shape(), "\n");
    nn::check_same(team, "another program or version", folder.program + " " + nn::build());
    nn::check_same(team, "other settings", folder.arguments);
    nn::check_same(team, "other data", model.data);
    nn::check_same(team, "another model", shapes);
}

void Run::resume() {
    const Metadata checkpoint = nn::checkpoint::read(folder.last()).metadata();
    const nn::checkpoint::Fields read{checkpoint, folder.program + ".", folder.last()};
    std::string data;
    read("data", data);
    autograd::check(data == model.data, folder.last(),
                    ": the run began with other training or validation data than these files, or with "
                    "another tokenizer; it can only continue with the same");
    load_training(folder.last(), training);
    if (training.best_step > 0 && !has_ended())
        load_weights(folder.best(), model.state);  // is missing or another's: said now, and not at the end
    load_weights(folder.last(), model.state);
    read("validation", validation);
    read("loss", loss_);
    if (options.epochs)
        epoch.visit(read);
    if (nn::checkpoint::exists(folder.log()))
        log_ = nn::TrainingLog(nn::checkpoint::read_file(folder.log()), training.adam.steps());
}

void Run::share_weights() const {
    const auto share = [&](autograd::Tensor all) {
        folder.team().broadcast(all.mutable_data(),
                                all.numel() * static_cast<int64_t>(sizeof(autograd::Real)));
    };
    for (const nn::checkpoint::StateEntry& entry : model.state) {  // also those that are frozen
        share(entry.tensor);
        std::for_each(entry.beside.begin(), entry.beside.end(), share);
    }
}

bool Run::next() {
    if (!has_begun_) {
        begin();
    } else if (gradients_) {
        end_step();
        keep();
        gradients_.reset();
    }
    if (now_.stops || has_ended() || training.adam.steps() >= last_)
        return false;
    now_ = {.step = training.adam.steps() + 1};
    gradients_.emplace(training.adam.parameters(), folder.team(), folder.parts);
    return true;
}

void Run::begin() {
    const int64_t done = training.adam.steps();
    last_ =
        folder.run.stop_after == 0 ? options.steps : std::min(options.steps, done + folder.run.stop_after);
    has_begun_ = true;
    begins();
    // Saves before the first step, so that a run that cannot save fails at once, and leaves nothing. A
    // resumed run writes its texts, too: somebody may have changed them.
    try {
        if (folder.writes())
            write_text_files(model.texts, folder.path);
        if (done == 0)
            save_last();
    } catch (...) {
        for (const auto& [name, text] : folder.writes() && done == 0 ? model.texts : TextFiles())
            std::remove(folder.file(name).c_str());
        throw;
    }
    start_ = std::chrono::steady_clock::now();
}

nn::Mode Run::mode(const nn::StepPart& part) const {
    return nn::Mode::train(nn::rng_of(dropout_.fork(static_cast<uint64_t>(step())), part));
}

nn::StepGradient Run::gradients() {
    const nn::StepGradient found = gradients_->sum();
    nn::check_finite(step(), found.loss, found.norm, training.adam.parameters());
    now_.loss = found.loss;
    now_.tokens = found.tokens;
    now_.learning_rate = rate();
    now_.grad_norm = found.norm;
    is_open_ = true;
    return found;
}

// What follows the optimizer's step.
void Run::end_step() {
    autograd::check(training.adam.steps() == step(), "[run] step ", step(), " has not changed the weights");
    if (!std::exchange(is_open_, false))
        return;
    losses.push_back(now_.loss);
    loss_ = now_.loss;
    epoch.loss_sum += now_.loss * static_cast<double>(now_.tokens);
    epoch.tokens += now_.tokens;
    now_.stops = nn::any(folder.team(), stepped(now_));
}

bool Run::validates() {
    end_step();
    const bool every = options.validate_every > 0 && step() % options.validate_every == 0;
    return every || now_.ends_epoch || step() == options.steps;
}

void Run::validated(double loss, const std::string& said) {
    autograd::check(!std::isnan(loss), "[train] step ", step(), ": the validation loss is not a number");
    const bool better = loss < training.best_validation;
    validation = said.empty() ? describe(step(), loss) : said;
    training.worse = better ? 0 : training.worse + 1;
    now_.validation = loss;
    for (const nn::NamedParameter& p : model.parameters)
        p.tensor.mutable_data();  // drops what decoding has packed: the next step needs the memory
    if (!better)
        return;
    training.best_validation = loss;
    training.best_step = step();
    if (folder.exists())
        return;
    best_.clear();
    for (const nn::NamedParameter& p : training.adam.parameters())
        best_.push_back({p.name, p.tensor.clone()});
}

// The file to resume from is written last: a run that is killed before does all this again, with the same
// result.
void Run::keep() {
    now_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    log_.add(now_);
    will_save(now_);
    if (now_.ends_epoch)
        epoch = {.ended = epoch.ended + 1, .first = step() + 1};
    if (!folder.exists())
        return;
    if (now_.validation && training.best_step == step() && folder.writes())
        save_checkpoint(folder.best(), model.state);
    if (now_.validation || now_.ends_epoch || now_.stops || step() == last_ ||
        (folder.run.save_every > 0 && step() % folder.run.save_every == 0)) {
        if (folder.writes())
            nn::checkpoint::replace_file(folder.log(), log_.text());
        save_last();
    }
}

void Run::save_last() {
    if (!folder.writes())
        return;
    Metadata all;
    nn::checkpoint::FieldWriter write{all, folder.program + "."};
    write("arguments", folder.arguments);
    write("data", model.data);
    write("parts", folder.parts);
    write("loss", loss_);
    if (options.epochs)
        epoch.visit(write);
    write("validation", validation);
    save_checkpoint(folder.last(), model.state, all, &training);
}

int64_t Run::finish() {
    if (!best_.empty())
        nn::copy_values(best_, training.adam.parameters());
    const int64_t best = training.best_step;
    if (folder.writes()) {
        if (best > 0)  // of a run that had ended before, this file may be gone: the model has the same
            load_weights(
                losses.empty() && !nn::checkpoint::exists(folder.best()) ? folder.model() : folder.best(),
                model.state);
        save_checkpoint(folder.model(), model.state);
    }
    share_weights();
    return !folder.writes() ? 0 : best > 0 ? best : training.adam.steps();
}

}  // namespace plaingrad::models
