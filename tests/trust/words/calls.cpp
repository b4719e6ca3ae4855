#include "tests/trust/words/calls.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "autograd/base/check.h"
#include "models/settings.h"

namespace plaingrad::trust::words {
namespace {

// "Error: " and what it says; or what came instead.
std::string outcome(const Call& call) {
    try {
        call.run();
        return "silent";
    } catch (const autograd::Error& error) {
        return std::string("Error: ") + error.what();
    } catch (const models::SettingError& error) {
        return std::string("SettingError: ") + error.what();
    } catch (const std::exception& error) {
        return std::string("another exception: ") + error.what();
    }
}

// In a process of its own, so that a crash is only this call's.
std::string apart(const Call& call) {
    int ends[2];
    autograd::check(pipe(ends) == 0, "no pipe");
    std::fflush(stdout);
    const pid_t pid = fork();
    autograd::check(pid >= 0, "no process can be started");
    if (pid == 0) {
        alarm(60);  // seconds
        setenv("PLAINGRAD_THREADS", "2", 1);
        const std::string text = outcome(call);
        [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? text
               : autograd::join("crashed: signal ", WTERMSIG(status));
}

}  // namespace

SaidOfCalls try_calls() {
    SaidOfCalls said;
    for (const auto& calls : {calls_of_tensors, calls_of_ops, calls_of_layers, calls_of_training,
                              calls_of_models, calls_of_decoding, calls_of_text, calls_of_files})
        for (const Call& call : calls()) {
            const std::string text = apart(call);
            const bool is_new = said.texts.emplace(Case{call.text, ""}, printable(text)).second;
            autograd::check(is_new, "this call is listed twice: ", call.text);
            ++said.tried;
            const bool is_error = text.starts_with("Error: ") || text.starts_with("SettingError: ");
            const bool is_line = text.find('\n') == text.npos;
            if (is_error && is_line)
                continue;
            ++(text == "silent"                ? said.silent
               : text.starts_with("crashed: ") ? said.crashed
               : is_error                      ? said.several_lines
                                               : said.other);
            std::printf("%s\n  %s\n", call.text, text.c_str());
        }
    return said;
}

}  // namespace plaingrad::trust::words
