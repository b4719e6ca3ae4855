// Characters and their ids: the vocabulary of a model that reads and writes character by character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/specials.h"

namespace plaingrad::models::text {

// Ids 0 to 3 are reserved, as everywhere; symbols have the ids from 4 on, in ascending order. A symbol is a
// character of UTF-8 (a Unicode scalar value), or a byte: with all 256 bytes, any file can be read, and no
// symbol is unknown.
class Characters {
public:
    Characters() = default;  // none; UTF-8
    static Characters all_bytes();

    // Adds the characters of a text. Ids are final once all have been added. Throws Error naming `where` and
    // the line if the text is not UTF-8. line: the number of the text's first line.
    void add(std::string_view text, const std::string& where, int64_t line = 1);

    // All ids are below size().
    int64_t size() const { return kFirstFreeId + static_cast<int64_t>(symbols_.size()); }
    bool are_bytes() const { return bytes_; }

    bool contains(std::string_view symbol) const { return find(symbol) != kUnk; }

    // One id for each symbol. Throws Error naming `where`, the line and the position in it for a character
    // that is not in the vocabulary, and for text that is not UTF-8. If `unknown` is given, unknown
    // characters are counted there and left out.
    std::vector<int32_t> encode(std::string_view text, const std::string& where, int64_t line = 1,
                                int64_t* unknown = nullptr) const;
    // Throws Error for an id that is reserved or out of range.
    const std::string& decode(int32_t id) const;
    std::string decode(const std::vector<int32_t>& ids) const;

    // As UTF-8 text, for the metadata of a file, and back. Throws FileError naming `path` for a text that
    // `description` cannot have written.
    std::string description() const;
    static Characters from_description(const std::string& description, const std::string& path);

private:
    int32_t find(std::string_view symbol) const;  // its id, or kUnk

    bool bytes_ = false;
    std::vector<std::string> symbols_;  // ascending: in UTF-8 the order of bytes is that of code points
};

}  // namespace plaingrad::models::text
