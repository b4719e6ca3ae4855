// The folder of a training run: what is in it, and that only one run writes there.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "apps/kit/saved.h"

namespace plaingrad::translate {

using autograd::check;
using autograd::join;

// What a run writes into its folder.
struct Folder {
    std::string path;
    std::string file(const std::string& name) const { return (std::filesystem::path(path) / name).string(); }
    std::string last() const { return file("last.safetensors"); }    // to go on from
    std::string best() const { return file("best.safetensors"); }    // of the best validation
    std::string model() const { return file("model.safetensors"); }  // the average of the last epochs
    std::string log() const { return file("log.csv"); }
    std::string epoch(int64_t number) const { return file(join("epoch-", number, ".safetensors")); }

    // Whether nothing was learned since the model was written.
    bool model_is_newest() const {
        std::error_code no_model, no_last;
        const auto model_time = std::filesystem::last_write_time(model(), no_model);
        const auto last_time = std::filesystem::last_write_time(last(), no_last);
        return !no_model && !no_last && model_time >= last_time;
    }

    // What a run that was killed while it wrote has left.
    void tidy() const {
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(path, none))
            if (entry.path().filename().string().find(".safetensors.tmp-") != std::string::npos)
                std::filesystem::remove(entry.path(), none);
    }
};

// Only one run at a time writes into a folder: as long as this object, or its process, exists, another one is
// refused.
class FolderLock {
public:
    // Makes the folder for a new run, if need be. Throws Error if another run holds it, if it has no run to
    // resume, or one already for a new run, or if it can't be written.
    FolderLock(const Folder& folder, bool resumes) : FolderLock(folder.path) {
        std::error_code none;
        do {
            leave();
            if (!resumes)
                make();
            opened_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            const bool busy = opened_ >= 0 && flock(opened_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
            locked_ = opened_ >= 0 && !busy;
            check(!busy, path_, ": another run is writing into this folder");
            check(!resumes || std::filesystem::exists(folder.last(), none), path_,
                  ": there is no run in this folder (", folder.last(), ")");
        } while (!still_there());
        kit::check_can_save(folder.last(), {});
        for (const std::string& there : {folder.last(), folder.best(), folder.model()})
            check(resumes || !std::filesystem::exists(there, none), path_,
                  ": there is a run in this folder already; --resume ", path_, " goes on with it");
    }
    // What was refused leaves no trace: a folder that this run has made goes if nothing is in it, but never
    // one that another run has locked.
    ~FolderLock() { leave(); }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    // Constructed already when the other constructor throws, so that the destructor runs.
    explicit FolderLock(const std::string& path) : path_(path) {}

    void make() {
        std::error_code error;
        made_ = std::filesystem::create_directories(path_, error) || made_;
        check(!error && std::filesystem::is_directory(path_), path_,
              ": no folder can be made there: ", error ? error.message() : "there is a file of this name");
    }
    // Between opening and locking, the run that held the folder may have removed it.
    bool still_there() const {
        struct stat mine = {}, there = {};
        return opened_ < 0 || (fstat(opened_, &mine) == 0 && stat(path_.c_str(), &there) == 0 &&
                               mine.st_ino == there.st_ino && mine.st_dev == there.st_dev);
    }
    void leave() {
        std::error_code none;
        if (made_ && locked_ && still_there())
            std::filesystem::remove(path_, none);  // not if there is something in it
        if (opened_ >= 0)
            close(opened_);
        opened_ = -1;
        locked_ = false;
    }

    std::string path_;
    int opened_ = -1;
    bool made_ = false, locked_ = false;
};

}  // namespace plaingrad::translate
