#include "apps/kit/run.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "apps/kit/picture.h"
#include "models/hugging_face/weights.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::kit {

namespace fs = std::filesystem;
using nn::checkpoint::exists;
using nn::checkpoint::in_folder;

void add_report_options(Options& options, models::RunSettings& run) {
    options.is_shared();
    options.add("--check", "before a long run: check in seconds that it can learn, and stop", run.check)
        .new_run();
    options.add("--plot", "draw the curve of the loss at the end", run.plot).this_call();
    options
        .add("--report", "FILE.html", "write a page that shows the run: curves, attention, ...", run.report)
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
    add_report_options(options, run);
}

std::string whole_name(const std::string& file) { return fs::absolute(file).string(); }

Examples part_of(const Examples& batch, const nn::StepPart& at) {
    const std::vector<int32_t> lengths = batch.inputs[0].lengths();
    Examples part = {{}, models::part_of(batch.targets, lengths, at)};
    for (const Tokens& input : batch.inputs)
        part.inputs.push_back(models::part_of(input, lengths, at));
    return part;
}
Examples examples_of(const models::Batch& batch) { return {{batch.src, batch.read()}, batch.said()}; }
Examples examples_of(const Tokens& texts) {
    const int64_t T = texts.length() - 1;
    return {{texts.slice(0, T)}, texts.slice(1, T + 1)};
}

void Run::begins() {
    const int64_t done = step();
    check_usage(options.steps >= done, "this run has done ", counted(done, "step"),
                " already; it cannot end after ", options.steps);
    if (has_ended()) {
        say(join("this run has ended, after step ", done, ": ", as_line(folder.model()), "; ",
                 plan.continues));
        if (!folder.run.report.empty())
            say("--report: nothing is trained; the page of this run is made by: report " +
                as_line(folder.path));
        return;
    }
    print_memory(folder, model.parameters, plan);
    if (folder.run.check)
        throw Ended{!folder.team().leads() || check(*this) ? 0 : 1};
    if (folder.team().leads() && (folder.exists() || !folder.run.report.empty()))
        recorder_.emplace(plan, options.steps).begin(*this);
    listen_for_interrupt();
    if (folder.team().leads())
        progress_.emplace(last(), done);
}

bool Run::stepped(const nn::StepReport& report) {
    if (progress_)
        progress_->update(report.step, report.loss, report.tokens);
    return interrupted();
}

void Run::will_save(const nn::StepReport& report) {
    if (progress_ && report.validation)
        progress_->note(validation + (training.best_step == report.step ? "" : "  (not better)"));
    if (recorder_)
        recorder_->after_step(*this, report, scores);
}

bool Run::ends() {
    progress_.reset();
    if (folder.run.plot)
        std::cout << loss_chart(log(), static_cast<std::size_t>(terminal_width(STDOUT_FILENO)), stdout_ink());
    const std::string after =
        join(" after step ", step(), "; continue with --resume ", as_line(folder.path), "\n");
    if (const int signal = stop_listening_for_interrupt(folder.team())) {
        std::cerr << (folder.exists() ? "saved" + after
                                      : "stopped; nothing was saved: there was no --save FOLDER\n");
        throw Ended{128 + signal, signal == SIGINT ? "interrupted" : "terminated"};
    }
    if (!has_ended())
        std::cerr << "stopped" + after;
    return has_ended();
}

bool Run::finish() {
    if (!ends())
        return false;
    if (const int64_t step = models::Run::finish(); step > 0)
        std::cerr << join("saved ", as_line(folder.model()), ", with the weights of step ", step, "\n");
    return true;
}

// What `info` says about a run. Prints nothing and returns false if that is no checkpoint of such a run.
static bool print_run(const std::string& program, const std::string& path, Options& train) {
    const std::string last = in_folder(path, "last.safetensors");
    const std::string file = exists(last) ? last : models::hugging_face::weight_files(path)[0];
    const nn::checkpoint::Metadata metadata = nn::checkpoint::read(file).metadata();
    const nn::checkpoint::Fields training{metadata, "training.", file}, run{metadata, program + ".", file};
    if (!training.has("steps") || !run.has("arguments"))
        return false;
    int64_t steps = 0, best_step = 0, worse = 0;
    double best = 0, loss = 0;
    std::string validation;
    training("steps", steps), training("best_step", best_step), training("worse", worse);
    training("best_validation", best), run("loss", loss), run("validation", validation);
    models::Epoch of;
    of.visit(run);
    const int64_t epoch = of.ended < steps ? of.number() : of.ended;  // 1 cannot be added to a damaged one
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
    train.resume(metadata.at(program + ".arguments"), file);
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
    const bool is_model = print_folder != nullptr &&
                          (!fs::is_directory(words[0], none) || exists(in_folder(words[0], "config.json")));
    if (is_model)
        print_folder(words[0]);
    if (is_model && !exists(in_folder(words[0], "last.safetensors")) &&
        !models::SavedModel(words[0]).is_ours())
        return;
    check(print_run(program, words[0], train) || is_model, words[0], ": this folder has no run of ", program);
}

}  // namespace plaingrad::kit
