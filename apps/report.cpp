// Makes the page of a training run that was saved, or of several runs to compare them. While a model trains,
// --report does the same.

#include "apps/kit/run.h"
#include "autograd/base/list.h"
#include "nn/checkpoint/file.h"

using namespace plaingrad;

namespace {

// "" for a file that is not there: a page shows what there is.
std::string text_of(const std::string& file) {
    return nn::checkpoint::exists(file) ? nn::checkpoint::read_file(file) : "";
}

kit::PageRun read(const std::string& folder) {
    const kit::PageRun run = {folder, text_of(nn::checkpoint::in_folder(folder, "log.csv")),
                              text_of(nn::checkpoint::in_folder(folder, "report.jsonl"))};
    autograd::check(!run.log.empty() || !run.lines.empty(), folder,
                    ": there is no run in this folder (no log.csv, no report.jsonl)");
    return run;
}

void main_program(kit::Options& options) {
    std::vector<std::string> folders;
    std::string file;
    options.rest("RUN...", "the folders that were given to --save", folders, {.min = 1});
    options.add("--out", "FILE.html", "the page; default: report.html in the first folder", file);
    options.parse();
    if (file.empty())
        file = nn::checkpoint::in_folder(folders[0], "report.html");
    const auto runs = autograd::mapped(folders, read);  // first, to say what is wrong with them
    kit::check_page(file);
    nn::checkpoint::replace_file(file, kit::html_page(models::listed(folders), runs));
    kit::say("report: " + kit::as_line(file));
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "report", argc, argv,
        {{"", "makes a page that shows a training run, or compares several", main_program}});
}
