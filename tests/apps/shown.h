// What a function writes to standard error, or to standard output, while that is a file or a terminal.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "tests/catch.h"

namespace plaingrad::tests {

// Calls f while `stream` (STDERR_FILENO, STDOUT_FILENO) is `descriptor`.
template <class F>
void with_output(int descriptor, int stream, const F& f) {
    const auto flush = [] {
        std::cout.flush();
        std::fflush(nullptr);
    };
    flush();
    const int before = dup(stream);
    dup2(descriptor, stream);
    struct Restore {
        decltype(flush) end;
        int from, to;
        ~Restore() {
            end();
            dup2(from, to);
            close(from);
        }
    } restore{flush, before, stream};
    f();
}

// What f writes to it while it is a file.
template <class F>
std::string printed_by(const F& f, int stream = STDERR_FILENO) {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    with_output(fileno(file), stream, f);
    std::rewind(file);
    std::string text;
    for (int c = 0; (c = std::fgetc(file)) != EOF;)
        text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

// The same while it is a terminal, of so many columns.
template <class F>
std::string shown_by(const F& f, unsigned short columns = 100, int stream = STDERR_FILENO) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE((master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0));
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    winsize size{};
    size.ws_col = columns;
    ioctl(slave, TIOCSWINSZ, &size);
    with_output(slave, stream, f);
    fcntl(master, F_SETFL, O_NONBLOCK);
    std::string text;
    char part[256];
    for (ssize_t n = 0; (n = read(master, part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(n));
    close(slave);
    close(master);
    return text;
}

}  // namespace plaingrad::tests
