#include "apps/kit/page.h"

#include <string_view>

#include "apps/kit/json.h"

namespace plaingrad::kit {

extern const std::string_view run_page;  // run_page.html, compiled in by the Makefile

std::string html_page(const std::string& title, const std::vector<PageRun>& runs, int64_t reload) {
    std::vector<std::vector<std::string>> all;
    for (const PageRun& run : runs)
        all.push_back({run.name, run.log, run.lines});
    std::string data = json_array(title, reload, all);
    // "</script>" in a text would end the data.
    for (std::size_t at = data.find('<'); at != data.npos; at = data.find('<', at))
        data.replace(at, 1, "\\u003c");
    std::string text(run_page);
    constexpr std::string_view place = "DATA</script>";
    return text.replace(text.find(place), 4, data);
}

}  // namespace plaingrad::kit
