#include "apps/kit/run.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "apps/kit/page.h"
#include "apps/kit/picture.h"
#include "apps/kit/program.h"
#include "apps/kit/progress.h"
#include "apps/kit/report.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/metadata.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::kit {

namespace fs = std::filesystem;
using autograd::join;
using nn::checkpoint::certainly_exists;
using nn::checkpoint::in_folder;

void add_report_options(Options& options, models::RunSettings& run) {
    options.is_shared();
    options.add("--check", "before a long run: check in seconds that it can learn, and stop", run.check)
        .new_run();
    options.add("--plot", "draw the curve of the loss at the end", run.plot).this_call();
    options
        .add("--report", "FILE.html", "write a page that shows the run: curves, attention, ...", run.report)
        .this_call()
        .set = [&run](const std::string& file) {
        if (nn::started_rank() == 0)
            check_page(file);  // before hours of training
        run.report = file;
    };
    options
        .add("--report-every", "N", "write the page again every N steps; 0: only at the end",
             run.report_every, {.max = 1'000'000'000})
        .this_call();
}

void add_run_options(Options& options, models::RunSettings& run) {
    options.add("--save", "FOLDER", "folder for the model, checkpoints and a log", run.save).new_run();
    options.add("--resume", "FOLDER", "continue the run in this folder, with the same bits", run.resume)
        .this_call();
    options
        .add("--save-every", "N", "steps between checkpoints; 0: only after validations", run.save_every,
             {.max = 1'000'000'000})
        .may_change();
    options
        .add("--stop-after", "N", "stop this call after N steps, to resume later; 0: run to the end",
             run.stop_after, {.max = 1'000'000'000})
        .this_call();
    options
        .add("--parts", "N",
             "cut each batch into N parts, which the processes of mpirun share; the result depends on N, "
             "not on them; 0: one for each process",
             run.parts, {.max = 4096})
        .new_run();
    options.add_precision(run.precision);
    options.add("--log", "json: the folder also gets log.jsonl", run.log, {"csv", "json"}).may_change();
    add_report_options(options, run);
}

namespace {

const char* why_not_longer(bool by_steps) {
    return by_steps ? "its learning rate fell over these steps, so a longer run must be a new one"
                    : "its --patience ended it, so a longer run must be a new one with a larger --patience";
}

// Prints the plan, and returns a Watch with the progress line, which lives as long as a copy of the Watch.
nn::Watch announced(models::Run& run, int64_t steps, int64_t patience, const Plan& plan,
                    int64_t batches_in_step) {
    const int64_t done = run.training.adam.steps(), last = run.last_of(steps);
    check_usage(steps >= done, "this run has done ", counted(done, "step"), " already; it cannot end after ",
                steps);
    if (run.has_ended(steps, patience)) {
        say(join("this run has ended, after step ", done, ": ", as_line(run.folder.model()), "; ",
                 plan.continues.empty() ? why_not_longer(run.has_ended(steps, 0)) : plan.continues));
        if (!run.folder.run.report.empty())
            say("--report: nothing is trained; the page of this run is made by: report " +
                as_line(run.folder.path));
        return {};
    }
    print_plan(run.training.parallel, run.model.parameters, plan, run.folder.exists(), last - done,
               (last - done) * batches_in_step);
    if (run.folder.run.check)
        throw Ended{!run.folder.team().leads() || check(run.model, plan) ? 0 : 1};
    if (!run.folder.team().leads()) {
        listen_for_interrupt();
        return {.should_stop = interrupted};
    }
    const auto report = std::make_shared<Report>(run, steps, patience, plan);
    listen_for_interrupt();
    const auto progress = std::make_shared<Progress>(last, plan.plain_lines_every, done);
    return {.on_step = [progress](const nn::StepReport& r) { progress->update(r.step, r.loss, r.tokens); },
            .on_validation =
                [progress, &run](int64_t, double, bool better) {
                    progress->note(run.validation + (better ? "" : "  (not better)"));
                },
            .after_step = [report](const nn::StepReport& r) { report->after_step(r); },
            .should_stop = interrupted};
}

// After the last step of this call.
bool finish(models::Run& run, bool has_ended) {
    if (run.folder.run.plot)
        std::cout << loss_chart(run.log(), static_cast<std::size_t>(terminal_width(STDOUT_FILENO)),
                                stdout_ink());
    const std::string after = join(" after step ", run.training.adam.steps(), "; continue with --resume ",
                                   as_line(run.folder.top), "\n");
    if (const int signal = stop_listening_for_interrupt(run.folder.team())) {
        std::cerr << (run.folder.exists() ? "saved" + after
                                          : "stopped; nothing was saved: there was no --save FOLDER\n");
        throw Interrupted{signal};
    }
    if (!has_ended)
        std::cerr << "stopped" + after;
    else if (const int64_t step = run.finish(); step > 0)
        std::cerr << join("saved ", as_line(run.folder.model()), ", with the weights of step ", step, "\n");
    return has_ended;
}

}  // namespace

bool train(models::Run& run, const nn::LossOf& loss_of, const nn::TrainingOptions& options, Plan plan) {
    if (!plan.batch)
        plan.batch = [&](nn::StepPart at, const nn::Mode& mode) {
            at.step += run.training.adam.steps();
            return loss_of(at, mode);
        };
    plan.validates = options.validation_loss != nullptr;
    for (int64_t i = 0; i < 1000; ++i)
        plan.learning_rate =
            std::max(plan.learning_rate, options.learning_rate(1 + options.steps * i / 1000));
    return finish(run, run.train(loss_of, options,
                                 announced(run, options.steps, options.patience, plan, options.accumulate)));
}

int64_t begin(models::Run& run, int64_t steps, const Plan& plan) {
    return run.begin(steps, announced(run, steps, 0, plan, 1));
}

bool end(models::Run& run) { return finish(run, run.stop()); }

bool print_run(const std::string& program, const std::string& path, Options& train) {
    const std::string last = in_folder(path, "last.safetensors");
    const std::string file = certainly_exists(last) ? last : models::model_file(path);
    const nn::checkpoint::Metadata metadata = nn::checkpoint::read(file).metadata();
    const nn::checkpoint::FieldReader training{metadata, "training.", file},
        run{metadata, program + ".", file};
    if (!training.has("steps") || !run.has("arguments"))
        return false;
    int64_t steps = 0, best_step = 0, worse = 0, epoch = 0, batch = 0;
    double best = 0, loss = 0;
    std::string validation;
    training("steps", steps), training("best_step", best_step), training("worse", worse);
    training("best_validation", best), run("loss", loss), run("validation", validation);
    run("epoch", epoch), run("batch", batch);
    // The file has the epoch and the batch that come next, counted from 0; printed is the epoch of the last
    // batch, counted from 1. (A damaged epoch, to which 1 could not be added, is printed as it is.)
    epoch += batch > 0 && epoch < steps ? 1 : 0;
    std::cout << "training: step " << steps << (epoch > 0 ? join(", epoch ", epoch) : "")
              << (steps > 0 ? join(", loss ", loss) : "") << '\n';
    if (!validation.empty())
        std::cout << "last validation: " << as_line(validation) << '\n';
    if (best_step > 0)
        std::cout << join("best validation: loss ", best, " at step ", best_step, "; ",
                          counted(worse, "validation"), " since\n");
    int64_t parts = 1;
    run("parts", parts);
    if (parts > 1)
        std::cout << "parts of a batch: " << parts << ", for at most as many processes\n";
    train.resume(run.required("arguments"), file);
    const std::string changed = as_line(train.changed());
    say("settings: " + (changed.empty() ? "the defaults" : changed), STDOUT_FILENO);
    return true;
}

void info(const std::string& program, Options& options, Options& train, PrintFolder print_folder) {
    std::error_code none;
    std::vector<std::string> words;
    options.rest("FOLDER",
                 print_folder == nullptr ? "the folder given to --save"
                                         : "the folder given to --save, or one from Hugging Face",
                 words, {1, 1});
    options.parse();
    if (print_folder != nullptr && certainly_exists(in_folder(words[0], "config.json"))) {
        print_folder(words[0]);
        if (!certainly_exists(in_folder(words[0], "last.safetensors")))
            return;
    }
    // A folder that is no run, but has some in it, as of tasks.
    std::set<std::string> runs;
    for (const std::string& name : nn::checkpoint::names_in(words[0], none))
        if (const std::string run = in_folder(words[0], name);
            certainly_exists(in_folder(run, "last.safetensors")))
            runs.insert(run);
    if (runs.empty() || certainly_exists(in_folder(words[0], "last.safetensors")))
        runs = {words[0]};
    for (const std::string& run : runs) {
        std::cout << (run == words[0] ? "" : as_line(run) + "\n");
        autograd::check(print_run(program, run, train), run, ": this folder has no run of ", program);
    }
}

}  // namespace plaingrad::kit
