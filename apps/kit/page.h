// The page that shows a training run: one HTML file that needs nothing else, also no network. run_page.html
// is all of it but the data. It draws by its own script; its policy allows that script and that style, by
// their hashes, and nothing else.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::kit {

struct PageRun {
    std::string name;   // where there are several: the folder's
    std::string log;    // CSV, as nn::TrainingLog writes it
    std::string lines;  // what a Recorder has recorded
};

// One run, or several to be compared. While a run goes on, the page loads itself again after `reload`
// seconds; 0: never.
std::string html_page(const std::string& title, const std::vector<PageRun>& runs, int64_t reload = 0);

// Before a page is written: throws Error if this file cannot be, or if it is something else than such a page.
void check_page(const std::string& file);

}  // namespace plaingrad::kit
