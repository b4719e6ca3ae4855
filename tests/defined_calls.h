// The C library's calls about files, each of which first asks what becomes of it. On Linux a program's own
// functions take the place of the C library's, also for its libraries. So only one file of a program, or of a
// library that is loaded before one, may include this; it defines plaingrad::tests::fate_of.
//
// Not asked about is what the C library does inside: fread's reads, printf's writes.
#pragma once

#include "tests/calls.h"

#ifdef PLAINGRAD_ASKS_ABOUT_CALLS
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace plaingrad::tests {

Fate fate_of(const char* call, bool can_fail);

template <class F>
F* usual(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

// Whether it fails, and then with which errno.
inline bool fails(const char* call) {
    const Fate fate = fate_of(call, true);
    errno = fate.error != 0 ? fate.error : errno;
    return fate.error != 0;
}

// How many of n bytes are read or written; -1: it fails.
inline ssize_t bytes_of(const char* call, std::size_t n) {
    const Fate fate = fate_of(call, true);
    errno = fate.error != 0 ? fate.error : errno;
    return fate.error != 0 ? -1 : static_cast<ssize_t>(std::min(n, fate.at_most));
}

}  // namespace plaingrad::tests

// A call that can fail, and then returns `failed`; one that only looks or removes; one that closes the
// file, as in reality also when it fails; one that moves up to n bytes.
#define USUAL(result, name, parameters) \
    static const auto usual = plaingrad::tests::usual<result parameters>(#name)
#define CALL(failed, result, name, parameters, arguments)                   \
    result name parameters {                                                \
        USUAL(result, name, parameters);                                    \
        return plaingrad::tests::fails(#name) ? (failed) : usual arguments; \
    }
#define LOOK(result, name, parameters, arguments) \
    result name parameters {                      \
        USUAL(result, name, parameters);          \
        plaingrad::tests::fate_of(#name, false);  \
        return usual arguments;                   \
    }
#define CLOSE(name, parameters, arguments)                 \
    int name parameters {                                  \
        USUAL(int, name, parameters);                      \
        const bool fails = plaingrad::tests::fails(#name); \
        const int error = errno, closed = usual arguments; \
        errno = fails ? error : errno;                     \
        return fails ? -1 : closed;                        \
    }
#define MOVE(name, parameters, arguments)                           \
    ssize_t name parameters {                                       \
        USUAL(ssize_t, name, parameters);                           \
        const ssize_t moved = plaingrad::tests::bytes_of(#name, n); \
        n = static_cast<std::size_t>(moved);                        \
        return moved <= 0 ? moved : usual arguments;                \
    }

extern "C" {

int open(const char* path, int flags, ...) {
    USUAL(int, open, (const char*, int, ...));
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return plaingrad::tests::fails("open") ? -1 : usual(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
    USUAL(int, openat, (int, const char*, int, ...));
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return plaingrad::tests::fails("openat") ? -1 : usual(folder, path, flags, mode);
}
CALL(nullptr, FILE*, fopen, (const char* path, const char* mode), (path, mode))
CALL(nullptr, FILE*, fopen64, (const char* path, const char* mode), (path, mode))
MOVE(read, (int file, void* bytes, std::size_t n), (file, bytes, n))
MOVE(pread, (int file, void* bytes, std::size_t n, off_t at), (file, bytes, n, at))
// Standard error is where a program says what has failed.
ssize_t write(int file, const void* bytes, std::size_t n) {
    USUAL(ssize_t, write, (int, const void*, std::size_t));
    const ssize_t moved =
        file == STDERR_FILENO ? static_cast<ssize_t>(n) : plaingrad::tests::bytes_of("write", n);
    return moved <= 0 && n > 0 ? moved : usual(file, bytes, static_cast<std::size_t>(moved));
}
ssize_t writev(int file, const iovec* pieces, int n) {
    USUAL(ssize_t, writev, (int, const iovec*, int));
    return file != STDERR_FILENO && plaingrad::tests::fails("writev") ? -1 : usual(file, pieces, n);
}
// (Where no bytes may be written, it succeeds at once.)
int fsync(int file) {
    USUAL(int, fsync, (int));
    const int how = fcntl(file, F_GETFL);
    if (how < 0)
        return usual(file);
    const bool is_folder = (how & O_ACCMODE) == O_RDONLY;
    const ssize_t some = plaingrad::tests::bytes_of(is_folder ? "fsync of a folder" : "fsync", 1);
    return some <= 0 ? static_cast<int>(some) : usual(file);
}
CLOSE(close, (int file), (file))
CLOSE(fclose, (FILE * file), (file))
CALL(-1, int, rename, (const char* from, const char* to) noexcept, (from, to))
CALL(-1, int, mkdir, (const char* path, mode_t mode) noexcept, (path, mode))
CALL(-1, int, fchmod, (int file, mode_t mode) noexcept, (file, mode))
CALL(-1, int, access, (const char* path, int how) noexcept, (path, how))
CALL(-1, int, flock, (int file, int how) noexcept, (file, how))
CALL(MAP_FAILED, void*, mmap, (void* at, size_t bytes, int may, int flags, int file, off_t from) noexcept,
     (at, bytes, may, flags, file, from))
LOOK(int, stat, (const char* path, struct stat* now) noexcept, (path, now))
LOOK(int, lstat, (const char* path, struct stat* now) noexcept, (path, now))
LOOK(int, fstat, (int file, struct stat* now) noexcept, (file, now))
LOOK(int, unlink, (const char* path) noexcept, (path))
LOOK(int, remove, (const char* path) noexcept, (path))
LOOK(int, rmdir, (const char* path) noexcept, (path))
LOOK(dirent*, readdir, (DIR * folder), (folder))

}  // extern "C"
#endif
