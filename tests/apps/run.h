// Runs a program as a user does, for a test.
#pragma once

#include "tests/apps/running.h"
#include "tests/catch.h"

namespace plaingrad::tests {

// Standard output on a full disk is an error, in one line. A pipe whose reader has gone (`| head`) is not:
// the program ends without a message, as if by SIGPIPE.
inline void check_lost_output(const std::string& program, const Words& arguments,
                              const std::string& input = "") {
    const std::string error = "the output could not be written\n";
    const Result full = run(program, arguments, {.input = input, .out = "/dev/full"});
    INFO(program << " " << full.err);
    CHECK(full.status == 1);
    CHECK(full.err.ends_with(program + ": " + error));
    // Where nothing can be said about an error, its status still is.
    CHECK(run(program, {"--nonsense"}, {.out = "/dev/full", .err = "/dev/full"}).status == 2);
    const Result head = run(program, arguments, {.input = input, .no_reader = true});
    INFO(head.err);
    CHECK(head.status == 128 + SIGPIPE);
    CHECK(head.err.find(error) == std::string::npos);
}

}  // namespace plaingrad::tests
