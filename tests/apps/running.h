// Runs a program as a user does, and returns what it printed and its exit status. Without Catch2, for what is
// not a test.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/folder.h"

extern char** environ;

namespace plaingrad::tests {

using Words = std::vector<std::string>;

inline std::string environment(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

// Of a command as one types it: "train text.txt --save 'my run'".
inline Words words_of(const std::string& command) {
    Words words;
    std::istringstream stream(command);
    for (std::string word; stream >> std::quoted(word, '\'');)
        words.push_back(word);
    return words;
}

inline Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

inline std::string repeated(const std::string& piece, int64_t n) {
    std::string text;
    for (int64_t i = 0; i < n; ++i)
        text += piece;
    return text;
}

// How often `part` is in a text.
inline int64_t count_of(const std::string& part, const std::string& text) {
    int64_t n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++n;
    return n;
}

// As a new process takes them.
inline std::vector<char*> pointers(Words& words) {
    std::vector<char*> all;
    for (std::string& word : words)
        all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

// Whether one of these, NAME=value each, has the name of this one.
inline bool names(const Words& variables, const std::string& one) {
    const std::string start = one.substr(0, one.find('=') + 1);
    return std::any_of(variables.begin(), variables.end(),
                       [&](const std::string& variable) { return variable.starts_with(start); });
}

// The folder of the programs under test.
inline std::string apps() { return environment("PLAINGRAD_APPS", "apps"); }

// Whether the programs are built to be fast. Sanitized or emulated ones are much slower: they train for fewer
// steps, where the check allows it.
inline bool fast_build() {
    for (const char* variant : {"asan", "tsan", "double"})
        if (apps().find("/" + std::string(variant) + "/") != std::string::npos)
            return false;
    return environment("PLAINGRAD_RUN", "").find("qemu") == std::string::npos;
}

struct Result {
    int status = -1;  // the exit status, or 128 + the signal, as in a shell
    std::string out, err;
};

struct With {
    std::string input = "";               // on standard input
    std::string in = "";                  // or the file that is standard input
    Words env = {};                       // NAME=value
    std::string out = "";                 // the file that is standard output, e.g. /dev/full
    std::string err = "";                 // the same for what it says of errors
    bool no_reader = false;               // standard output is a pipe without a reader
    std::string folder = "";              // where it runs, if not here
    std::string called = "";              // argv[0]; default: ./apps/NAME
    rlim_t largest_file = RLIM_INFINITY;  // the limit on a file's size, in bytes
};

// A new process, with the signals of a user's: nohup's ways are inherited otherwise. `session`: it leads one.
inline pid_t spawn(Words words, const std::string& file, Words variables,
                   const posix_spawn_file_actions_t& files, bool session = false) {
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!names(variables, *entry))
            variables.emplace_back(*entry);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    if (!session)
        sigdelset(&all, SIGHUP);  // test_runs.cpp starts programs as nohup does
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                             (session ? POSIX_SPAWN_SETSID : 0)));
    pid_t pid = -1;
    if (posix_spawnp(&pid, file.c_str(), &files, &attributes, pointers(words).data(),
                     pointers(variables).data()) != 0)
        throw std::runtime_error("cannot run " + file);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

// Whether a process has ended, which nobody has waited for yet.
inline bool has_ended(pid_t process) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
           info.si_pid != 0;
}
// Waits for its end.
inline int status_of(pid_t process) {
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A running program. Its streams are files, so that neither side ever waits for the other.
class Running {
public:
    Running(const std::string& program, const Words& arguments, const With& with = {}) {
        std::istringstream before(environment("PLAINGRAD_RUN", ""));
        Words words;
        for (std::string word; before >> word;)
            words.push_back(word);
        words.push_back((std::filesystem::absolute(apps()) / program).string());
        words.insert(words.end(), arguments.begin(), arguments.end());
        const std::string file = words[0];  // to run; it is told that it was called as in the help's examples
        if (environment("PLAINGRAD_RUN", "").empty())
            words[0] = with.called.empty() ? "./apps/" + program : with.called;
        Words variables = with.env;
        if (with.largest_file != RLIM_INFINITY)  // or a build that measures coverage says that it cannot
            variables.emplace_back("LLVM_PROFILE_FILE=/dev/null");

        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        const std::string in = with.in.empty() ? folder_.write("in", with.input) : with.in;
        const std::string out = with.out.empty() ? folder_.write("out", "") : with.out;
        const std::string err = with.err.empty() ? folder_.write("err", "") : with.err;
        posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDONLY, 0);
        int ends[2] = {-1, -1};
        if (with.no_reader) {
            if (pipe(ends) != 0)
                throw std::runtime_error("no pipe");
            close(ends[0]);
            posix_spawn_file_actions_adddup2(&files, ends[1], 1);
            posix_spawn_file_actions_addclose(&files, ends[1]);
        } else {
            posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY, 0);
        }
        posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY, 0);
        if (!with.folder.empty())
            posix_spawn_file_actions_addchdir_np(&files, with.folder.c_str());
        static std::mutex one_at_a_time;  // the limit is the whole process's until the program is started
        const std::lock_guard lock(one_at_a_time);
        rlimit usual{};  // inherited
        getrlimit(RLIMIT_FSIZE, &usual);
        const rlimit limit = {std::min(with.largest_file, usual.rlim_cur), usual.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        pid_ = spawn(words, file, variables, files);
        setrlimit(RLIMIT_FSIZE, &usual);
        posix_spawn_file_actions_destroy(&files);
        if (with.no_reader)
            close(ends[1]);
    }
    ~Running() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            wait();
        }
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void interrupt(int signal = SIGINT) const { kill(pid_, signal); }
    bool runs() const { return !has_ended(pid_); }
    // Waits until a signal has stopped it; false if it ends before.
    bool stops() const {
        siginfo_t info{};
        return waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
               info.si_code == CLD_STOPPED;
    }
    // Waits until `text` appears on standard error; false if the program ends before.
    bool says(const std::string& text) {
        while (content(folder_ / "err").find(text) == std::string::npos) {
            if (!runs())
                return content(folder_ / "err").find(text) != std::string::npos;
            usleep(5000);
        }
        return true;
    }
    Result wait() {
        const int status = status_of(std::exchange(pid_, -1));
        return {status, content(folder_ / "out"), content(folder_ / "err")};
    }

private:
    Folder folder_;
    pid_t pid_ = -1;
};

inline Result run(const std::string& program, const Words& arguments, const With& with = {}) {
    return Running(program, arguments, with).wait();
}

// Whether `text` is one line that starts with `start`.
inline bool one_line(const std::string& text, const std::string& start) {
    return text.starts_with(start) && text.find('\n') == text.size() - 1;
}

inline Words lines_of(const std::string& text) {
    Words lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

// The number behind the first `mark`; NaN if there is none.
inline double number_after(const std::string& text, const std::string& mark) {
    const std::size_t at = text.find(mark);
    return at == std::string::npos ? std::nan("") : std::strtod(text.c_str() + at + mark.size(), nullptr);
}

inline Words fields(const std::string& line, char separator) {
    Words all;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, separator);)
        all.push_back(field);
    return all;
}

// Of "42 s", "12:30 min" or "2:46 h", as programs print it.
inline double seconds_of(const std::string& duration) {
    const double first = std::strtod(duration.c_str(), nullptr), second = number_after(duration, ":");
    return std::isnan(second) ? first
                              : (60 * first + second) * (duration.find(" h") < duration.npos ? 60 : 1);
}

// What a training printed on standard error, without what depends on the machine: "step  10/100
// loss 1.003447".
inline Words losses(const Result& result) {
    Words all;
    for (const std::string& line : lines_of(result.err))
        if (const std::size_t at = line.find("  loss "); at != std::string::npos)
            all.push_back(line.substr(0, line.find(' ', at + 7)));
    return all;
}

}  // namespace plaingrad::tests
