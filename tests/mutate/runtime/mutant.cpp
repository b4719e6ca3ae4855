// Reads from the environment which mutant is alive, and the file in which reached places are marked. All
// processes of a test share this file, so that the places of a program that the test kills are known, too.
#include "autograd/base/mutant.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace mutant {

int alive = -1;
unsigned char* reached = nullptr;

// Before any other global object is made, as making one may run changed code.
__attribute__((constructor(101))) static void read_environment() {
    if (const char* number = std::getenv("PLAINGRAD_MUTANT"))
        alive = std::atoi(number);
    const char* path = std::getenv("PLAINGRAD_REACHED");
    const int file = path != nullptr ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    const off_t size = lseek(file, 0, SEEK_END);
    void* const memory =
        mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED)
        reached = static_cast<unsigned char*>(memory);
}

}  // namespace mutant
