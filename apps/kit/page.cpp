#include "apps/kit/page.h"

#include <algorithm>
#include <string_view>

#include "autograd/base/text_stream.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::kit {

extern const std::string_view run_page;  // run_page.html, compiled in by the Makefile

// Of a long log, every n-th line, the last, and those with a validation, which have no empty field.
static std::string thinned(const std::string& log) {
    const int64_t every = 1 + std::count(log.begin(), log.end(), '\n') / 3000;
    autograd::TextReader lines(log);
    std::string kept;
    int64_t i = 0;
    for (std::string line; std::getline(lines, line); ++i)
        if (i % every == 0 || lines.peek() == EOF || line.find(",,") == line.npos)
            kept += line + (lines.eof() && !log.ends_with('\n') ? "" : "\n");
    return kept;
}

constexpr std::string_view kData = "<script type=\"application/json\" id=\"data\">";

void check_page(const std::string& file) {
    nn::checkpoint::check_can_replace(file);
    if (!nn::checkpoint::exists(file))
        return;
    const std::string text = nn::checkpoint::read_file(file);
    autograd::check(text.empty() || (text.starts_with("<!doctype html>") && text.find(kData) != text.npos),
                    file, ": this file is there already, and it is no page about a run; give another name");
}

std::string html_page(const std::string& title, const std::vector<PageRun>& runs, int64_t reload) {
    std::vector<std::vector<std::string>> all;
    for (const PageRun& run : runs)
        all.push_back({run.name, thinned(run.log), run.lines});
    int64_t replaced = 0;
    std::string data = models::text::replace_invalid_utf8(
        nn::checkpoint::JsonText::array({title, reload, all}).text, replaced);
    // "</script>" in a text would end the data.
    for (std::size_t at = data.find('<'); at != data.npos; at = data.find('<', at))
        data.replace(at, 1, "\\u003c");
    std::string text(run_page);
    return text.replace(text.find(kData) + kData.size(), std::string_view("DATA").size(), data);
}

}  // namespace plaingrad::kit
