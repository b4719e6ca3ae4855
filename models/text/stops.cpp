#include "models/text/stops.h"

#include <algorithm>
#include <utility>

#include "autograd/base/check.h"

namespace plaingrad::models::text {

Stops::Stops(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (const std::string& one : strings_)
        autograd::check(!one.empty(), "[Stops] a string that ends the text must not be empty");
}

std::string Stops::add(std::string_view piece) {
    std::string certain;
    for (std::size_t i = 0; i < piece.size() && !found_; ++i) {
        held_ += piece[i];
        std::size_t whole = 0, begun = 0;  // the longest string, and beginning of one, that ends here
        for (const std::string& one : strings_) {
            whole = std::max(whole, held_.ends_with(one) ? one.size() : 0);
            for (std::size_t n = std::min(one.size() - 1, held_.size()); n > begun; --n)
                if (held_.ends_with(std::string_view(one).substr(0, n)))
                    begun = n;
        }
        found_ = whole > 0;
        certain += held_.substr(0, held_.size() - (found_ ? whole : begun));
        held_ = found_ ? "" : held_.substr(held_.size() - begun);
    }
    return certain;
}

std::string Stops::finish() { return std::exchange(held_, ""); }

}  // namespace plaingrad::models::text
