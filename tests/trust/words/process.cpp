#include "tests/trust/words/process.h"

#include <fcntl.h>
#include <spawn.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include "autograd/base/check.h"
#include "tests/folder.h"

extern char** environ;

namespace plaingrad::trust::words {
namespace {

std::string folder_of_programs() {
    const char* const folder = std::getenv("PLAINGRAD_APPS");
    return std::filesystem::absolute(folder != nullptr && *folder != '\0' ? folder : "apps");
}

// A run locks its folder, and of two runs in one folder the second is refused. So those in a folder that is
// not this call's own go one at a time.
std::unique_lock<std::mutex> alone_in_folder(const Start& start) {
    static std::mutex mutex;
    for (std::size_t i = 0; i + 1 < start.words.size(); ++i) {
        const bool is_run = start.words[i] == "--save" || start.words[i] == "--resume";
        if (is_run && !start.words[i + 1].starts_with(start.scratch))
            return std::unique_lock(mutex);
    }
    return {};
}

// Serves each reader of a named pipe with the same text. One that has been served and has not closed the pipe
// yet cannot be told from the next one, which waits for a writer: so the system is asked for the closing.
// (Where it does not tell, a reader that sleeps for long enough between two reads gets the text twice.)
class Pipe {
public:
    Pipe(const std::string& path, const std::string& text) : path_(path), text_(text) {
#ifdef __linux__
        closings_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        inotify_add_watch(closings_, path.c_str(), IN_CLOSE_NOWRITE);
#endif
    }
    Pipe(const Pipe&) = delete;
    ~Pipe() {
        if (closings_ >= 0)
            close(closings_);
    }

    void serve() {
        if (is_read_ && !has_closed())
            return;
        const int fifo = open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        is_read_ = fifo >= 0;  // else nobody has opened it
        if (!is_read_)
            return;
        [[maybe_unused]] const ssize_t written = write(fifo, text_.data(), text_.size());
        close(fifo);
    }

private:
    bool has_closed() const {
        char event[512];
        return closings_ < 0 || read(closings_, event, sizeof event) > 0;
    }

    const std::string path_, text_;
    int closings_ = -1;
    bool is_read_ = false;
};

Ended wait_for(pid_t pid, const Start& start, std::optional<Pipe>& pipe) {
    Ended ended;
    const auto begin = std::chrono::steady_clock::now();
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (pipe)
            pipe->serve();
        if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > start.seconds) {
            ended.in_time = false;
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            break;
        }
        usleep(500);
    }
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
}

}  // namespace

Ended run(const Start& start) {
    const std::unique_lock<std::mutex> alone = alone_in_folder(start);
    const std::string file = folder_of_programs() + "/" + start.words[0];
    std::vector<std::string> words = start.words;
    words[0] = "./apps/" + words[0];  // as in the help's examples
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);

    std::optional<Pipe> pipe;
    if (!start.fifo.empty())
        pipe.emplace(start.fifo, start.fifo_text);
    const std::string out = start.scratch + "/out", err = start.scratch + "/err";
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&files, 0, start.input.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, start.output.empty() ? out.c_str() : start.output.c_str(),
                                     kWrite, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err.c_str(), kWrite, 0600);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, file.c_str(), &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    autograd::check(error == 0, file, " cannot be started");

    Ended ended = wait_for(pid, start, pipe);
    ended.err = tests::content(err);
    if (start.output.empty())
        ended.out = tests::content(out);
    return ended;
}

}  // namespace plaingrad::trust::words
