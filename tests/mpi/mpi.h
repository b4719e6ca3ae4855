// Starts programs with mpirun, finds the processes that it starts, and sees to it that none of them is left.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "tests/apps/run.h"

namespace plaingrad::tests {

// An MPI of this machine: its mpirun, and the folder of the programs that were built for it.
struct Mpi {
    std::string name, mpirun, apps;
};

// `make test-mpi FULL=1`: longer runs, more ranks and threads, and more of what happens by chance.
inline bool full() { return environment("PLAINGRAD_MPI_FULL", "0") != "0"; }

// The folder of the programs that were built without MPI.
inline std::string apps_alone() { return environment("PLAINGRAD_MPI", "build/test_mpi") + "/none/apps"; }

// PLAINGRAD_MPIS is a list of NAME=MPIRUN.
inline std::vector<Mpi> mpis() {
    std::vector<Mpi> all;
    std::istringstream list(environment("PLAINGRAD_MPIS", ""));
    for (std::string word; list >> word;) {
        const std::string name = word.substr(0, word.find('='));
        all.push_back({name, word.substr(name.size() + 1),
                       environment("PLAINGRAD_MPI", "build/test_mpi") + "/" + name + "/apps"});
    }
    return all;
}

// The words of a command line, none of which has a blank.
inline Words words(const std::string& line) { return fields(line, ' '); }

inline std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

inline Words command_of(const std::string& folder, const std::string& program, const Words& arguments) {
    return joined({absolute(folder + "/" + program)}, arguments);
}

// A command that does something else on one rank.
inline Words unlike(int rank, const Words& there, const Words& elsewhere) {
    const auto quoted = [](const Words& words) {
        std::string all = "exec";
        for (const std::string& word : words)
            all += " '" + word + "'";
        return all;
    };
    return {"sh", "-c",
            "if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = " + std::to_string(rank) + " ]; then " +
                quoted(there) + "; else " + quoted(elsewhere) + "; fi"};
}

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What mpirun has started, and mpirun. All of these processes inherit a variable, by which they are found.
class Job {
public:
    Job(const Mpi& mpi, int ranks, const Words& command, With with = {})
        : mark_(std::filesystem::path(folder_.path).filename().string()) {
        // As root, and with more ranks than processors: not without being asked (Open MPI 4, and 5).
        with.env =
            joined(with.env, {"PLAINGRAD_JOB=" + mark_, "OMPI_ALLOW_RUN_AS_ROOT=1",
                              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
                              "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"});
        with.called = mpi.mpirun;
        running_.emplace(mpi.mpirun, joined({"-np", std::to_string(ranks)}, command), with);
    }
    ~Job() {
        for (const auto& [process, rank] : processes())
            kill(process, SIGKILL);
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    bool runs() const { return running_->runs(); }
    bool says(const std::string& text) { return running_->says(text); }
    void interrupt(int signal) { running_->interrupt(signal); }  // mpirun, as Ctrl-C does

    // The process of that rank, once it exists and runs a program of ours; 0 if the job ends before.
    pid_t process(int rank) const {
        while (runs()) {
            for (const auto& [process, its_rank] : processes())
                if (its_rank == rank)
                    return process;
            usleep(1000);
        }
        return 0;
    }

    // Waits for mpirun; the job fails if it has not ended after so many seconds. Then nobody may be left.
    Result wait(double seconds = 120) {
        const double end = seconds_now() + seconds;
        while (runs() && seconds_now() < end)
            usleep(2000);
        const bool ended = !runs();
        for (const auto& [process, rank] : ended ? Processes() : processes())
            kill(process, SIGKILL);
        Result result = running_->wait();
        if (!ended)
            result.err += "the job had not ended after " + std::to_string(seconds) + " seconds\n";
        CHECK(ended);
        CHECK(nobody_is_left());
        return result;
    }

private:
    using Processes = std::map<pid_t, int>;  // and their ranks, or -1

    // Of the variables in this text, each of which ends with a zero, or "" without that one.
    static std::string variable(const std::string& all, const std::string& name) {
        const std::size_t at = ('\0' + all).find('\0' + name + '=');
        return at == std::string::npos ? "" : all.substr(at + name.size() + 1).c_str();
    }

    Processes processes() const {
        Processes all;
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
            const std::string name = entry.path().filename().string();
            if (name.find_first_not_of("0123456789") != std::string::npos)
                continue;
            const std::string variables = content(entry.path().string() + "/environ");
            if (variable(variables, "PLAINGRAD_JOB") != mark_)
                continue;
            std::string rank = variable(variables, "OMPI_COMM_WORLD_RANK");
            if (rank.empty())
                rank = variable(variables, "PMI_RANK");
            all[static_cast<pid_t>(std::stol(name))] = rank.empty() ? -1 : std::stoi(rank);
        }
        return all;
    }

    bool nobody_is_left() const {
        constexpr double kPatience = 10;
        for (const double end = seconds_now() + kPatience; seconds_now() < end; usleep(2000))
            if (processes().empty())
                return true;
        return false;
    }

    Folder folder_;
    std::string mark_;
    std::optional<Running> running_;
};

// Runs a program that was built for this MPI.
inline Result mpirun(const Mpi& mpi, int ranks, const std::string& program, const Words& arguments,
                     const With& with = {}) {
    return Job(mpi, ranks, command_of(mpi.apps, program, arguments), with).wait();
}
// Runs a program that was built without MPI, as one process.
inline Result alone(const std::string& program, const Words& arguments, const With& with = {}) {
    return Running(absolute(apps_alone() + "/" + program), arguments, with).wait();
}

// The complaints of our programs, among what mpirun prints.
inline Words complaints(const Result& result) {
    Words all;
    for (const std::string& line : lines_of(result.err))
        for (const char* program : {"reverse_task: ", "translate: ", "generate: "})
            if (contains(line, program) && !line.ends_with(" parameters"))
                all.push_back(line);
    return all;
}

// Runs that are small, but have dropout, parts of several sizes, validations and several checkpoints.
struct Program {
    std::string name;
    Words train;
    Words resume(const std::string& run) const {
        return joined(name == "reverse_task" ? Words() : Words{"train"}, {"--resume", run});
    }
};

// English numbers, and the same digits in reverse order.
inline std::string numbers() {
    const Words names = {"one", "two", "three", "four", "five", "six"};
    std::string lines;
    for (std::size_t i = 0; i < 150; ++i) {
        std::string source, target;
        for (std::size_t n = i, length = 2 + i % 5; length > 0; --length, n = n / 6 + i * length) {
            source += (source.empty() ? "" : " ") + names[n % 6];
            target = std::to_string(n % 6 + 1) + (target.empty() ? "" : " ") + target;
        }
        lines += source + "\t" + target + "\n";
    }
    return lines;
}

struct Programs {
    Folder folder;
    std::string pairs = folder.write("pairs.tsv", numbers());
    std::string steps = full() ? "200" : "16";
    std::string often = full() ? "50" : "8", epochs = full() ? "40" : "3";
    Program characters = {"generate",
                          words("train apps/programs/generate/log_book.txt --layers 2 --heads 2 --d-model 24 "
                                "--context 24 --dropout 0.1 --batch 9 --save-every 5 --steps " +
                                steps + " --validate-every " + often)};
    Program sentences = {
        "translate",
        joined({"train", pairs, "--validation", pairs},
               words("--merges 30 --batch-tokens 256 --context 32 --layers 1 --heads 2 --d-model 16 "
                     "--d-ff 32 --warmup 8 --save-every 5 --steps " +
                     steps))};
    std::vector<Program> all = {
        characters,
        sentences,
        {"reverse_task",
         words("--layers 1 --d-model 16 --d-ff 32 --heads 2 --batch 19 --save-every 5 --steps " + steps)},
        {"classify",
         words("train apps/programs/classify/requests.txt --batch 21 --layers 1 --heads 2 --d-model 16 "
               "--validation 12 --patience 40 --save-every 5 --epochs " +
               epochs)},
        {"generate", joined({"train", empty_model()},
                            words("apps/programs/generate/log_book.txt --context 24 --batch 9 --layers 1 "
                                  "--save-every 5 --steps " +
                                  steps + " --validate-every " + often))}};

    // A model with random weights.
    std::string empty_model() const {
        const std::string path = folder / "empty";
        const Result r = alone(
            "generate", joined({"new", path}, words("apps/programs/generate/log_book.txt --vocabulary 300 "
                                                    "--layers 2 --heads 2 --d-model 16 --context 32")));
        INFO(r.err);
        REQUIRE(r.status == 0);
        return path;
    }
};

// The files of a run that must have the same bits; the first one exists at any time.
inline std::map<std::string, std::string> files_of(const std::string& run) {
    std::map<std::string, std::string> files;
    for (const char* name : {"last.safetensors", "best.safetensors", "model.safetensors"})
        files[name] = content(run + "/" + name);
    return files;
}

}  // namespace plaingrad::tests
