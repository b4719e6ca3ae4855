// The folder of a training run: its files, and a lock, so that only one run writes there.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "models/saved.h"
#include "nn/checkpoint/json.h"
#include "nn/parallel/team.h"

namespace plaingrad::models {

using nn::checkpoint::listed;

// A value that is out of its range, or a setting that cannot be given. It is not an autograd::Error: the
// command is wrong, not the data, so a program ends with status 2.
struct SettingError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Where a run is saved and shown, and how often.
struct RunSettings {
    std::string save = {}, resume = {};  // the folder of a new run, or of one to resume; or neither
    int64_t save_every = 0;              // steps between checkpoints; 0: only after validations
    int64_t stop_after = 0;              // steps of this call; another call can resume; 0: all that are left
    std::string report = {};             // a page about it (apps/kit/report.h); "": none
    // check: only asks whether all is ready (apps/kit/run.h); plot: draws the curve of the loss at the end.
    bool check = false, plot = false;
    std::string precision = "float32";  // of the model's products
    // How many parts each batch is cut into, for several processes to share (nn/parallel/data_parallel.h);
    // 0: as many as there are processes. A run keeps its parts.
    int64_t parts = 0;
};

// Before a model is written into a folder: throws Error if another model's files would be overwritten there,
// or, as a tokenizer.json, be read in place of the new ones; but `own` may be there already, of a run that
// was killed as it began.
void check_no_model(const std::string& folder, const TextFiles& own = {});

// While this object, or its process, exists, no other run can use the folder. Without `save` and `resume`
// there is no folder, and nothing is saved.
class RunFolder {
public:
    // For a new run, makes the folder if necessary. Throws Error if another run uses the folder, if it has no
    // run to resume, or already has one, or weights or a log, or if it cannot be written; and SettingError
    // for more processes than parts, and for stop_after without a folder, which would have no effect. To
    // resume, every process must see the folder.
    RunFolder(const std::string& of_program, const RunSettings& of_run, nn::Team& of_processes = nn::alone());
    // For a program with options (kit::Options, which models do not know): a new run keeps their values, and
    // one that is resumed restores them.
    template <class Options>
    RunFolder(const std::string& of_program, const RunSettings& of_run, Options& options)
        : RunFolder(of_program, of_run, *options.team) {
        if (of_run.save_every > 0 && options.was_given("--save-every") && !exists())
            throw SettingError("--save-every needs --save or --resume");
        if (resumes())
            options.resume(arguments, last());
        if (exists() || !of_run.report.empty() || team().size() > 1)
            arguments = options.kept();
        run = of_run;  // the program's settings, which options.resume may have changed
    }
    RunFolder(RunFolder&&) = delete;  // nor copied

    bool exists() const { return !path.empty(); }
    // Whether this process writes there: process 0 does.
    bool writes() const { return exists() && team().leads(); }
    nn::Team& team() const { return *team_; }  // the processes that share the run
    bool resumes() const { return resumes_; }
    std::string file(const std::string& name) const;
    std::string last() const { return file("last.safetensors"); }  // to resume from
    std::string best() const { return file("best.safetensors"); }  // of the best validation
    // The model, once the run has ended.
    std::string model() const { return file("model.safetensors"); }
    std::string log() const { return file("log.csv"); }

    RunSettings run = {};
    int64_t parts = 1;  // into which a batch is cut
    std::string program, path;
    std::string arguments = {};  // the settings, as a checkpoint keeps them

private:
    void make();
    void lock();

    nn::Team* team_;
    bool resumes_;
    // The lock, and the folders that did not exist, the innermost first. In the end those that are empty are
    // removed: a refused run leaves no trace.
    struct Held {
        ~Held();
        int lock = -1;
        std::vector<std::string> made = {};
    } held_ = {};
};

}  // namespace plaingrad::models
