// The folder of a training run, the same for every program: what is in it, and that only one run writes
// there.
#pragma once

#include <string>

#include "apps/kit/options.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::kit {

using Metadata = nn::checkpoint::Metadata;

struct RunSettings {
    std::string save = {}, resume = {};
    int64_t save_every = 0, stop_after = 0;
};
void add_run_options(Options& options, RunSettings& run);

// While this object, or its process, exists, no other run can have the folder. Without --save and --resume
// there is none, and nothing is kept.
class RunFolder {
public:
    // Makes the folder for a new run, if need be. With --resume, sets the options to what the run began with.
    // Throws Error if another run holds the folder, if it has no run to resume, or one already, or if it
    // can't be written. within: a folder in that folder, for a program with several runs.
    RunFolder(const std::string& of_program, const RunSettings& settings, Options& options,
              const std::string& within = "");
    // What was refused leaves no trace: a folder that this run has made goes if nothing is in it.
    ~RunFolder();
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;

    bool exists() const { return !path.empty(); }
    bool resumes() const { return resumes_; }
    std::string file(const std::string& name) const;
    std::string last() const { return file("last.safetensors"); }  // to resume from
    std::string best() const { return file("best.safetensors"); }  // of the best validation
    std::string model() const {
        return file("model.safetensors");
    }  // what was learned, when the run has ended
    std::string log() const { return file("log.csv"); }

    std::string program, path;
    std::string top;             // what --resume is given
    std::string arguments = {};  // the options' values, for checkpoints
    Metadata checkpoint = {};    // with --resume: of `last`

private:
    RunFolder(const std::string& of_program, const std::string& folder, bool resumes);
    void make();
    void lock();
    bool is_mine() const;
    void leave();

    bool resumes_, made_ = false, locked_ = false;
    int opened_ = -1;
};

// What `info` says of a run: how far it is, its best validation, and its settings, which the rows of `train`
// explain. `path`: a run's folder, or a file; nothing is said of one that is no checkpoint.
void print_run(const std::string& program, const std::string& path, Options& train);
// The command itself, of programs that say no more: info FOLDER.
int info(const std::string& program, int argc, char** argv, Options& train);

}  // namespace plaingrad::kit
