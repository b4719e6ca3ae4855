// How long a model from Hugging Face takes to load, compared with reading its file into fresh memory, and how
// much memory that takes. Warm: the system has the file in memory. Cold: it must come from the disk.
//
// Each measurement is a process of its own, so that no memory was used before.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "models/presets.h"
#include "models/saved.h"
#include "tests/bench/measure.h"
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
    int ends[2];
    autograd::check(pipe(ends) == 0, "[bench] no pipe could be made");
    const pid_t child = fork();
    if (child == 0) {
        const double memory = peak_memory(), begin = seconds();
        f();
        const Sample taken = {seconds() - begin, peak_memory() - memory};
        std::_Exit(::write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
    }
    Sample taken;
    int status = 0;
    close(ends[1]);
    const bool got = ::read(ends[0], &taken, sizeof taken) == sizeof taken;
    close(ends[0]);
    waitpid(child, &status, 0);
    autograd::check(got && status == 0, "[bench] a process failed");
    return taken;
}

int open_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    autograd::check(file >= 0, path, ": cannot be opened");
    return file;
}

std::vector<std::string> weights_of(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".safetensors")
            paths.push_back(entry.path().string());
    return paths;
}

// So that the next reader waits for the disk.
void forget(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        const int file = open_file(path);
        fdatasync(file);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }
}

void read_files(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        const std::size_t size = std::filesystem::file_size(path);
        void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        autograd::check(memory != MAP_FAILED, "[bench] no memory for ", size, " bytes");
        const int file = open_file(path);
        char* to = static_cast<char*>(memory);
        for (ssize_t n = 1; n > 0; to += n)
            n = ::read(file, to, size);
        close(file);
    }
}

void load(const std::string& folder, std::optional<autograd::Precision> packed) {
    const models::SavedModel opened(folder);
    if (opened.config.kind == models::Kind::masked)
        models::load_model<models::MaskedLanguageModel>(opened,
                                                        {.packed = packed.has_value(), .precision = packed});
    else
        models::load_model<models::LanguageModel>(opened,
                                                  {.packed = packed.has_value(), .precision = packed});
}

// A language model of the size of GPT-2 (124 million parameters), with random weights.
void make(const std::string& folder) {
    using namespace models::hugging_face;
    const models::LanguageModel model(models::gpt2(), autograd::Rng(1));
    save(folder, model, config_of(model.config, "gpt2"));
}

void measure(const std::string& folder, int64_t rounds, std::optional<autograd::Precision> packed) {
    const std::vector<std::string> paths = weights_of(folder);
    double bytes = 0;
    for (const std::string& path : paths)
        bytes += static_cast<double>(std::filesystem::file_size(path));
    for (const bool cold : {false, true}) {
        std::vector<double> read, loaded, memory;
        for (int64_t round = 0; round <= rounds; ++round) {
            if (cold)
                forget(paths);
            const double plain = sample([&] { read_files(paths); }).seconds;
            if (cold)
                forget(paths);
            const Sample taken = sample([&] { load(folder, packed); });
            if (round == 0)  // warms the system's memory
                continue;
            read.push_back(plain);
            loaded.push_back(taken.seconds);
            memory.push_back(taken.mebibytes);
        }
        std::printf("%s: read %.3f s, loaded %.3f s, %.2f times; %.0f MB of files, %.2f of it in memory\n",
                    cold ? "cold" : "warm", median(read), median(loaded), median(loaded) / median(read),
                    1e-6 * bytes, median(memory) * 1048576 / bytes);
    }
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_loading", argv[0], [&] {
        std::vector<std::string> words;
        std::string packed = "no";
        int64_t rounds = 9;
        kit::Options options(
            {"build/bench/bench_loading", "measures how long a model of others takes to load"});
        options.rest("[FOLDER]",
                     "a language model from Hugging Face; without: one of GPT-2's size, made here", words);
        options.add("--rounds", "N", "measurements of each", rounds, {.min = 1});
        options.add("--packed", "the weights, as for programs that only compute", packed,
                    {"no", "float32", "bf16"});
        options.add_threads();
        options.parse(argc, argv);
        kit::check_usage(words.size() <= 1, "one FOLDER is enough");
        const tests::Folder made;
        if (words.empty())
            sample([&] { make(made.path); });
        measure(words.empty() ? made.path : words[0], rounds,
                packed == "no" ? std::nullopt : std::optional(kit::precision_of(packed)));
        return 0;
    });
}
