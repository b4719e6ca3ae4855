// `make chapters`: fills the chapters and README.md, draws their figures, or (--check) says what is stale.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "autograd/base/check.h"
#include "nn/checkpoint/file.h"
#include "tests/chapters/chapter.h"
#include "tests/traps/museum.h"

using namespace plaingrad;
using namespace plaingrad::chapters;
using autograd::Error;
using autograd::join;

namespace {

const std::string kFront = "README.md";  // its numbers are of benchmarks, which no chapter computes
const std::vector<std::string> kPages = {
    "autograd/README.md",         "nn/README.md",   "nn/training.md",
    "models/README.md",           "apps/README.md", "tests/traps/README.md",
    "autograd/kernels/README.md", "nn/machines.md", kFront};

class Keeper {
public:
    explicit Keeper(bool check) : check_(check) {}
    void keep(const std::string& path, const std::string& text) {
        const std::string now = std::filesystem::exists(path) ? read_text(path) : "";
        if (now == text)
            return;
        if (check_)
            return complain(
                join(path, ":", first_difference(now, text), ": stale; `make chapters` renews it"));
        if (const std::filesystem::path folder = std::filesystem::path(path).parent_path(); !folder.empty())
            std::filesystem::create_directories(folder);
        nn::checkpoint::replace_file(path, text);
        std::cout << "  filled " << path << '\n';
    }
    void complain(const std::string& what) {
        std::cerr << what << '\n';
        ++faults_;
    }
    int faults() const { return faults_; }

private:
    static std::ptrdiff_t first_difference(const std::string& a, const std::string& b) {
        std::size_t i = 0;
        while (i < a.size() && i < b.size() && a[i] == b[i])
            ++i;
        return 1 + std::count(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(i), '\n');
    }
    bool check_;
    int faults_ = 0;
};

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

// nn/figures/masks.svg is a figure of the pages in nn.
bool is_figure_of(const std::vector<std::string>& pages, const Figure& figure) {
    const std::string folder = figure.file.substr(0, figure.file.find("/figures/"));
    return std::any_of(pages.begin(), pages.end(), [&](const std::string& page) {
        return std::filesystem::path(page).parent_path() == folder;
    });
}

// What is computed for no chapter, and drawings that no chapter shows.
void find_orphans(const Computed& all, const std::vector<std::string>& used, Keeper& keeper) {
    for (const Section& section : all.sections)
        if (!contains(used, section.name))
            keeper.complain(section.name + ": no chapter shows this section");
    for (const Figure& figure : all.figures)
        if (!contains(used, figure.file))
            keeper.complain(figure.file + ": no chapter shows this figure");
    for (const std::string& page : kPages) {
        const std::filesystem::path folder = std::filesystem::path(page).parent_path() / "figures";
        if (std::filesystem::exists(folder))
            for (const auto& entry : std::filesystem::directory_iterator(folder))
                if (entry.path().extension() == ".svg" && !contains(used, entry.path().string()))
                    keeper.complain(entry.path().string() + ": no chapter shows this drawing");
    }
}

int run(bool check, const Request& request, const std::vector<std::string>& paths) {
    const Computed museum = tests::museum(tests::traps(), read_text("tests/traps/curves.csv"));
    const Adds traps(museum.sections, museum.figures);
    const Computed& all = computed();
    Keeper keeper(check);
    std::vector<std::string> used;
    for (const Figure& figure : all.figures)
        if (figure.effort <= request.most && is_figure_of(paths, figure))
            keeper.keep(figure.file, figure.draw());
    for (const std::string& path : paths) {
        const Chapter chapter = fill(path, all, request);
        keeper.keep(path, chapter.text);
        used.insert(used.end(), chapter.used.begin(), chapter.used.end());
        if (path != kFront)
            for (const Found& found : chapter.unexplained)
                keeper.complain(
                    join(path, ":", found.line, ": ", found.number, " is computed nowhere in this chapter"));
    }
    if (paths.size() == kPages.size())
        find_orphans(all, used, keeper);
    return keeper.faults() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    bool check = false;
    Request request;
    std::vector<std::string> paths;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--check")
            check = true;
        else if (word == "--quick")
            request.most = Effort::quick;
        else if (word == "--times")
            request.times = true;
        else if (contains(kPages, word))
            paths.push_back(word);
        else {
            std::cerr << "usage: chapters [--check] [--quick] [--times] [PAGE.md...]\n";
            return 2;
        }
    }
    std::signal(SIGXFSZ, SIG_IGN);  // a file above the limit is an error with a message
    try {
        return run(check, request, paths.empty() ? kPages : paths);
    } catch (const std::exception& error) {
        std::cerr << "chapters: " << error.what() << '\n';
        return 1;
    }
}
