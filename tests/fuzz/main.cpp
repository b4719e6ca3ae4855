// The targets under libFuzzer, which is clang's: `make fuzz`. The first argument is the target's name; --list
// as the only one prints all names, and --leak leaks, so that fuzz.sh can see whether leaks are found. After
// a name, --seeds FOLDER writes its seeds and kept inputs there, --dictionary prints its words, and --keep
// FOLDER prints inputs of a corpus, one a line, for `make test`.
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <tuple>

#include "autograd/base/parallel.h"
#include "autograd/storage.h"
#include "nn/checkpoint/json.h"
#include "tests/folder.h"
#include "tests/fuzz/mutate.h"

namespace {

using namespace plaingrad::fuzz;
using plaingrad::tests::content;

const Target* chosen = nullptr;

// ---- memory: what is allocated while the target runs, and not freed yet

int64_t held = 0, most = 0, largest = 0;  // the largest allocation

void on_malloc(const volatile void*, std::size_t bytes) {
    held += static_cast<int64_t>(bytes);
    most = std::max(most, held);
    largest = std::max(largest, static_cast<int64_t>(bytes));
}
void on_free(const volatile void* at) {
    held -= at == nullptr ? 0 : static_cast<int64_t>(__sanitizer_get_allocated_size(at));
}

// ---- what a run of the fuzzer tells at its end

int64_t accepted = 0, all = 0, most_memory = 0;
void tell() {
    if (all > 0)
        std::fprintf(stderr, "accepted %lld of %lld, most memory beyond the input %lld\n",
                     static_cast<long long>(accepted), static_cast<long long>(all),
                     static_cast<long long>(most_memory));
}

// ---- without fuzzing

void write_seeds(const std::string& folder) {
    std::vector<std::string> inputs = chosen->seeds();
    for (const std::string& input : kept(*chosen))
        inputs.push_back(input);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        plaingrad::tests::put(folder + "/seed-" + std::to_string(i), inputs[i]);
}

void print_dictionary() {
    for (const std::string& word : words_of(*chosen))
        if (word.size() < 60 && !word.empty() && word.find_first_of("\"\\") == word.npos)
            std::printf("\"%s\"\n", to_line(word).c_str());
}

// Of a corpus that libFuzzer has merged: as many as make a file of `kMost` bytes, accepted ones first, then
// the shortest.
void print_kept(const std::string& folder) {
    constexpr std::size_t kMost = 12'000;
    std::set<std::tuple<bool, std::size_t, std::string>> lines;  // whether it is refused, its size
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        const std::string bytes = content(file.path().string()), line = to_line(bytes);
        lines.insert({!accepts(*chosen, bytes), line.size(), line});
    }
    std::size_t bytes = 0;
    std::set<std::string> seeds;
    for (const std::string& seed : chosen->seeds())
        seeds.insert(to_line(seed));
    for (const auto& [refused, size, line] : lines)
        if (!seeds.contains(line) && bytes + size + 1 < kMost) {
            bytes += size + 1;
            std::puts(line.c_str());
        }
}

// (The second buffer takes the first one's address out of every register and variable.)
void leak() {
    [[maybe_unused]] static char* volatile lost = nullptr;
    for (int i = 0; i < 2; ++i)
        lost = new char[100];
}

// Does what the words behind the target's name ask for, if they are ours, and returns whether they were.
bool done(const std::vector<std::string>& words) {
    if (words.size() == 2 && words[0] == "--seeds")
        write_seeds(words[1]);
    else if (words.size() == 2 && words[0] == "--keep")
        print_kept(words[1]);
    else if (words.size() == 1 && words[0] == "--dictionary")
        print_dictionary();
    else
        return false;
    return true;
}

// Inputs that were accepted, some of the last and some older ones: of JSON and safetensors, half of the
// mutations begin from one of them. Refused inputs reach new code, too, so libFuzzer's own corpus is mostly
// refused inputs, and what is made of them is refused again. (Of plain bytes, most are accepted.)
std::vector<std::string> good;
void remember(const std::string& bytes) {
    constexpr std::size_t kMost = 200;
    if (good.size() < kMost)
        good.push_back(bytes);
    else if (accepted % 16 == 0)
        good[static_cast<std::size_t>(accepted / 16) % kMost] = bytes;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t max_size);

// To merge corpora, libFuzzer starts this program again, without the name: so it is also in the environment.
constexpr const char* kName = "PLAINGRAD_FUZZ_TARGET";

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    const std::string name = *argc > 1 ? (*argv)[1] : "";
    const char* const inherited = std::getenv(kName);
    if (name == "--leak") {
        leak();
        std::exit(0);
    }
    for (const Target& target : targets()) {
        if (name == "--list")
            std::puts(target.name);
        if ((inherited == nullptr ? name : inherited) == target.name)
            chosen = &target;
    }
    if (chosen == nullptr)
        std::exit(name == "--list" ? 0 : 2);
    if (done({*argv + std::min(*argc, 2), *argv + *argc}))
        std::exit(0);
    if (inherited == nullptr) {
        setenv(kName, chosen->name, 1);
        (*argv)[1] = (*argv)[0];
        ++*argv;
        --*argc;
    }
    plaingrad::autograd::set_thread_count(1);
    // Twice, so that what is allocated once is there before memory is measured.
    for (int round = 0; round < 2; ++round)
        for (const std::string& seed : chosen->seeds())
            accepts(*chosen, seed);
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    std::atexit(tell);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    plaingrad::autograd::storage_trim();  // else tensors get free memory, which is not seen here
    const int64_t before = held;
    most = before;
    largest = 0;
    const std::clock_t begin = std::clock();
    const bool is_good = accepts(*chosen, bytes);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const int64_t used = most - before - static_cast<int64_t>(size);
    ++all;
    accepted += is_good ? 1 : 0;
    if (is_good)
        remember(bytes);
    most_memory = std::max(most_memory, used);
    expect(chosen->memory < 0 || used <= chosen->memory, "memory beyond the promise: ", used,
           " bytes more than the input's ", size);
    // Whatever the target: of no file of some kilobytes anybody expects more.
    expect(largest <= 64 * kMiB, "memory beyond all reason: ", largest, " bytes at once for an input of ",
           size);
    // Of the processor: on a busy machine even a short input may wait for long.
    expect(seconds < 5, "time beyond all reason: ", seconds, " seconds for an input of ", size);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    Dice dice(plaingrad::autograd::Rng{seed});
    const auto inner = [&](const std::string& bytes) {
        std::string buffer = bytes;
        buffer.resize(bytes.size() + 64);
        buffer.resize(
            LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(buffer.data()), bytes.size(), buffer.size()));
        return buffer;
    };
    std::string begin(reinterpret_cast<const char*>(data), size);
    if (chosen->form != Form::bytes && !good.empty() && dice.one_in(2))
        begin = dice.one_of(good);
    const std::string bytes = mutate(*chosen, begin, inner, dice);
    const std::size_t length = std::min(bytes.size(), max_size);
    std::memcpy(data, bytes.data(), length);
    return length;
}
