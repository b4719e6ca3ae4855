#include "apps/kit/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>

#include "apps/kit/saved.h"
#include "models/saved.h"
#include "nn/checkpoint/metadata.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::kit {

namespace fs = std::filesystem;
using autograd::check;
using autograd::join;
using nn::checkpoint::FieldReader;

void add_run_options(Options& options, RunSettings& run) {
    constexpr int64_t most = 1'000'000'000;
    options.add("--save", "FOLDER", "where the model, checkpoints and a log are kept", run.save).new_run();
    options.add("--resume", "FOLDER", "go on with the run that was saved there, to the same bits", run.resume)
        .this_call();
    options
        .add("--save-every", "N", "steps from one checkpoint to the next; 0: only after validations",
             run.save_every, {.max = most})
        .may_change();
    options
        .add("--stop-after", "N", "end this call after so many steps, to resume later; 0: not before the end",
             run.stop_after, {.max = most})
        .this_call();
}

RunFolder::RunFolder(const std::string& of_program, const std::string& folder, bool resumes)
    : program(of_program), path(folder), top(folder), resumes_(resumes) {}

// The other constructor is done when this one throws, so that the destructor runs.
RunFolder::RunFolder(const std::string& of_program, const RunSettings& settings, Options& options,
                     const std::string& within)
    : RunFolder(of_program, settings.resume.empty() ? settings.save : settings.resume,
                !settings.resume.empty()) {
    if (!within.empty() && exists()) {
        path = (fs::path(path) / within).string();
        resumes_ = resumes_ && fs::exists(last());
    }
    if (exists())
        lock();  // before anything is read that another run may be about to change
    if (resumes()) {
        checkpoint = nn::checkpoint::read(last()).metadata();
        options.resume(FieldReader{checkpoint, program + ".", last()}.required("arguments"), last());
    }
    arguments = options.kept();
}

RunFolder::~RunFolder() { leave(); }

std::string RunFolder::file(const std::string& name) const { return (fs::path(path) / name).string(); }

void RunFolder::lock() {
    std::error_code none;
    do {
        leave();
        if (!resumes_)
            make();
        opened_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool busy = opened_ >= 0 && flock(opened_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        locked_ = opened_ >= 0 && !busy;
        check(!busy, path, ": another run is writing into this folder");
        check(!resumes_ || fs::exists(last(), none), path, ": there is no run in this folder (", last(), ")");
    } while (locked_ && !is_mine());  // its owner may have removed the folder between opening and locking
    check_can_save(last(), {});
    for (const std::string& there : {last(), best(), model()})
        check(resumes_ || !fs::exists(there, none), path,
              ": there is a run in this folder already; --resume ", top, " goes on with it");
    for (const auto& entry : fs::directory_iterator(path, none))  // what a killed run was writing
        if (entry.path().filename().string().find(".safetensors.tmp-") != std::string::npos)
            fs::remove(entry.path(), none);
}

void RunFolder::make() {
    std::error_code error;
    made_ = fs::create_directories(path, error) || made_;
    check(!error && fs::is_directory(path), path,
          ": no folder can be made there: ", error ? error.message() : "there is a file of this name");
}

bool RunFolder::is_mine() const {
    struct stat mine = {}, there = {};
    return locked_ && fstat(opened_, &mine) == 0 && stat(path.c_str(), &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

void RunFolder::leave() {
    std::error_code none;
    if (made_ && is_mine())
        fs::remove(path, none);  // not if there is something in it
    if (opened_ >= 0)
        close(opened_);
    opened_ = -1;
    locked_ = false;
}

void print_run(const std::string& program, const std::string& path, Options& train) {
    std::error_code none;
    const std::string last = (fs::path(path) / "last.safetensors").string();
    const std::string file = fs::exists(last, none) ? last : models::model_file(path);
    const Metadata metadata = nn::checkpoint::read(file).metadata();
    const FieldReader training{metadata, "training.", file}, run{metadata, program + ".", file};
    if (!training.has("steps") || !run.has("arguments"))
        return;
    int64_t steps = 0, best_step = 0, worse = 0, epoch = -1;
    double best = 0, loss = 0;
    std::string validation;
    training("steps", steps), training("best_step", best_step), training("worse", worse);
    training("best_validation", best);
    run("epoch", epoch), run("loss", loss), run("validation", validation);
    std::cout << "training: step " << steps;
    if (epoch >= 0)
        std::cout << ", epoch " << epoch + 1;
    std::cout << (steps > 0 ? join(", loss ", loss) : "") << '\n';
    if (!validation.empty())
        std::cout << "last validation: " << validation << '\n';
    if (best_step > 0)
        std::cout << "best validation: loss " << best << " at step " << best_step << "; " << worse
                  << " since\n";
    train.resume(run.required("arguments"), file);
    std::cout << "settings: " << train.changed() << '\n';
}

int info(const std::string& program, int argc, char** argv, Options& train) {
    std::vector<std::string> words;
    Options options(program + " info", "says how far a run is, and its settings");
    options.rest("FOLDER", "of --save", words, true);
    options.parse(argc, argv);
    print_run(program, words[0], train);
    return 0;
}

}  // namespace plaingrad::kit
