// A library that is loaded before a program (LD_PRELOAD), and makes its n-th allocation or call about a file
// fail, or stops or kills it there. So every place where the system can fail is tried, one after the other,
// and a case can be found again by its number. For Linux with glibc.
//
// It counts from the beginning of main to its end: before, C++ has no handler for an exception, and after it,
// the program's work is done. Large allocations, which the C library takes from the system by mmap, count as
// allocations. Not counted is what the C library does inside: fread's reads, printf's writes.
#include "tests/trust/preload/faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using plaingrad::trust::FaultCounts;

namespace {

template <class F>
F* next(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

struct Asked {
    char what[8] = "none", how[8] = "0", last[8] = "once";
    long n = 0;
};

std::atomic<bool> in_main = false;
Asked asked;
FaultCounts unseen, *counts = &unseen;

void read_environment() {
    if (const char* const words = std::getenv(plaingrad::trust::kFault))
        std::sscanf(words, "%7s %ld %7s %7s", asked.what, &asked.n, asked.how, asked.last);
    unsetenv("LD_PRELOAD");  // programs that this one starts are neither disturbed nor counted
    const char* const path = std::getenv(plaingrad::trust::kFaultCounts);
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    // Shared with the file, so that the counts are there even if the process is killed.
    if (ftruncate(file, sizeof(FaultCounts)) == 0)
        if (void* const at = mmap(nullptr, sizeof(FaultCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            at != MAP_FAILED)
            counts = static_cast<FaultCounts*>(at);
    close(file);
}

bool is_it(const char* what, int64_t number) {
    if (asked.n == 0 || std::strcmp(asked.what, what) != 0)
        return false;
    return number == asked.n || (number > asked.n && std::strcmp(asked.last, "on") == 0);
}

// Whether this call has to fail. Allocates nothing.
bool happens(const char* what, int64_t& count, const char* call) {
    const int64_t number = std::atomic_ref(count).fetch_add(1) + 1;
    if (!is_it(what, number))
        return false;
    std::atomic_ref(counts->faults).fetch_add(1);
    std::strncpy(counts->call, call, sizeof counts->call - 1);
    if (std::strcmp(asked.how, "kill") == 0 || std::strcmp(asked.how, "stop") == 0) {
        kill(getpid(), asked.how[0] == 'k' ? SIGKILL : SIGSTOP);
        return false;
    }
    errno = std::atoi(asked.how);
    return true;
}

bool fails_in_memory() { return in_main && happens("memory", counts->memory, "allocation"); }
// A call that no disk makes fail.
void about_files(const char* call) {
    if (in_main)
        happens("files", counts->files, call);
}
bool fails_on_disk(const char* call) {
    about_files(call);
    return in_main && happens("disk", counts->disk, call);
}

int (*program)(int, char**, char**) = nullptr;
int counted_main(int argc, char** argv, char** environment) {
    in_main = true;
    const int status = program(argc, argv, environment);
    in_main = false;
    return status;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
    read_environment();
    program = main;
    return next<decltype(__libc_start_main)>("__libc_start_main")(counted_main, argc, argv, init, fini,
                                                                  loader_fini, stack_end);
}

// ---- allocations: the C library's own are under these names, too

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) noexcept { return fails_in_memory() ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) noexcept {
    return fails_in_memory() ? nullptr : __libc_calloc(n, bytes);
}
void* realloc(void* old, size_t bytes) noexcept {
    return fails_in_memory() ? nullptr : __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
    return fails_in_memory() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
    *memory = fails_in_memory() ? nullptr : __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}

// ---- what a disk can make fail

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    static const auto real = next<int(const char*, int, ...)>("open");
    return fails_on_disk("open") ? -1 : real(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    static const auto real = next<int(int, const char*, int, ...)>("openat");
    return fails_on_disk("openat") ? -1 : real(folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
    static const auto real = next<FILE*(const char*, const char*)>("fopen");
    return fails_on_disk("fopen") ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
    static const auto real = next<FILE*(const char*, const char*)>("fopen64");
    return fails_on_disk("fopen") ? nullptr : real(path, mode);
}
ssize_t read(int file, void* bytes, size_t n) {
    static const auto real = next<ssize_t(int, void*, size_t)>("read");
    return fails_on_disk("read") ? -1 : real(file, bytes, n);
}
ssize_t pread(int file, void* bytes, size_t n, off_t at) {
    static const auto real = next<ssize_t(int, void*, size_t, off_t)>("pread");
    return fails_on_disk("pread") ? -1 : real(file, bytes, n, at);
}
// Standard error is where the program says what has failed.
ssize_t write(int file, const void* bytes, size_t n) {
    static const auto real = next<ssize_t(int, const void*, size_t)>("write");
    return file != STDERR_FILENO && fails_on_disk("write") ? -1 : real(file, bytes, n);
}
ssize_t writev(int file, const iovec* pieces, int n) {
    static const auto real = next<ssize_t(int, const iovec*, int)>("writev");
    return file != STDERR_FILENO && fails_on_disk("writev") ? -1 : real(file, pieces, n);
}
int fsync(int file) {
    static const auto real = next<int(int)>("fsync");
    const int how = fcntl(file, F_GETFL);
    const bool is_written = how >= 0 && (how & O_ACCMODE) != O_RDONLY;  // and no folder
    return fails_on_disk(is_written ? "fsync file" : "fsync") ? -1 : real(file);
}
// As in a real failure, the file is closed all the same.
int close(int file) {
    static const auto real = next<int(int)>("close");
    const bool failed = fails_on_disk("close");
    const int error = errno, result = real(file);
    if (failed)
        errno = error;
    return failed ? -1 : result;
}
int fclose(FILE* file) {
    static const auto real = next<int(FILE*)>("fclose");
    const bool failed = fails_on_disk("fclose");
    const int error = errno, result = real(file);
    if (failed)
        errno = error;
    return failed ? EOF : result;
}
int rename(const char* from, const char* to) noexcept {
    static const auto real = next<int(const char*, const char*)>("rename");
    return fails_on_disk("rename") ? -1 : real(from, to);
}
int mkdir(const char* path, mode_t mode) noexcept {
    static const auto real = next<int(const char*, mode_t)>("mkdir");
    return fails_on_disk("mkdir") ? -1 : real(path, mode);
}
int fchmod(int file, mode_t mode) noexcept {
    static const auto real = next<int(int, mode_t)>("fchmod");
    return fails_on_disk("fchmod") ? -1 : real(file, mode);
}
void* mmap(void* wanted, size_t bytes, int protection, int flags, int file, off_t at) noexcept {
    static const auto real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
    return fails_on_disk("mmap") ? MAP_FAILED : real(wanted, bytes, protection, flags, file, at);
}

// ---- other calls about files, before which a process can be stopped or killed

int stat(const char* path, struct stat* now) noexcept {
    static const auto real = next<int(const char*, struct stat*)>("stat");
    about_files("stat");
    return real(path, now);
}
int lstat(const char* path, struct stat* now) noexcept {
    static const auto real = next<int(const char*, struct stat*)>("lstat");
    about_files("lstat");
    return real(path, now);
}
int fstat(int file, struct stat* now) noexcept {
    static const auto real = next<int(int, struct stat*)>("fstat");
    about_files("fstat");
    return real(file, now);
}
int access(const char* path, int how) noexcept {
    static const auto real = next<int(const char*, int)>("access");
    about_files("access");
    return real(path, how);
}
int flock(int file, int how) noexcept {
    static const auto real = next<int(int, int)>("flock");
    about_files("flock");
    return real(file, how);
}
int unlink(const char* path) noexcept {
    static const auto real = next<int(const char*)>("unlink");
    about_files("unlink");
    return real(path);
}
int remove(const char* path) noexcept {
    static const auto real = next<int(const char*)>("remove");
    about_files("remove");
    return real(path);
}
dirent* readdir(DIR* folder) {
    static const auto real = next<dirent*(DIR*)>("readdir");
    about_files("readdir");
    return real(folder);
}
}  // extern "C"
