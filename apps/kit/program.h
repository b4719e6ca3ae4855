// What every program does the same way: ending with the right status, answering Ctrl-C, printing what it
// runs on.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "apps/kit/text.h"
#include "autograd/base/kinds.h"
#include "nn/parallel/team.h"

namespace plaingrad::kit {

// Runs `body` and returns the program's exit status: what body returns; 1 with one line on standard error for
// an autograd::Error (bad data); 2 for a UsageError (bad command line); 130 after Ctrl-C, 143 after SIGTERM,
// 129 after SIGHUP; 141, without a message, if nobody reads standard output any more (`| head`). `called` is
// argv[0], for usage texts.
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

// From now on until listen_for_interrupt, Ctrl-C (or SIGTERM, or a closed terminal's SIGHUP) removes those of
// these folders that are empty before it ends the program, so that a run that has not begun leaves no trace.
// The innermost comes first.
void remove_if_interrupted(const std::vector<std::string>& folders);
// After listen_for_interrupt, the first Ctrl-C (or SIGTERM, sent by `kill` or at shutdown, or SIGHUP) prints
// a message and makes interrupted() true, so that a training loop can finish its step. A second
// Ctrl-C or SIGTERM ends the program at once; a second SIGHUP is ignored, as a terminal may send two.
void listen_for_interrupt();
bool interrupted();
// Restores the default: Ctrl-C ends the program at once. Returns the signal that has come in the meantime to
// any of the processes, or 0.
int stop_listening_for_interrupt(nn::Team& team);

// Thrown by code that stops because interrupted() is true; `run` turns it into the status.
struct Interrupted {
    int signal = SIGINT;
};

// Prints a line; on a terminal, wrapped to its width. descriptor: standard error, or standard output.
void say(const std::string& text, int descriptor = 2);

// "reverse_task: avx512, 2 threads, 172,948 parameters" on standard error; ", products in bf16" if they are.
void announce(const std::string& program, int64_t parameters, autograd::Precision precision = {});

int terminal_width(int descriptor);  // columns; 80 for what is no terminal
bool is_terminal(int descriptor);    // false under mpirun, which may hand out a terminal of its own

}  // namespace plaingrad::kit
