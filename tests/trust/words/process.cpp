#include "tests/trust/words/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "autograd/base/check.h"
#include "tests/folder.h"

extern char** environ;

namespace plaingrad::trust::words {
namespace {

std::string folder_of_programs() {
    const char* const folder = std::getenv("PLAINGRAD_APPS");
    return std::filesystem::absolute(folder != nullptr && *folder != '\0' ? folder : "apps");
}

// Serves a reader of the named pipe, if one has opened it. A program may open it again, and gets the text
// again.
void serve(const Start& start) {
    const int fifo = open(start.fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fifo < 0)
        return;  // there is no reader
    [[maybe_unused]] const ssize_t written = write(fifo, start.fifo_text.data(), start.fifo_text.size());
    close(fifo);
}

Ended wait_for(pid_t pid, const Start& start) {
    Ended ended;
    const auto begin = std::chrono::steady_clock::now();
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (!start.fifo.empty())
            serve(start);
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
    const std::string file = folder_of_programs() + "/" + start.words[0];
    std::vector<std::string> words = start.words;
    words[0] = "./apps/" + words[0];  // as in the help's examples
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);

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

    Ended ended = wait_for(pid, start);
    ended.err = tests::content(err);
    if (start.output.empty())
        ended.out = tests::content(out);
    return ended;
}

}  // namespace plaingrad::trust::words
