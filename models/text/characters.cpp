#include "models/text/characters.h"

#include <algorithm>

#include "autograd/base/check.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::text {

using autograd::check;
using nn::checkpoint::check_file;

// A description is the first of these, or starts with the second.
static const std::string kBytes = "bytes", kCharacters = "characters:";

// The character that starts at `at`. The text is UTF-8.
static std::string_view character(std::string_view text, std::size_t at) {
    return text.substr(at, nn::utf8_length(text.substr(at)));
}

static void check_utf8(std::string_view text, const std::string& where, int64_t line) {
    const std::size_t at = find_invalid_utf8(text);
    if (at == std::string_view::npos)
        return;
    const std::string_view before = text.substr(0, at);
    line += std::count(before.begin(), before.end(), '\n');
    throw autograd::Error(
        autograd::join(where, ":", line, ": byte ", at - before.rfind('\n'),  // npos is -1
                       " of this line is not UTF-8; convert the text, e.g. with iconv -t UTF-8"));
}

void Characters::add(std::string_view text, const std::string& where, int64_t line) {
    check_utf8(text, where, line);
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view symbol = character(text, at);
        if (!contains(symbol))
            symbols_.emplace(std::lower_bound(symbols_.begin(), symbols_.end(), symbol), symbol);
        at += symbol.size();
    }
}

Characters Characters::all_bytes() {
    Characters all;
    all.bytes_ = true;
    for (int byte = 0; byte < 256; ++byte)
        all.symbols_.emplace_back(1, static_cast<char>(byte));
    return all;
}

int32_t Characters::find(std::string_view symbol) const {
    const auto place = std::lower_bound(symbols_.begin(), symbols_.end(), symbol);
    const bool found = place != symbols_.end() && *place == symbol;
    return found ? kFirstFreeId + static_cast<int32_t>(place - symbols_.begin()) : int32_t{kUnk};
}

std::vector<int32_t> Characters::encode(std::string_view text, const std::string& where, int64_t line,
                                        int64_t* unknown) const {
    if (!bytes_)
        check_utf8(text, where, line);
    std::vector<int32_t> ids;
    std::size_t line_start = 0;  // in ids
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view symbol = bytes_ ? text.substr(at, 1) : character(text, at);
        const int32_t id = find(symbol);
        if (id != kUnk)
            ids.push_back(id);
        else if (unknown != nullptr)
            ++*unknown;
        else
            throw autograd::Error(autograd::join(where, ":", line, ": character ",
                                                 ids.size() - line_start + 1, " of this line is ",
                                                 nn::checkpoint::quote(symbol), ", which is not among the ",
                                                 symbols_.size(), " that the model knows"));
        at += symbol.size();
        if (symbol == "\n") {
            ++line;
            line_start = ids.size();
        }
    }
    return ids;
}

const std::string& Characters::decode(int32_t id) const {
    check(id >= kFirstFreeId && id < size(), "[characters] ids of characters are ", int{kFirstFreeId}, " .. ",
          size() - 1, ": got ", id);
    return symbols_[static_cast<std::size_t>(id - kFirstFreeId)];
}

std::string Characters::decode(const std::vector<int32_t>& ids) const {
    std::string text;
    for (const int32_t id : ids)
        text += decode(id);
    return text;
}

std::string Characters::description() const {
    std::string text = kCharacters;
    for (const std::string& symbol : symbols_)
        text += symbol;
    return bytes_ ? kBytes : text;
}

Characters Characters::from_description(const std::string& text, const std::string& path) {
    if (text == kBytes)
        return all_bytes();
    check_file(text.starts_with(kCharacters), path, ": [characters] a description must be '", kBytes,
               "', or start with '", kCharacters, "'");
    Characters all;
    all.add(std::string_view(text).substr(kCharacters.size()), path + ": [characters]");
    check_file(all.description() == text, path,
               ": [characters] a description must have each character once, in order");
    return all;
}

}  // namespace plaingrad::models::text
