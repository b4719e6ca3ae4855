// What every program does the same way: ending with the right status, answering Ctrl-C, printing what it
// runs on.
//
// The headers of the kit stand on each other: text.h, program.h, options.h, run.h, model.h. Each includes the
// one before, so a program includes only the last one that it needs.
#pragma once

#include <functional>
#include <string>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "autograd/base/kinds.h"
#include "models/runs/run_folder.h"
#include "nn/parallel/team.h"

namespace plaingrad::kit {

using autograd::check;
using autograd::join;

// The command line is wrong: one line on standard error, exit status 2.
using UsageError = models::SettingError;

// As autograd::check, for what is wrong with a command line.
template <class... Parts>
void check_usage(bool right, const Parts&... parts) {
    if (!right)
        throw UsageError(join(parts...));
}

// Thrown where a program ends early although nothing is wrong: after --help, after Ctrl-C, or if the result
// is not what it should be. All processes know that, and end of themselves. message: for standard error.
struct Ended {
    int status = 0;
    std::string message = {};
};
template <class... Parts>
void check_result(bool is_good, const Parts&... parts) {
    if (!is_good)
        throw Ended{1, join(parts...)};
}

// Runs `body` and returns the program's exit status: what body returns, or that of an Ended; 1 with one line
// on standard error for an autograd::Error (bad data); 2 for a UsageError; 141, without a message, if nobody
// reads standard output any more (`| head`). `called` is argv[0], for usage texts.
int run(const std::string& program, const char* called, const std::function<int()>& body);

// How many processes of the team run on this machine.
int processes_here();

// Flushes std::cout. Throws Error if that fails, or Ended if the reader of the pipe has gone; so a program
// that writes without end calls it now and then.
void flush_output();

// How `run` was told that the program was called, "./apps/classify" or "plaingrad-classify"; "" before. And
// its name, "classify" or "plaingrad-classify", with which its messages begin.
const std::string& called();
std::string name();

// After listen_for_interrupt, the first Ctrl-C (or SIGTERM, sent by `kill` or at shutdown, or SIGHUP) prints
// a message and makes interrupted() true, so that a training loop can finish its step. A second
// Ctrl-C or SIGTERM ends the program at once; a second SIGHUP is ignored, as a terminal may send two.
void listen_for_interrupt();
bool interrupted();
// Restores the default: Ctrl-C ends the program at once. Returns the signal that has come in the meantime to
// any of the processes, or 0.
int stop_listening_for_interrupt(nn::Team& team);

// Prints a line; on a terminal, wrapped to its width. descriptor: standard error, or standard output.
void say(const std::string& text, int descriptor = 2);

// "reverse_task: avx512, 2 threads, 172,948 parameters" on standard error; ", products in bf16" if they are.
void announce(const std::string& program, int64_t parameters, autograd::Precision precision = {});

int terminal_width(int descriptor);  // columns; 80 for what is no terminal
bool is_terminal(int descriptor);    // false under mpirun, which may hand out a terminal of its own

}  // namespace plaingrad::kit
