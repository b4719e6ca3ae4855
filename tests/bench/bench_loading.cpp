// How long a model from Hugging Face takes to load, compared with reading its file into fresh memory, and how
// much memory that takes. Warm: the system has the file in memory. Cold: it must come from the disk.
//
// Each measurement is a process of its own, so that no memory was used before.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "models/presets.h"
#include "models/saved.h"
#include "tests/bench/bench.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;

struct Sample {
    double seconds = 0, mebibytes = 0;  // of memory
};

// What f takes, in a process of its own.
template <class F>
Sample sample(F f) {
    static auto* const taken = static_cast<Sample*>(
        mmap(nullptr, sizeof(Sample), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (child == 0) {
        const double memory = peak_memory(), begin = seconds();
        f();
        *taken = {seconds() - begin, peak_memory() - memory};
        std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    autograd::check(child > 0 && status == 0, "[bench] a process failed");
    return *taken;
}

// The file with the weights; forget: first, so that it must come from the disk.
int open_weights(const std::string& folder, bool forget = false) {
    const std::string path = folder + "/model.safetensors";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    autograd::check(file >= 0, path, ": cannot be opened");
    if (forget) {
        fdatasync(file);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    }
    return file;
}

void read_weights(const std::string& folder, std::size_t size) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    autograd::check(memory != MAP_FAILED, "[bench] no memory for ", size, " bytes");
    const int file = open_weights(folder);
    char* to = static_cast<char*>(memory);
    for (ssize_t n = 1; n > 0; to += n)
        n = ::read(file, to, size);
    close(file);
}

void measure(const std::string& folder, bool csv) {
    const std::size_t bytes = std::filesystem::file_size(folder + "/model.safetensors");
    const Table table(csv, {"file", "read, s", "loaded, s", "times", "MB", "memory / file"});
    for (const bool cold : {false, true}) {
        std::vector<double> read, loaded, memory;
        for (int64_t round = 0; round <= 9; ++round) {  // the first one warms the system's memory
            close(open_weights(folder, cold));
            read.push_back(sample([&] { read_weights(folder, bytes); }).seconds);
            close(open_weights(folder, cold));
            const Sample taken = sample([&] {
                const models::SavedModel opened(folder);
                models::load_model<models::LanguageModel>(opened, {});
            });
            loaded.push_back(taken.seconds);
            memory.push_back(taken.mebibytes);
        }
        const auto of = [](const std::vector<double>& x) { return median({x.begin() + 1, x.end()}); };
        const auto size = static_cast<double>(bytes);
        table.row(cold ? "cold" : "warm", of(read), of(loaded), of(loaded) / of(read), 1e-6 * size,
                  of(memory) * 1048576 / size);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words;
    bool csv = false;
    const auto add = [&](kit::Options& options) {
        options.rest("[FOLDER]",
                     "a language model from Hugging Face; without: one of GPT-2's size, made here", words,
                     {.max = 1});
        options.add_threads();
    };
    return run("bench_loading", "measures how long a model of others takes to load", argc, argv, &csv, add,
               [&] {
                   const tests::Folder made;
                   if (words.empty())
                       sample([&] {
                           const models::LanguageModel model(models::gpt2(), autograd::Rng(1));
                           using namespace models;
                           save(made.path, model, hugging_face::config_of(model.config, "gpt2"));
                       });
                   measure(words.empty() ? made.path : words[0], csv);
               });
}
