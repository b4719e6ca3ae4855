// The readers under libFuzzer, which is clang's: `make fuzz`. The first argument is the reader's name; with
// --list as the only one, prints all names; with --seeds FOLDER after a name, writes its seeds there.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tests/folder.h"
#include "tests/fuzz/readers.h"

namespace {

using plaingrad::fuzz::Reader;
using plaingrad::fuzz::readers;

const Reader* chosen = nullptr;

void write_seeds(const std::string& folder) {
    int64_t i = 0;
    for (const std::string& seed : chosen->seeds())
        plaingrad::tests::put(folder + "/seed-" + std::to_string(i++), seed);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    const std::string name = *argc > 1 ? (*argv)[1] : "";
    for (const Reader& reader : readers()) {
        if (name == "--list")
            std::puts(reader.name);
        if (name == reader.name)
            chosen = &reader;
    }
    if (chosen == nullptr)
        std::exit(name == "--list" ? 0 : 2);
    if (*argc == 4 && std::strcmp((*argv)[2], "--seeds") == 0) {
        write_seeds((*argv)[3]);
        std::exit(0);
    }
    (*argv)[1] = (*argv)[0];
    ++*argv;
    --*argc;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    plaingrad::fuzz::reads(*chosen, std::string(reinterpret_cast<const char*>(data), size));
    return 0;
}
