// Encodes texts with the tokenizer of a folder, for compare_tokenizers.py.
//
// usage: tokenize FOLDER encode|decode|learn
//     encode  reads texts, each as its number of bytes, a line break and the bytes. Writes for each a line of
//             ids, one of those without special tokens, and three texts in hexadecimal: decoded, decoded
//             without special tokens, and what a stream returns.
//     decode  reads lines of ids. Writes for each two texts in hexadecimal: decoded, and decoded without
//             special tokens.
//     learn   reads a text, learns from it each kind of tokenizer that the library `tokenizers` can open, and
//             saves each in a folder of its own within FOLDER.
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

#include "autograd/base/check.h"
#include "models/text/learn_tokenizer.h"
#include "tests/models/text/tokenizers.h"

using namespace plaingrad;  // NOLINT
using models::text::Tokenizer;
using tests::streamed;
using Ids = std::vector<int32_t>;

namespace {

void write(const Ids& ids) {
    for (const int32_t id : ids)
        std::cout << id << ' ';
    std::cout << '\n';
}

void write(const std::string& text) {
    constexpr char digits[] = "0123456789abcdef";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        std::cout << digits[byte >> 4] << digits[byte & 15];
    }
    std::cout << '\n';
}

void encode(const Tokenizer& tokenizer) {
    std::size_t size = 0;
    while (std::cin >> size && std::cin.get() == '\n') {
        std::string text(size, '\0');
        std::cin.read(text.data(), static_cast<std::streamsize>(size));
        const Ids ids = tokenizer.encode(text);
        write(ids);
        write(tokenizer.encode(text, {.add_special_tokens = false}));
        write(tokenizer.decode(ids));
        write(tokenizer.decode(ids, {.skip_special_tokens = true}));
        write(streamed(tokenizer, ids));
    }
}

void decode(const Tokenizer& tokenizer) {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        const Ids ids{std::istream_iterator<int32_t>(words), {}};
        write(tokenizer.decode(ids));
        write(tokenizer.decode(ids, {.skip_special_tokens = true}));
    }
}

void learn(const std::string& folder) {
    using namespace models::text;  // NOLINT
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto save = [&](const char* kind, const Tokenizer& tokenizer) {
        std::filesystem::create_directories(folder + "/" + kind);
        tokenizer.save(folder + "/" + kind);
    };
    save("characters", learn_characters({text}));
    save("characters_of_lines", learn_characters({text}, true));
    save("bytes", bytes());
    save("bytes_of_lines", bytes(true));
    save("words", learn_words({text}));
    save("pieces_of_bytes", learn_pieces({text}, {.bytes = true, .merges = 500}));
    save("lower_pieces_of_bytes", learn_pieces({text}, {.bytes = true, .lower_case = true, .merges = 500}));
    save("word_piece", learn_word_piece(text, 1000));
    save("byte_pairs", learn_byte_pairs(text, 500));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: tokenize FOLDER encode|decode|learn\n";
        return 2;
    }
    std::ios::sync_with_stdio(false);
    try {
        const std::string task = argv[2];
        if (task == "learn") {
            learn(argv[1]);
            return 0;
        }
        const Tokenizer tokenizer = Tokenizer::open(argv[1]);
        (task == "decode" ? decode : encode)(tokenizer);
    } catch (const autograd::Error& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
