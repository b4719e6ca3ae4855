// Strings that end a text while it is being written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plaingrad::models::text {

// The text ends before the first of these strings. Its pieces come one after the other, and may cut a string
// anywhere: so the end of what has come is held back as long as it may be the beginning of such a string. Of
// several strings the one that is complete first counts; of those that end at the same byte, the longest.
class Stops {
public:
    // Throws Error for an empty string.
    explicit Stops(std::vector<std::string> strings);

    // What is now known to belong to the text. Once a string was found, nothing does.
    std::string add(std::string_view piece);
    bool found() const { return found_; }
    std::string finish();  // what was held back, if the text ends here

private:
    std::vector<std::string> strings_;
    std::string held_;
    bool found_ = false;
};

}  // namespace plaingrad::models::text
