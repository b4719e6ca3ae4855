// A library that is loaded before a program (LD_PRELOAD), and makes its n-th allocation or call about a file
// fail, or sends it a signal there. So every place where the system can fail is tried, one after the other,
// and a case can be found again by its number. For Linux with glibc.
//
// It counts from the beginning of main to its end: before, C++ has no handler for an exception, and after it,
// the program's work is done. Large allocations, which the C library takes from the system by mmap, count as
// allocations.
#include "tests/trust/preload/faults.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tests/defined_calls.h"

using plaingrad::tests::Fate;
using plaingrad::trust::FaultCounts;

namespace {

struct Asked {
    char what[8] = "none", last[8] = "once";
    long n = 0;
    int how = 0;
};

std::atomic<bool> in_main = false;
Asked asked;
FaultCounts unseen, *counts = &unseen;

void read_environment() {
    if (const char* const words = std::getenv(plaingrad::trust::kFault))
        std::sscanf(words, "%7s %ld %d %7s", asked.what, &asked.n, &asked.how, asked.last);
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

// The errno with which this call fails, or 0. Allocates nothing.
int error_of(const char* what, int64_t& count, const char* call) {
    if (!in_main)
        return 0;
    const int64_t number = std::atomic_ref(count).fetch_add(1) + 1;
    const bool later = number > asked.n && std::strcmp(asked.last, "on") == 0;
    if (asked.n == 0 || std::strcmp(asked.what, what) != 0 || !(number == asked.n || later))
        return 0;
    std::atomic_ref(counts->faults).fetch_add(1);
    std::strncpy(counts->call, call, sizeof counts->call - 1);
    if (asked.how < 0)
        kill(getpid(), -asked.how);
    return std::max(0, asked.how);
}

int (*program)(int, char**, char**) = nullptr;
int counted_main(int argc, char** argv, char** environment) {
    in_main = true;
    const int status = program(argc, argv, environment);
    in_main = false;
    return status;
}

bool fails_in_memory() {
    const int error = error_of("memory", counts->memory, "allocation");
    errno = error != 0 ? error : errno;
    return error != 0;
}

}  // namespace

Fate plaingrad::tests::fate_of(const char* call, bool can_fail) {
    error_of("files", counts->files, call);
    return {.error = can_fail ? error_of("disk", counts->disk, call) : 0};
}

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
    read_environment();
    program = main;
    return plaingrad::tests::usual<decltype(__libc_start_main)>("__libc_start_main")(
        counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

// Allocations: the C library's own are under these names, too.
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

}  // extern "C"
