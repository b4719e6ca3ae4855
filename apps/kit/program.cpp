#include "apps/kit/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <new>
#include <set>

#include "apps/kit/options.h"
#include "autograd/base/parallel.h"
#include "autograd/base/system.h"
#include "autograd/inspect.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::kit {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;  // the signal, or 0
std::string called_as;

// ---- of several processes, one speaks

int said_to = STDERR_FILENO;  // where a silent process finds standard error

constexpr unsigned kPatience = 2;  // seconds: what process 0 says in that time, no other needs to say

bool is_silent() { return said_to != STDERR_FILENO; }

void be_silent() {
    said_to = dup(STDERR_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

// If all processes have the same error, only process 0 should print it. So another process waits first: if
// process 0 has the error, too, it prints it and ends all of them in that time. The same goes for the first
// of several that have it, but not process 0.
void complain_as_one(const std::string& line) {
    if (!is_silent()) {
        std::cerr << line;
        return;
    }
    constexpr int64_t kTurns = 4;
    sleep(kPatience + static_cast<unsigned>(std::min(nn::started_rank() - 1, kTurns)));
    dprintf(said_to, "process %d: %s", static_cast<int>(nn::started_rank()), line.c_str());
}

int all_here = 1;

// Processes that may run on the same processors share them, unless the user has said how many threads each
// gets. Often mpirun binds each process to one processor, and leaves the others idle.
void divide_processors(nn::Team& team) {
    if (team.size() == 1)
        return;
    const autograd::Whereabouts mine = autograd::where_this_runs();
    std::set<std::string> places;  // on this machine
    int processors = 0, sharing = 0;
    all_here = 0;
    for (const std::string& told : team.gather(mine.machine + '\n' + mine.processors)) {
        const std::size_t end = told.find('\n');
        const std::string place = told.substr(end + 1);
        if (told.substr(0, end) != mine.machine)
            continue;
        ++all_here;
        sharing += place == mine.processors ? 1 : 0;
        if (places.insert(place).second)
            processors += 1 + static_cast<int>(std::count(place.begin(), place.end(), ','));
    }
    if (std::getenv("PLAINGRAD_THREADS") != nullptr)
        return;
    autograd::set_thread_count(std::max(1, autograd::processors() / sharing));
    if (const int more = autograd::processors(getppid()); more > processors)
        say(join("mpirun has bound ", all_here == 1 ? "this process" : join(all_here, " processes"), " to ",
                 processors, " of ", more, " processors; its option --bind-to none lets them use all"));
}

void on_interrupt(int signal) {
    if (interrupt_seen && signal == SIGHUP)
        return;  // a terminal that is closed sends it, and its shell may send another one
    if (interrupt_seen)
        std::_Exit(128 + signal);
    interrupt_seen = signal;
    constexpr char text[] = "\nfinishing this step; a second Ctrl-C quits at once\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);  // signal-safe
}

// SIGHUP, of a terminal that is closed, stays ignored if it was: so nohup starts a program.
void handle_signals(void (*handler)(int)) {
    for (const int signal : {SIGINT, SIGTERM})
        std::signal(signal, handler);
    if (std::signal(SIGHUP, handler) == SIG_IGN)
        std::signal(SIGHUP, SIG_IGN);
}

}  // namespace

// Processes with other commands would wait for each other, or train with other settings. Only the number of
// threads may differ.
static void check_same_command(const std::string& program, int argc, char** argv, nn::Team& team) {
    std::string words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool is_number = word == "--threads";
        i += is_number ? 1 : 0;
        if (!is_number && !word.starts_with("--threads="))
            words += (word.starts_with("--") ? '\n' : ' ') + word;
    }
    try {
        nn::check_same(team, "another program or version", program + " " + nn::build());
        nn::check_same(team, "another command", words);
    } catch (const autograd::Error& error) {
        throw UsageError(error.what());
    }
}

int run_program(const std::string& program, int argc, char** argv, const Commands& commands, Join& join) {
    std::unique_ptr<nn::Team> team;
    bool all_end = false;  // of themselves: no error has stopped one of them
    const auto work = [&] {
        if (nn::started_rank() > 0)
            be_silent();
        try {
            team = join();
        } catch (const autograd::Error& error) {
            sleep(is_silent() ? kPatience : 0);  // or mpirun would end all before process 0 has said it
            throw Ended{1, error.what()};
        }
        autograd::instruction_set();  // reports a wrong PLAINGRAD_ISA, before a file could get the blame
        divide_processors(*team);
        check_same_command(program, argc, argv, *team);
        try {
            run_command(program, argc, argv, commands, *team);
            return 0;
        } catch (const Ended& ended) {
            all_end = ended.status != 128 + SIGPIPE;
            throw;
        }
    };
    const int status = run(program, argv[0], work);
    if (team && team->size() > 1 && !all_end && status != 0)
        team->abort(status);
    return status;
}

int processes_here() { return all_here; }

void flush_output() {
    if (std::cout.flush())
        return;
    pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    // Only a pipe without a reader reports one of these: POLLERR on Linux, POLLHUP on macOS.
    if (poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0)
        throw Ended{128 + SIGPIPE};
    throw autograd::Error("the output could not be written");
}

int run(const std::string& program, const char* called, const std::function<int()>& body) {
    // Writing to a pipe without a reader, or beyond the size limit of files, must fail and not kill the
    // process: a training run still has to save its checkpoint.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const auto complain = [&](const std::string& what, int status) {
        std::cout.flush();
        // A message may quote a line of a megabyte; its middle is cut, as its end says what to do.
        constexpr std::size_t kBegin = 500, kEnd = 300;
        std::string text = what;
        if (text.size() > kBegin + kEnd)
            text = text.substr(0, kBegin) + " [...] " + text.substr(text.size() - kEnd);
        complain_as_one((called_as.empty() ? program : name()) + ": " + as_line(text) + "\n");
        return status;
    };
    try {
        called_as = called == nullptr ? "" : called;
        const int status = body();
        flush_output();
        return status;
    } catch (const Ended& ended) {  // process 0 ends, too, and says why
        return ended.message.empty() || is_silent() ? ended.status : complain(ended.message, ended.status);
    } catch (const UsageError& error) {
        return complain(error.what(), 2);
    } catch (const std::bad_alloc&) {
        return complain("out of memory; a smaller input, model or batch needs less", 1);
    } catch (const std::exception& error) {
        return complain(error.what(), 1);
    }
}

const std::string& called() { return called_as; }
std::string name() { return called_as.substr(called_as.rfind('/') + 1); }

void listen_for_interrupt() { handle_signals(on_interrupt); }
int stop_listening_for_interrupt(nn::Team& team) {
    handle_signals(SIG_DFL);
    for (const double seen : nn::gather(team, std::vector{static_cast<double>(interrupt_seen)}))
        if (seen > 0)
            interrupt_seen = static_cast<int>(seen);
    return interrupt_seen;
}
bool interrupted() { return interrupt_seen != 0; }

void say(const std::string& text, int descriptor) {
    const auto width =
        is_terminal(descriptor) ? static_cast<std::size_t>(terminal_width(descriptor)) : std::string::npos;
    for (const std::string& line : wrapped(text, width))
        (descriptor == STDOUT_FILENO ? std::cout : std::cerr) << line + '\n';
}

void announce(const std::string& program, int64_t parameters, autograd::Precision precision) {
    const char* const missing = autograd::kernels::missing();
    std::cerr << join(
        program, ": ", autograd::instruction_set(), ", ", counted(autograd::thread_count(), "thread"), ", ",
        grouped(parameters), " parameters",
        precision == autograd::Precision::bf16 ? ", products in bf16" : "",
        missing == nullptr ? "\n" : join("; this build has no ", missing, " kernels: make ISA=all\n"));
}

int terminal_width(int descriptor) {
    winsize size{};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
bool is_terminal(int descriptor) { return nn::started_alone() && isatty(descriptor) != 0; }

}  // namespace plaingrad::kit
