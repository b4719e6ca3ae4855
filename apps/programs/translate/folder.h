// The folder of a training run: what is in it, and that only one run writes there.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
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

    // Throws Error unless a run can begin there, or go on.
    void create(bool goes_on) const {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        check(!error && std::filesystem::is_directory(path), path,
              ": no folder can be made there: ", error ? error.message() : "there is a file of this name");
        kit::check_can_save(last(), {});
        for (const std::string& there : {last(), best(), model()})
            check(goes_on || !std::filesystem::exists(there, error), path,
                  ": there is a run in this folder already; --resume ", path, " goes on with it");
    }

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

// No other run may write into the folder as long as this object, or its process, exists.
class FolderLock {
public:
    explicit FolderLock(const Folder& folder)
        : opened_(open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        const bool locked = opened_ >= 0 && flock(opened_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        check(!locked, folder.path, ": another run is writing into this folder");
    }
    ~FolderLock() {
        if (opened_ >= 0)
            close(opened_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int opened_;
};

}  // namespace plaingrad::translate
