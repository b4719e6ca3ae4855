// What programs and the library say when something is wrong: strange files, wrong command lines, wrong calls.
//
//     build/trust/words lines            only these: files, lines or calls
//     build/trust/words --write [lines]  keeps the texts of today; read them before they are committed
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "autograd/base/check.h"
#include "tests/folder.h"
#include "tests/trust/instrument.h"
#include "tests/trust/words/calls.h"
#include "tests/trust/words/files.h"
#include "tests/trust/words/lines.h"

using namespace plaingrad;     // NOLINT
using namespace trust::words;  // NOLINT

namespace {

const std::string kFolder = "tests/trust/words/";

// all: every case was tried, so that one that is kept and was not has gone.
int64_t compared(const Texts& texts, const std::string& file, bool writes, bool all) {
    if (writes)
        write_kept(kFolder + file, texts);
    return count_changed(texts, kFolder + file) + (all ? count_missing(texts, kFolder + file) : 0);
}

// What programs may take, so that one that asks for too much gets an error and not the whole machine.
void limit_memory() {
    const rlimit memory = {rlim_t{4} << 30, rlim_t{4} << 30}, core = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    setenv("PLAINGRAD_THREADS", "1", 1);
}

// Lets temporary files be made below `own`, in a folder whose path has 70 bytes wherever this runs: of a
// long message the middle is left out, and how much that is depends on the paths in it.
void use_folder_of_fixed_length(const tests::Folder& own) {
    autograd::check(own.path.size() < 69, own.path, ": the path of TMPDIR is too long");
    const std::string path = own / std::string(70 - own.path.size() - 1, 'w');
    std::filesystem::create_directory(path);
    setenv("TMPDIR", path.c_str(), 1);
}

// Of several figures that should be 0: the number, and what to look for in the log.
void bad(const trust::Instrument& trust, const std::string& name, int64_t number) {
    trust.figure("words." + name, static_cast<double>(number), number > 0 ? "listed in the log" : "");
}

void measure_files(const trust::Instrument& trust, bool writes) {
    const Said said = try_files(trust);
    trust.figure("words.files", static_cast<double>(said.tried));
    bad(trust, "crashed", said.crashed);
    bad(trust, "hung", said.hung);
    bad(trust, "silent", said.silent);
    bad(trust, "several", said.several_lines);
    bad(trust, "raw", said.raw);
    bad(trust, "files_changed", compared(said.texts, "files.txt", writes, trust.scale == trust::Scale::full));
}

void measure_lines(const trust::Instrument& trust, bool writes) {
    const SaidOfLines said = try_lines(trust);
    trust.figure("words.lines", static_cast<double>(said.tried));
    bad(trust, "lines_accepted", said.accepted);
    bad(trust, "lines_unclear",
        said.unnamed + said.several_lines + said.silent + said.raw + said.hung + said.crashed);
    bad(trust, "lines_changed",
        compared(said.texts, "lines.txt", writes, trust.scale != trust::Scale::quick));
}

// Calls that write do so here, in files whose names are the same in every run.
SaidOfCalls tried_elsewhere() {
    const tests::Folder folder;
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    SaidOfCalls said = try_calls();
    std::filesystem::current_path(here);
    return said;
}

void measure_calls(const trust::Instrument& trust, bool writes) {
    const SaidOfCalls said = tried_elsewhere();
    trust.figure("words.calls", static_cast<double>(said.tried));
    bad(trust, "calls_silent", said.silent);
    bad(trust, "calls_unclear", said.other + said.several_lines + said.crashed);
    bad(trust, "calls_changed", compared(said.texts, "calls.txt", writes, true));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<char*> rest = {argv[0]};
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--write" || word == "files" || word == "lines" || word == "calls")
            words.push_back(word);
        else
            rest.push_back(argv[i]);
    }
    const auto has = [&](const char* word) {
        return std::find(words.begin(), words.end(), word) != words.end();
    };
    const bool writes = has("--write"), all = words.size() == (writes ? 1 : 0);
    const auto measure = [&](trust::Instrument trust) {
        if (writes)
            trust.scale = trust::Scale::full;
        limit_memory();
        const tests::Folder own;
        use_folder_of_fixed_length(own);
        if (all || has("calls"))
            measure_calls(trust, writes);
        if (all || has("lines"))
            measure_lines(trust, writes);
        if (all || has("files"))
            measure_files(trust, writes);
    };
    return trust::run("words", "what programs and the library say of wrong input",
                      static_cast<int>(rest.size()), rest.data(), measure);
}
