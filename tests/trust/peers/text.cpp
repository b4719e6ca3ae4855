// Scores and splits text for compare_text.py.
//
// usage: text bleu TOKENS SMOOTHING LOWER EFFECTIVE HYPOTHESES REFERENCE...   (LOWER, EFFECTIVE: 0 or 1)
//            writes the score, with all its digits, the lengths, and the signature
//        text learn MERGES MIN_COUNT TEXT        writes the codes
//        text apply CODES TEXT                   writes each line in pieces
//        text undo TEXT                          writes each line in words again
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>

#include "autograd/base/check.h"
#include "models/text/bleu.h"
#include "models/text/bpe.h"

using namespace plaingrad;          // NOLINT
using namespace plaingrad::models;  // NOLINT

namespace {

using Words = std::vector<std::string>;

std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    autograd::check(in.is_open(), path, ": not found");
    return {std::istreambuf_iterator<char>(in), {}};
}

Words lines_of(const std::string& path) {
    Words lines;
    std::ifstream in(path, std::ios::binary);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

void score(const Words& words) {
    const text::BleuOptions options = {.tokens = words[0],
                                       .smoothing = words[1],
                                       .lower_case = words[2] == "1",
                                       .effective_order = words[3] == "1"};
    std::vector<Words> references;
    for (std::size_t i = 5; i < words.size(); ++i)
        references.push_back(lines_of(words[i]));
    const text::BleuScore bleu = text::bleu(lines_of(words[4]), references, options);
    std::cout << std::setprecision(17) << bleu.score << ' ' << bleu.hyp_len << ' ' << bleu.ref_len << '\n';
    for (std::size_t n = 0; n < 4; ++n)
        std::cout << bleu.matches[n] << ' ' << bleu.totals[n] << ' ' << bleu.precisions[n] << '\n';
    std::cout << text::signature(options, references.size()) << '\n';
}

void learn(const Words& words) {
    text::WordCounts counts;
    for (const std::string& line : lines_of(words[2]))
        counts.add_line(line);
    std::cout << text::Bpe::learn(counts, std::stoll(words[0]), std::stoll(words[1])).codes();
}

void apply(const Words& words) {
    const text::Bpe bpe = text::Bpe::from_codes(read(words[0]), words[0]);
    for (const std::string& line : lines_of(words[1]))
        std::cout << bpe.apply(line) << '\n';
}

void undo(const Words& words) {
    for (const std::string& line : lines_of(words[0]))
        std::cout << text::Bpe::undo(line) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    const std::string task = argc > 1 ? argv[1] : "";
    const Words words(argv + std::min(argc, 2), argv + argc);
    try {
        if (task == "bleu" && words.size() >= 6)
            score(words);
        else if (task == "learn" && words.size() == 3)
            learn(words);
        else if (task == "apply" && words.size() == 2)
            apply(words);
        else if (task == "undo" && words.size() == 1)
            undo(words);
        else
            autograd::check(false, "usage: text bleu|learn|apply|undo ...; see tests/trust/peers/text.cpp");
    } catch (const autograd::Error& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
