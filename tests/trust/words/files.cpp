#include "tests/trust/words/files.h"

#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <regex>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "tests/folder.h"
#include "tests/trust/words/commands.h"
#include "tests/trust/words/torture.h"

namespace plaingrad::trust::words {
namespace {

namespace fs = std::filesystem;

struct Job {
    std::string what, command;  // the file's name in the kept texts; the command line
    std::string path;           // of the file
    std::string word = {};      // in the command: FILE, or PLACE
    double seconds = 60;        // that it may take

    // The command without the options that only make it fast.
    std::string place() const {
        static const std::regex option(" --([a-z-]+ [0-9]+|prompt a|(save|out) \\$new)");
        return std::regex_replace(command, option, "");
    }
    // "/bert/config.json" of $bert/FILE=config.json: the member of a folder that is the file; else "".
    std::string member_of() const {
        static const std::regex member("\\$([a-z0-9_]+)/FILE=(\\S+)");
        std::smatch found;
        return std::regex_search(command, found, member) ? "/" + found.str(1) + "/" + found.str(2)
                                                         : "/no/member";
    }
};

// Where nothing can be written.
struct Place {
    std::string what, path;
};
std::vector<Place> places(const std::string& folder) {
    tests::put(folder + "/file", "something\n");
    fs::create_directory(folder + "/folder");
    tests::put(folder + "/folder/file", "something\n");
    return {{"write: /dev/full", "/dev/full"},
            {"write: below a file", folder + "/file/new"},
            {"write: below a file's folder", folder + "/file/new/new"},
            {"write: in no folder", "/proc/no/such/folder"},
            {"write: where nobody can write", "/proc/new"},
            {"write: a name of 300 letters", folder + "/" + std::string(300, 'n')},
            {"write: a name with an escape, below a file", folder + "/file/\x1b[31mred"},
            {"write: a name that is not UTF-8, below a file", folder + "/file/\xff\xfe"}};
}

class Trial {
public:
    explicit Trial(const Instrument& trust) {
        make_fixtures(folder_);
        fs::create_directory(folder_ / "files");
        fs::create_directory(folder_ / "places");
        const std::string model = folder_ / "fixtures/lm/model.safetensors";
        for (const Torture& file : torture_files(model))
            if (trust.scale == Scale::full || !file.is_long)
                add(file);
        for (const Place& place : places(folder_ / "places"))
            for (const std::string& command : writing_commands())
                jobs_.push_back({place.what, command, place.path, "PLACE"});
        choose(trust);
    }

    Said run() {
        const auto before = fixtures();
        two_at_a_time(std::ssize(jobs_), [&](int64_t i, int worker) {
            try_one(jobs_[static_cast<std::size_t>(i)], folder_ / autograd::join("worker", worker));
            if ((i + 1) % 1000 == 0)
                std::printf("%lld of %zu\n", static_cast<long long>(i + 1), jobs_.size()),
                    std::fflush(stdout);
        });
        // They are read by many at once: what a command writes, it must be told to write elsewhere. (A file
        // that is removed also changes its folder, so it is looked for first.)
        const auto after = fixtures();
        for (const auto& [file, written] : before)
            autograd::check(after.contains(file), file, ": a command has removed this, of the fixtures");
        for (const auto& [file, written] : after)
            autograd::check(before.contains(file) && before.at(file) == written, file,
                            ": a command has written this, of the fixtures");
        return said_;
    }

private:
    // The files of the fixtures, and when each was written.
    std::map<std::string, fs::file_time_type> fixtures() const {
        std::map<std::string, fs::file_time_type> files;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_ / "fixtures"))
            files[entry.path()] = entry.last_write_time();
        return files;
    }

    void add(const Torture& file) {
        static int number = 0;
        const std::string own = folder_ / autograd::join("files/", 10'000 + ++number);  // equally long
        fs::create_directory(own);
        const std::string path =
            file.path.empty() ? own + "/" + (file.file.empty() ? "file" : file.file) : file.path;
        if (file.make)
            file.make(path);
        for (const std::string& command : reading_commands())
            jobs_.push_back({file.name, command, path, "FILE", file.is_long ? 900.0 : 60.0});
    }

    // The smaller scales take a part of them, which depends on the seed.
    void choose(const Instrument& trust) {
        const int64_t part = trust.count(10, 3, 1);
        const autograd::Rng rng = trust.rng().fork("files");
        uint64_t i = 0;
        std::erase_if(jobs_, [&](const Job&) { return rng.below(i++, part) != 0; });
    }

    // The folder $bert, with links to all of its files, except that the one is the strange one.
    static void replace_member(const std::string& folder, const std::string& member, const Job& job,
                               const std::string& into) {
        fs::create_directory(into);
        for (const fs::directory_entry& entry : fs::directory_iterator(folder))
            if (const std::string name = entry.path().filename(); name != member && !is_instead(name, member))
                fs::copy_file(entry.path(), into + "/" + name);
        fs::create_symlink(job.path, into + "/" + member);
    }
    // tokenizer.json is read in place of the other files of a tokenizer, an index in place of the weights.
    static bool is_instead(const std::string& name, const std::string& member) {
        return member == "model.safetensors.index.json" && name == "model.safetensors";
    }

    Start start_of(const Job& job, const std::string& scratch) const {
        Start start{.scratch = scratch, .seconds = job.seconds};
        const std::vector<std::string> words = split(job.command);
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string& word = words[i];
            const std::size_t at = word.find("/FILE=");
            if (word == "<" || word == ">") {
                const std::string& to = words[++i];
                (word == "<" ? start.input : start.output) = to == job.word ? job.path : fixture(to, scratch);
            } else if (word == job.word) {
                start.words.push_back(job.path);
            } else if (at != word.npos) {
                replace_member(fixture(word.substr(0, at), scratch), word.substr(at + 6), job,
                               scratch + "/" + word.substr(1, at - 1));
                start.words.push_back(scratch + "/" + word.substr(1, at - 1));
            } else {
                start.words.push_back(word[0] == '$' ? fixture(word, scratch) : word);
            }
        }
        if (std::error_code none; fs::is_fifo(job.path, none)) {
            start.fifo = job.path;
            start.fifo_text = "good\tthe cat sat\nbad\tthe dog ran\n";
        }
        return start;
    }
    std::string fixture(const std::string& word, const std::string& scratch) const {
        return word == "$new" ? scratch + "/new" : folder_ / ("fixtures/" + word.substr(1));
    }

    void try_one(const Job& job, const std::string& scratch) {
        fs::create_directory(scratch);
        const Start start = start_of(job, scratch);
        if (std::error_code none; !fs::exists(start.input, none) || fs::is_socket(start.input) ||
                                  start.input == start.fifo ||
                                  !(start.output.empty() || fs::exists(start.output, none))) {
            fs::remove_all(scratch);  // a shell would not start it, or not before somebody writes
            return;
        }
        std::unique_lock one_reader(pipe_, std::defer_lock);
        if (!start.fifo.empty())
            one_reader.lock();  // two would share what is written
        const Ended ended = words::run(start);
        const std::string folder = scratch + job.member_of();
        const std::string text = text_of(start.words[0], ended,
                                         {{job.path, job.word},
                                          {kit::as_line(job.path), job.word},
                                          {folder, job.word},
                                          {scratch, "FOLDER"},
                                          {folder_ / "fixtures", "FIXTURES"},
                                          {folder_.path, "FOLDER"},
                                          {fs::current_path(), "HERE"}});
        fs::remove_all(scratch);
        const std::lock_guard lock(mutex_);
        said_.add({job.what, job.place()}, start.words[0], ended, text);
    }

    tests::Folder folder_;
    std::vector<Job> jobs_;
    Said said_;
    std::mutex mutex_, pipe_;
};

}  // namespace

Said try_files(const Instrument& trust) { return Trial(trust).run(); }

}  // namespace plaingrad::trust::words
