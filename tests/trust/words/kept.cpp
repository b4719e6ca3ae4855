#include "tests/trust/words/kept.h"

#include <cstdio>
#include <fstream>

#include "autograd/base/check.h"

namespace plaingrad::trust::words {

namespace {

constexpr const char* kBetween = "; ";
constexpr const char* kPlaces = " | ";

void add_places(Texts& texts, const std::string& what, const std::string& places, const std::string& text) {
    std::size_t begin = 0;
    for (std::size_t end; (end = places.find(kBetween, begin)) != places.npos; begin = end + 2)
        texts[{what, places.substr(begin, end - begin)}] = text;
    texts[{what, places.substr(begin)}] = text;
}

}  // namespace

Texts read_kept(const std::string& path) {
    Texts texts;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        const std::size_t tab = line.find('\t');
        autograd::check(tab != line.npos, path, ": expected what<TAB>text, got '", line, "'");
        const std::string left = line.substr(0, tab), text = line.substr(tab + 1);
        const std::size_t bar = left.find(kPlaces);
        if (bar == left.npos)
            texts[{left, ""}] = text;
        else
            add_places(texts, left.substr(0, bar), left.substr(bar + 3), text);
    }
    return texts;
}

void write_kept(const std::string& path, const Texts& texts) {
    std::map<std::pair<std::string, std::string>, std::string> lines;  // what, text -> places
    for (const auto& [one, text] : texts) {
        if (text == kRight)
            continue;
        std::string& places = lines[{one.first, text}];
        places += (places.empty() ? "" : kBetween) + one.second;
    }
    std::ofstream out(path);
    for (const auto& [what_text, places] : lines)
        out << what_text.first << (places.empty() ? "" : kPlaces) << places << '\t' << what_text.second
            << '\n';
    autograd::check(out.flush().good(), path, ": cannot be written");
}

int64_t count_changed(const Texts& texts, const std::string& path) {
    const Texts kept = read_kept(path);
    int64_t changed = 0;
    for (const auto& [one, text] : texts) {
        const auto at = kept.find(one);
        const std::string expected = at == kept.end() ? kRight : at->second;
        if (text == expected)
            continue;
        if (++changed <= 20)
            std::printf("changed: %s | %s\n  kept: %s\n  now:  %s\n", one.first.c_str(), one.second.c_str(),
                        expected.c_str(), text.c_str());
    }
    return changed;
}

int64_t count_missing(const Texts& texts, const std::string& path) {
    int64_t missing = 0;
    for (const auto& [one, text] : read_kept(path))
        if (!texts.contains(one) && ++missing <= 20)
            std::printf("no longer tried: %s | %s\n", one.first.c_str(), one.second.c_str());
    return missing;
}

std::string printable(const std::string& text) {
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            line += "\\n";
        } else if (byte < 0x20 || byte == 0x7f) {
            char code[8];
            std::snprintf(code, sizeof code, "<%02x>", byte);
            line += code;
        } else {
            line += c;
        }
    }
    return line;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

}  // namespace plaingrad::trust::words
