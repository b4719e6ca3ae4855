#include "tests/trust/crashes/runs.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "nn/checkpoint/safetensors.h"

namespace plaingrad::trust {

namespace fs = std::filesystem;
using tests::content;

namespace {

// Steps of a few milliseconds, and more time for saving than for training.
std::vector<Program> programs(const tests::Texts& texts, const std::string& bert, const std::string& gpt) {
    const Words train = {"train"};
    return {
        {"reverse_task",
         12,
         {"--layers", "1", "--d-model", "16", "--d-ff", "16", "--heads", "2", "--steps", "12", "--batch", "8",
          "--save-every", "3"}},
        {"toy_translate",
         4,
         {"--pairs", texts.pairs_file, "--preset", "article", "--epochs", "2", "--save-every", "1"}},
        {"tasks", 5, {"sort", "--steps", "5", "--save-every", "2"}},
        {"generate",
         12,
         {"train", texts.text, "--layers", "1", "--heads", "2", "--d-model", "16", "--context", "16",
          "--steps", "12", "--batch", "4", "--validate-every", "6", "--save-every", "3"},
         train},
        {"classify",
         12,
         {"train", texts.labelled, "--validation", "20", "--epochs", "2", "--d-model", "16", "--batch", "16",
          "--save-every", "4"},
         train},
        {"translate",
         8,
         {"train",          texts.pairs_file,
          "--validation",   texts.pairs_file,
          "--merges",       "30",
          "--batch-tokens", "256",
          "--context",      "32",
          "--layers",       "1",
          "--heads",        "2",
          "--d-model",      "16",
          "--d-ff",         "16",
          "--warmup",       "4",
          "--steps",        "8",
          "--save-every",   "3"},
         train},
        {"generate",
         10,
         {"train", gpt, texts.text, "--steps", "10", "--context", "16", "--batch", "2", "--validate-every",
          "5", "--save-every", "3"},
         train},
        {"fill",
         10,
         {"train", bert, texts.text, "--steps", "10", "--validate-every", "5", "--save-every", "3"},
         train},
    };
}

std::string comparable(const std::string& name, const std::string& path) {
    if (name.ends_with("log.csv"))
        return tests::without_times(content(path));
    return name.ends_with("report.jsonl") ? "" : content(path);  // a diary, with the times of each call
}

std::string listed(const Contents& files) {
    std::string names;
    for (const auto& [name, content] : files)
        names += (names.empty() ? "" : " ") + name;
    return names;
}

std::string last_line(const std::string& text) {
    const Words lines = tests::lines_of(text);
    return lines.empty() ? "" : lines.back();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

bool is_usual_end(const Run& run, const Result& r) {
    return r.status == run.ended.status && (r.status == 0 || last_line(r.err) == last_line(run.ended.err));
}

Contents contents(const std::string& folder) {
    Contents all;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(folder, none))
        if (!entry.is_directory()) {
            const std::string name = fs::relative(entry.path(), folder).string();
            all[name] = comparable(name, entry.path().string());
        }
    return all;
}

FaultCounts counts_in(const std::string& path) {
    FaultCounts counts;
    if (const std::string bytes = content(path); bytes.size() == sizeof counts)
        std::memcpy(&counts, bytes.data(), sizeof counts);
    return counts;
}

Runs::Runs(Damage& all_) : damage(all_) {
    const std::string bert = texts_.folder / "bert", gpt = texts_.folder / "gpt";
    const Words small = {"--layers", "1", "--d-model", "16", "--heads", "2", "--context", "16"};
    const Result made[] = {ran("fill", joined({"new", bert, texts_.text, "--vocabulary", "48"}, small)),
                           ran("generate", joined({"new", gpt, texts_.text, "--vocabulary", "300"}, small))};
    autograd::check(made[0].status + made[1].status == 0, made[0].err, made[1].err);

    const fs::path library = fs::path(tests::environment("PLAINGRAD_TRUST", "build/trust")) / "faults.so";
    const Folder here;
    faults_ = fs::absolute(library).string();
    for (const Program& program : programs(texts_, bert, gpt)) {
        const std::string folder = here / Run{program}.name(), part = folder + "-part",
                          counts = folder + ".counts";
        Run run = undisturbed(program, folder);
        ran(program.name, joined(begin(run, part), {"--stop-after", "2"}));
        ran(program.name, resume(run, part), with({"none"}, counts + "-part"));
        run.calls_resumed = counts_in(counts + "-part");
        all.push_back(run);
        Program rarely = program;
        *(std::find(rarely.train.begin(), rarely.train.end(), "--save-every") + 1) = "0";
        rarely_saving.push_back(undisturbed(rarely, folder + "-rarely"));
    }
    autograd::check(all[0].calls.memory > 0 || !fs::exists(library), library.string(), ": it counts nothing");
    if (all[0].calls.memory == 0)
        faults_.clear();
}

Run Runs::undisturbed(const Program& program, const std::string& folder) const {
    Run run = {program};
    const std::string counts = folder + ".counts";
    const auto start = std::chrono::steady_clock::now();
    run.ended = ran(program.name, begin(run, folder), with({"none"}, counts));
    run.seconds = seconds_since(start);
    run.calls = counts_in(counts);
    // Status 1: after so few steps, the task is not solved.
    const auto last = nn::checkpoint::read(folder + "/last.safetensors");
    const std::string steps = std::to_string(program.steps);
    autograd::check(run.ended.status <= 1 && last.metadata().at("training.steps") == steps, program.name,
                    " ends before its last step: ", run.ended.err);
    run.files = contents(folder);
    return run;
}

With Runs::with(const Fault& fault, const std::string& counts) const {
    Words env = {"LD_PRELOAD=" + faults_, std::string(kFault) + "=" + fault.what + " " +
                                              std::to_string(fault.n) + " " + fault.how + " " + fault.last};
    if (!counts.empty())
        env.push_back(std::string(kFaultCounts) + "=" + counts);
    return {.env = env};
}

Words Runs::begin(const Run& run, const std::string& folder) const {
    return joined(run.program.train, {"--threads", "1", "--save", folder});
}

Words Runs::resume(const Run& run, const std::string& folder) const {
    return joined(run.program.begin, {"--resume", folder, "--threads", "1"});
}

Result Runs::wait(Running& running) const {
    constexpr double kPatience = 100;
    const auto start = std::chrono::steady_clock::now();
    while (running.runs() && seconds_since(start) < kPatience)
        usleep(200);
    const bool hangs = running.runs();
    if (hangs)
        running.interrupt(SIGKILL);
    const Result r = running.wait();
    if (hangs)
        damage.note(Wrong::died, "a program that does not end", r.err);
    return r;
}

Result Runs::ran(const std::string& program, const Words& words, const With& with) const {
    Running running(program, words, with);
    return wait(running);
}

Result Runs::ran(const std::string& program, const Words& words, const Fault& fault,
                 std::atomic<int64_t>& happened, FaultCounts* counts) const {
    const Folder here;
    const std::string temporary = here / "temporary";
    fs::create_directory(temporary);
    With faulty = with(fault, here / "counts");
    faulty.env.push_back("TMPDIR=" + temporary);
    const Result r = ran(program, words, faulty);
    if (r.status != 128 + SIGKILL && !fs::is_empty(temporary))
        damage.note(Wrong::left_over, line(program, words, fault),
                    "in TMPDIR: " + listed(contents(temporary)));
    const FaultCounts found = counts_in(here / "counts");
    happened += found.faults > 0 ? 1 : 0;
    if (counts != nullptr)
        *counts = found;
    return r;
}

void Runs::check_ended(const Run& run, const Result& r, const std::string& folder,
                       const std::string& which) const {
    for (const auto& [name, bytes] : contents(folder))
        if (name.ends_with(".plaingrad-tmp"))  // as replace_file calls what is not whole yet
            damage.note(Wrong::left_over, which, name);
    if (is_usual_end(run, r))
        check_same(run, folder, which + ", before it resumes");
    check(run, folder, which);
}

void Runs::check(const Run& run, const std::string& folder, const std::string& which) const {
    check_opens(folder, which);
    std::error_code none;
    const bool begun = fs::exists(folder + "/last.safetensors", none);
    const Result r = ran(run.program.name, begun ? resume(run, folder) : begin(run, folder));
    if (!is_usual_end(run, r))
        damage.note(
            Wrong::died, which,
            std::string(begun ? "it does not resume" : "it does not begin again") + ": " + last_line(r.err));
    else
        check_same(run, folder, which);
}

void Runs::check_opens(const std::string& folder, const std::string& which) const {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (const std::string path = entry.path().string(); path.ends_with(".safetensors")) {
            try {
                const auto file = nn::checkpoint::read(path);
                if (path.ends_with("last.safetensors") && !file.metadata().contains("training.steps"))
                    damage.note(Wrong::corrupt, which, path + " has no number of steps");
            } catch (const std::exception& error) {
                damage.note(Wrong::corrupt, which, error.what());
            }
        }
}

void Runs::check_same(const Run& run, const std::string& folder, const std::string& which) const {
    const Contents files = contents(folder);
    for (const auto& [name, bytes] : run.files)
        if (const auto mine = files.find(name); mine == files.end() || mine->second != bytes)
            return damage.note(Wrong::unequal, which,
                               name + (mine == files.end() ? " is missing" : " has other bits"));
    if (files.size() != run.files.size())
        damage.note(Wrong::left_over, which, "there are " + listed(files));
}

void Runs::check_told(const Run& run, const Result& r, const Words& reasons, const std::string& which) const {
    if (is_usual_end(run, r))
        return;
    const std::string last = last_line(r.err);
    const auto says = [&](const std::string& reason) { return last.find(reason) != last.npos; };
    const bool clear = last.starts_with(run.program.name + ": ") && r.err.ends_with('\n') &&
                       std::any_of(reasons.begin(), reasons.end(), says);
    if (r.status != 1 || !clear)
        damage.note(Wrong::died, which, "status " + std::to_string(r.status) + ": " + last);
}

std::string Runs::line(const std::string& program, const Words& words, const Fault& fault) const {
    std::string text = std::string(kFault) + "='" + fault.what + " " + std::to_string(fault.n) + " " +
                       fault.how + " " + fault.last + "' LD_PRELOAD=" + faults_ + " ./apps/" + program;
    for (const std::string& word : words)
        text += " " + word;
    return text;
}

}  // namespace plaingrad::trust
