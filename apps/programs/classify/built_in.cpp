#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "apps/programs/classify/data.h"

namespace plaingrad::classify {

using autograd::Rng;

extern const std::string_view requests;  // requests.txt

namespace {

// The indented lines of requests.txt, by the line above them. "alarm": the templates of this label; "{city}":
// what can fill this slot; and the same with "held out: " before it.
using Parts = std::map<std::string, std::vector<std::string>>;

const std::string kHeldOut = "held out: ";

Parts read_parts() {
    Parts parts;
    std::string name;
    std::istringstream lines{std::string(requests)};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("    "))
            parts[name].push_back(line.substr(4));
        else
            name = line;
    return parts;
}

// A template with its {slots} filled at random. part: "" or kHeldOut.
std::string fill(const std::string& sentence, const Parts& parts, const std::string& part, const Rng& rng) {
    std::string text = sentence;
    uint64_t draws = 0;
    for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at)) {
        const std::string slot = text.substr(at, text.find('}', at) + 1 - at);
        const std::vector<std::string>& values = parts.at(part + slot);
        const int64_t value = rng.below(draws++, std::ssize(values));
        text.replace(at, slot.size(), values[static_cast<std::size_t>(value)]);
    }
    return text;
}

// Fills each template of a label so many times, and appends the distinct sentences.
void add_sentences(std::vector<Example>& to, const std::string& label, const Parts& parts,
                   const std::string& part, uint64_t draws, const Rng& rng) {
    std::set<std::string> texts;
    for (const std::string& sentence : parts.at(part + label))
        for (uint64_t i = 0; i < draws; ++i)
            texts.insert(fill(sentence, parts, part, rng.fork(sentence).fork(i)));
    for (const std::string& text : texts)
        to.push_back({label, text, "built in"});
}

}  // namespace

Corpus built_in_corpus(const Rng& rng) {
    const Parts parts = read_parts();
    Corpus corpus;
    for (const std::string& label : built_in_labels()) {
        add_sentences(corpus.training, label, parts, "", 12, rng);
        add_sentences(corpus.held_out, label, parts, kHeldOut, 8, rng);
    }
    return corpus;
}

std::vector<std::string> built_in_labels() {
    std::vector<std::string> labels;
    for (const auto& [name, lines] : read_parts())
        if (name[0] != '{' && !name.starts_with(kHeldOut))
            labels.push_back(name);
    return labels;
}

}  // namespace plaingrad::classify
