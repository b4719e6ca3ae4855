#include "models/runs/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "nn/checkpoint/file.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::models {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOthers = ": this belongs to a model, or to another run; give another folder";

// The program whose run this is; "" if that is not known.
std::string program_of(const Metadata& checkpoint) {
    for (const auto& [name, value] : checkpoint)
        if (name.ends_with(".arguments"))
            return name.substr(0, name.find('.'));
    return "";
}

}  // namespace

void check_no_model(const std::string& folder, const TextFiles& own) {
    std::error_code none;
    for (const fs::path name : nn::checkpoint::names_in(folder, none)) {
        const fs::path kind = name.extension();
        const std::string file = nn::checkpoint::in_folder(folder, name.string());
        const auto is_own = [&](const auto& text) {
            return text.first == name && text.second == nn::checkpoint::read_file(file);
        };
        check((kind != ".json" && kind != ".safetensors" && kind != ".jinja" && name != "merges.txt" &&
               name != "vocab.txt") ||
                  std::any_of(own.begin(), own.end(), is_own),
              file, kOthers);
    }
}

RunFolder::RunFolder(const std::string& of_program, const RunSettings& of_run, nn::Team& of_processes)
    : run(of_run),
      program(of_program),
      path(of_run.resume.empty() ? of_run.save : of_run.resume),
      team_(&of_processes),
      resumes_(!of_run.resume.empty()) {
    if (of_run.stop_after > 0 && !exists())
        throw SettingError("--stop-after needs --save or --resume");
    nn::together(team(), [this] {
        if (writes())
            lock();  // before anything is read that another run may be changing
    });
    if (resumes()) {
        const nn::checkpoint::SafeTensors file = nn::checkpoint::read(last());
        is_saved_here(file);  // throws for another version
        const nn::checkpoint::Fields read{file.metadata(), program + ".", last()};
        const std::string other = program_of(file.metadata());
        nn::checkpoint::check_file(read.has("arguments"), last(), ": this is a ",
                                   other.empty() ? "model, not a run" : "run of " + other + ", not", " of ",
                                   program);
        read("arguments", arguments);
        read("parts", parts);
    } else {
        parts = of_run.parts > 0 ? of_run.parts : team().size();
    }
    if (team().size() > parts)
        throw SettingError(autograd::join("a batch of this run is cut into ", parts,
                                          parts == 1 ? " part" : " parts",
                                          ", so at most as many processes can share it: got ", team().size(),
                                          resumes() ? "" : "; --parts sets the number"));
}

RunFolder::Held::~Held() {
    for (const std::string& folder : made)
        rmdir(folder.c_str());  // only if it is empty
    if (lock >= 0)
        close(lock);
}

std::string RunFolder::file(const std::string& name) const { return nn::checkpoint::in_folder(path, name); }

void RunFolder::lock() {
    if (!resumes_)
        make();
    held_.lock = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_missing = held_.lock < 0 && (errno == ENOENT || errno == ENOTDIR);
    check(held_.lock >= 0 || (resumes_ && is_missing), path,
          ": this folder cannot be opened: ", std::generic_category().message(errno));
    // On a file system without locks it runs unlocked.
    const bool is_taken = !is_missing && flock(held_.lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (is_taken)
        held_.made.clear();  // the folder is that run's
    check(!is_taken, path, ": another run is writing into this folder");
    check(!resumes_ || nn::checkpoint::exists(last()), path, ": there is no run in this folder (", last(),
          ")");
    for (const char* const name :
         {"last.safetensors", "best.safetensors", "model.safetensors", "log.csv", "report.jsonl"})
        nn::checkpoint::check_can_replace(file(name));
    if (resumes_)
        return;
    std::error_code none;
    const bool is_run = nn::checkpoint::exists(last());
    for (const std::string& name : nn::checkpoint::names_in(path, none))
        check(!name.ends_with(".safetensors") && name != "log.csv" && name != "report.jsonl", file(name),
              is_run ? ": there is a run in this folder already; continue it with --resume, or give another"
                     : kOthers);
}

void RunFolder::make() {
    std::error_code error, none;
    for (fs::path folder = path; !folder.empty() && !nn::checkpoint::exists(folder.string());
         folder = folder.parent_path())
        held_.made.push_back(folder.string());
    fs::create_directories(path, error);
    check(!error && fs::is_directory(path, error), path, ": this folder cannot be made: ",
          fs::is_symlink(path, none) && !nn::checkpoint::exists(path)
              ? "this is a link to something that is not there"
          : error ? error.message()
                  : "there is a file of this name");
}

}  // namespace plaingrad::models
