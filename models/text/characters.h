// Characters and their ids: the vocabulary of a model that reads and writes letter by letter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/specials.h"

namespace plaingrad::models::text {

// Ids 0 to 3 are reserved, as everywhere; symbols have the ids from 4 on, in their order. A symbol is a
// character of UTF-8 (a Unicode scalar value), or a byte: with all 256 of them any file can be read, and none
// is unknown.
class Characters {
public:
    Characters() = default;  // none; UTF-8
    static Characters all_bytes();

    // Adds those that occur in a text; ids are final when all are there. Throws Error naming `where` and the
    // line if it is not UTF-8; the text's first line is number `line`.
    void add(std::string_view text, const std::string& where, int64_t line = 1);

    // Ids are below it.
    int64_t size() const { return kFirstFreeId + static_cast<int64_t>(symbols_.size()); }
    bool are_bytes() const { return bytes_; }

    bool contains(std::string_view symbol) const { return find(symbol) != kUnk; }

    // One id for each symbol. Throws Error naming `where`, the line and the place in it for a character that
    // the vocabulary lacks, unless `unknown` counts them, which leaves them out; and for what is not UTF-8.
    std::vector<int32_t> encode(std::string_view text, const std::string& where, int64_t line = 1,
                                int64_t* unknown = nullptr) const;
    // Throws Error for an id that is reserved or out of range.
    const std::string& decode(int32_t id) const;
    std::string decode(const std::vector<int32_t>& ids) const;

    // As UTF-8 text, for the metadata of a file, and back. Throws FileError naming `path` for what
    // `description` cannot have written.
    std::string description() const;
    static Characters from_description(const std::string& description, const std::string& path);

private:
    int32_t find(std::string_view symbol) const;  // its id, or kUnk

    bool bytes_ = false;
    std::vector<std::string> symbols_;  // ascending: in UTF-8 the order of bytes is that of code points
};

}  // namespace plaingrad::models::text
