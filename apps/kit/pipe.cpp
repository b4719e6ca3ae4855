#include "apps/kit/pipe.h"

#include <istream>

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "models/text/lines.h"

namespace plaingrad::kit {

void report_replaced(const std::string& where, int64_t bytes) {
    if (bytes > 0)
        say(as_line(
            autograd::join(name(), ": ", where, ": bytes that are not text, read as U+FFFD: ", bytes)));
}

void for_each_line(std::istream& in, const std::string& name,
                   const std::function<void(const std::string& line, const std::string& where)>& f) {
    std::string line;
    for (int64_t number = 1; models::text::next_line(in, line, name, number); ++number) {
        const std::string where = autograd::join(name, ":", number);
        int64_t replaced = 0;
        line = models::text::clean_line(line, where, replaced);
        report_replaced(where, replaced);
        f(line, where);
    }
}

}  // namespace plaingrad::kit
