#include "tests/fuzz/fuzz_targets.h"

#include <charconv>
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

std::string to_line(const std::string& bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string line;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\')
            line += "\\\\";
        else if (byte < 0x20 || byte > 0x7e)
            line.append("\\x") += {kDigits[byte >> 4], kDigits[byte & 15]};
        else
            line += c;
    }
    return line;
}

std::string from_line(const std::string& line) {
    std::string bytes;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\\') {
            bytes += line[i];
        } else if (line.compare(i, 2, "\\x") == 0) {
            unsigned byte = 0;
            std::from_chars(line.data() + i + 2, line.data() + i + 4, byte, 16);
            bytes += static_cast<char>(byte);
            i += 3;
        } else {
            bytes += line[++i];
        }
    }
    return bytes;
}

std::vector<std::string> kept(const Target& target) {
    std::vector<std::string> all;
    for (const std::string folder : {"tests/fuzz/corpus/", "tests/fuzz/found/"}) {
        std::istringstream lines(tests::content(folder + target.name + ".txt"));
        for (std::string line; std::getline(lines, line);)
            all.push_back(from_line(line));
    }
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
