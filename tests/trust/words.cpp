// What the library says of wrong calls: each must throw one Error, with one line. The lines are kept: a
// change is seen, and read, before users see it.
//
//     build/trust/words --write  keeps the lines of today; read them before they are committed
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "autograd/base/check.h"
#include "models/runs/run_folder.h"
#include "tests/folder.h"
#include "tests/trust/instrument.h"
#include "tests/trust/words/calls.h"

using namespace plaingrad;     // NOLINT
using namespace trust::words;  // NOLINT

namespace {

const std::string kKept = "tests/trust/words/calls.txt";  // lines of `call<TAB>text`

using Lines = std::set<std::string>;

// How many calls say something else than is kept, or are in only one of the two. Prints the first lines.
int64_t count_changed(const Lines& now) {
    Lines kept, calls;
    std::ifstream in(kKept);
    for (std::string line; std::getline(in, line);)
        kept.insert(line);
    std::vector<std::string> changed;
    std::set_symmetric_difference(kept.begin(), kept.end(), now.begin(), now.end(),
                                  std::back_inserter(changed));
    for (const std::string& line : changed) {
        calls.insert(line.substr(0, line.find('\t')));
        if (calls.size() <= 20)
            std::printf("%s: %s\n", now.contains(line) ? "changed, now" : "kept", line.c_str());
    }
    return std::ssize(calls);
}

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

// Tries all calls; what they write they write here, in files whose names are the same in every run.
void measure(const trust::Instrument& trust, bool writes) {
    const tests::Folder folder;
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    Lines lines, known;
    // Nothing was thrown; a crash, no end, another exception than Error (or SettingError, for a setting), or
    // more than one line.
    int64_t silent = 0, unclear = 0;
    for (const auto& calls : {calls_of_tensors, calls_of_ops, calls_of_layers, calls_of_training,
                              calls_of_models, calls_of_decoding, calls_of_text, calls_of_files})
        for (const Call& call : calls()) {
            const std::string text = apart(call);
            autograd::check(known.insert(call.text).second, "this call is listed twice: ", call.text);
            lines.insert(std::string(call.text) + '\t' + text);
            const bool is_error = text.starts_with("Error: ") || text.starts_with("SettingError: ");
            if (is_error && text.find('\n') == text.npos)
                continue;
            ++(text == "silent" ? silent : unclear);
            std::printf("%s\n  %s\n", call.text, text.c_str());
        }
    std::filesystem::current_path(here);
    if (writes) {
        std::ofstream out(kKept);
        std::copy(lines.begin(), lines.end(), std::ostream_iterator<std::string>(out, "\n"));
        autograd::check(out.flush().good(), kKept, ": cannot be written");
    }
    trust.figure("words.calls", static_cast<double>(lines.size()));
    for (const auto& [name, number] :
         {std::pair{"silent", silent}, {"unclear", unclear}, {"changed", count_changed(lines)}})
        trust.figure(std::string("words.calls_") + name, static_cast<double>(number),
                     number > 0 ? "listed in the log" : "");
}

}  // namespace

int main(int argc, char** argv) {
    // A call that asks for too much memory gets an error, and not the whole machine. Threads of this process
    // would not be in those that it forks.
    const rlimit memory = {rlim_t{4} << 30, rlim_t{4} << 30}, core = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    setenv("PLAINGRAD_THREADS", "1", 1);
    const bool writes = argc == 2 && std::string_view(argv[1]) == "--write";
    return trust::run("words", "what the library says of wrong calls", writes ? 1 : argc, argv,
                      [=](const trust::Instrument& trust) { measure(trust, writes); });
}
