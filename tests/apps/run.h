// Runs a program as a user does, for a test.
#pragma once

#include "tests/apps/running.h"
#include "tests/catch.h"

namespace plaingrad::tests {

// A program that must end well.
inline Result must_run(const std::string& program, const Words& arguments, const With& with = {}) {
    Result r = run(program, arguments, with);
    CAPTURE(program, arguments, r.out, r.err);
    REQUIRE(r.status == 0);
    return r;
}

// That a text has all these parts.
inline void check_says(const std::string& text, const Words& parts) {
    INFO(text);
    for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(contains(text, part));
    }
}

// That a program has ended with this status, without output, and with one line about its error: `says` is in
// it. Before it the program may have said what it did.
inline void check_refused(const std::string& program, const Result& r, int status, const std::string& says) {
    CAPTURE(r.err, says);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    REQUIRE(r.err.ends_with('\n'));
    const std::string last = lines_of(r.err).back();
    CHECK(last.starts_with(program + ": "));
    CHECK(contains(last, says));
}

// A folder in which programs run, as one types it there: here("generate train text.txt --save run").
struct Place : Folder {
    Result operator()(const std::string& command, With with = {}) const {
        const Words words = words_of(command);
        with.folder = path;
        return run(words.at(0), {words.begin() + 1, words.end()}, with);
    }
    // A command that must end well.
    Result must(const std::string& command, const With& with = {}) const {
        Result r = (*this)(command, with);
        CAPTURE(command, r.out, r.err);
        REQUIRE(r.status == 0);
        return r;
    }
    // A wrong command line (status 2) or bad data (status 1), and what is said about it.
    struct Refusal {
        std::string command;
        int status;
        std::string says;
        With with = {};
    };
    void refuses(const std::vector<Refusal>& all) const {
        for (const Refusal& one : all) {
            CAPTURE(one.command);
            check_refused(words_of(one.command).at(0), (*this)(one.command, one.with), one.status, one.says);
        }
    }
};

// Standard output on a full disk is an error, in one line. A pipe whose reader has gone (`| head`) is not:
// the program ends without a message, as if by SIGPIPE.
inline void check_lost_output(const std::string& program, const Words& arguments,
                              const std::string& folder = "") {
    const std::string error = "the output could not be written\n";
    const Result full = run(program, arguments, {.out = "/dev/full", .folder = folder});
    CAPTURE(program, arguments, full.err);
    CHECK(full.status == 1);
    CHECK(full.err.ends_with(program + ": " + error));
    const Result head = run(program, arguments, {.no_reader = true, .folder = folder});
    CAPTURE(head.err);
    CHECK(head.status == 128 + SIGPIPE);
    CHECK_FALSE(contains(head.err, error));
}

}  // namespace plaingrad::tests
