#include "tests/fuzz/fuzz_targets.h"

#include <cstdio>
#include <sstream>

#include "nn/checkpoint/file.h"
#include "tests/folder.h"

namespace plaingrad::fuzz {

const std::vector<Target>& targets() {
    static const std::vector<Target> all = [] {
        std::vector<Target> targets;
        add_checkpoints(targets);
        add_folders(targets);
        add_words(targets);
        add_programs(targets);
        return targets;
    }();
    return all;
}

std::vector<std::string> lines_in(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        all.push_back(line);
    return all;
}

std::string to_line(const std::string& bytes) {
    std::string line;
    for (const char c : bytes)
        if (char code[5]; c < 0x20 || c > 0x7e) {
            std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
            line += code;
        } else {
            line.append(c == '\\' ? 2 : 1, c);
        }
    return line;
}

std::string from_line(const std::string& line) {
    std::string bytes;
    for (std::size_t i = 0; i < line.size(); ++i)
        if (line.compare(i, 2, "\\x") == 0) {
            bytes += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
            i += 3;
        } else {
            bytes += line[i] == '\\' ? line[++i] : line[i];
        }
    return bytes;
}

std::vector<std::string> kept(const Target& target) {
    std::vector<std::string> all;
    for (const std::string folder : {"tests/fuzz/corpus/", "tests/fuzz/found/"})
        for (const std::string& line : lines_in(tests::content(folder + target.name + ".txt")))
            all.push_back(from_line(line));
    return all;
}

bool accepts(const Target& target, const std::string& bytes) {
    try {
        target.run(bytes);
        return true;
    } catch (const autograd::Error& error) {
        const std::string text = error.what();
        expect(target.refusal == Refusal::any_error ||
                   dynamic_cast<const nn::checkpoint::FileError*>(&error) != nullptr,
               "a refusal must be a FileError: ", text);
        expect(!text.empty() && text.find('\n') == text.npos, "a refusal must be one line: ", text);
        return false;
    }
}

}  // namespace plaingrad::fuzz
