// Scores and splits text for compare_text.py.
//
// usage: text bleu TOKENIZED LOWER HYPOTHESES REFERENCES   (0 or 1)
//            writes the score, with all its digits, the lengths, and what `translate score` prints
//        text learn MERGES TEXT                  writes the codes
//        text apply CODES TEXT                   writes each line in pieces
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>

#include "autograd/base/check.h"
#include "models/text/bleu.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/tokenizer/learn_merges.h"

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
    const text::BleuOptions options = {.tokenized = words[0] == "1", .lower_case = words[1] == "1"};
    const text::BleuScore bleu = text::bleu(lines_of(words[2]), lines_of(words[3]), options);
    std::cout << std::setprecision(17) << bleu.score << ' ' << bleu.hyp_len << ' ' << bleu.ref_len << '\n';
    for (std::size_t n = 0; n < 4; ++n)
        std::cout << bleu.matches[n] << ' ' << bleu.totals[n] << ' ' << bleu.precisions[n] << '\n';
    std::cout << to_string(bleu, options) << '\n';
}

void learn(const Words& words) {
    text::tokenizer::WordCounts counts;
    for (const std::string& line : lines_of(words[1]))
        counts.add_line(line);
    const auto merges = text::tokenizer::learn_word_merges(counts, std::stoll(words[0]));
    std::cout << text::tokenizer::codes_of(merges.rules);
}

// The vocabulary is learned from the same lines, and has all of their pieces.
void apply(const Words& words) {
    const Words lines = lines_of(words[1]);
    const text::Tokenizer tokenizer = text::learn_pieces(
        {lines.begin(), lines.end()}, {.tokenized = true, .codes = read(words[0]), .codes_file = words[0]});
    for (const std::string& line : lines) {
        std::string written;
        for (const std::string& piece : tokenizer.pieces(line)) {
            const bool ends = piece.ends_with("</w>");
            written.append(written.empty() ? "" : " ");
            written.append(ends ? piece.substr(0, piece.size() - 4) : piece + "@@");
        }
        std::cout << written << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string task = argc > 1 ? argv[1] : "";
    const Words words(argv + std::min(argc, 2), argv + argc);
    try {
        if (task == "bleu" && words.size() == 4)
            score(words);
        else if (task == "learn" && words.size() == 2)
            learn(words);
        else if (task == "apply" && words.size() == 2)
            apply(words);
        else
            autograd::check(false, "usage: text bleu|learn|apply ...; see tests/trust/peers/text.cpp");
    } catch (const autograd::Error& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
