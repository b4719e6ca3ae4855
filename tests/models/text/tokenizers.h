// What tests of tokenizers share.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/text/tokenizer.h"
#include "nn/checkpoint/file.h"
#include "tests/folder.h"

namespace plaingrad::tests {

// The text that a Stream writes, special tokens included.
inline std::string streamed(const models::text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    models::text::Tokenizer::Stream stream(tokenizer, false);
    std::string text;
    for (const int32_t id : ids)
        text += stream.add(id);
    return text + stream.finish();
}

// A tokenizer of a folder with these files: names and contents.
using Files = std::map<std::string, std::string>;
inline models::text::Tokenizer opened(const Files& files, const Folder& folder = Folder()) {
    for (const auto& [name, bytes] : files)
        folder.write(name, bytes);
    return models::text::Tokenizer::open(folder.path);
}

// The one line that refuses them, without the folder: "FILE: what is wrong".
inline std::string refusal(const Files& files) {
    const Folder folder;
    try {
        opened(files, folder);
    } catch (const nn::checkpoint::FileError& error) {
        const std::string line = error.what();
        const bool is_one = line.starts_with(folder.path) && line.find('\n') == line.npos;
        return is_one ? line.substr(std::min(line.size(), folder.path.size() + 1))
                      : "not one line of it: " + line;
    }
    return "no error";
}

}  // namespace plaingrad::tests
