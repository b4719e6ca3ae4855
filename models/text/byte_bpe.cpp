#include "models/text/byte_bpe.h"

#include "autograd/base/check.h"
#include "models/text/unicode.h"
#include "nn/utf8.h"

namespace plaingrad::models::text {
namespace {

enum class Kind { letter, number, space, sign };

Kind kind(char32_t c) {
    return is_letter(c) ? Kind::letter : is_number(c) ? Kind::number : is_space(c) ? Kind::space : Kind::sign;
}

}  // namespace

std::string_view first_pre_token(std::string_view text) {
    for (const std::string_view contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (text.starts_with(contraction))
            return text.substr(0, contraction.size());
    const std::size_t start = text.starts_with(' ') && text.size() > 1 ? 1 : 0;
    const Kind first = kind(nn::first_code_point(text.substr(start)).code);
    std::size_t last = 0, end = start;  // of the run of characters of the first one's kind
    while (end < text.size()) {
        const auto [code, length] = nn::first_code_point(text.substr(end));
        if (kind(code) != first)
            break;
        last = end;
        end += length;
    }
    // The last character of white space belongs to the word after it, unless it is the only one.
    const bool shorter = first == Kind::space && end < text.size() && last > 0;
    return text.substr(0, shorter ? last : end);
}

ByteBpe::ByteBpe() {
    char32_t other = 0x100;
    for (const bool shown : {true, false})
        for (int byte = 0; byte < 256; ++byte)
            if (shown == ((byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad))) {
                std::string symbol;
                nn::append_utf8(symbol, shown ? static_cast<char32_t>(byte) : other++);
                symbols_[byte] = merges_.symbols.add(symbol);
                bytes_.push_back(static_cast<char>(byte));
            }
}

std::vector<Symbol> ByteBpe::symbols(std::string_view bytes) const {
    std::vector<Symbol> all;
    for (const char byte : bytes)
        all.push_back({symbols_[static_cast<unsigned char>(byte)], 1});
    return all;
}

ByteBpe ByteBpe::learn(std::string_view text, int64_t merges, int64_t min_count) {
    WordCounts counts;
    while (!text.empty()) {
        const std::string_view word = first_pre_token(text);
        counts.add(word);
        text.remove_prefix(word.size());
    }
    ByteBpe bpe;
    std::vector<Merges::Word> words;
    for (int64_t i = 0; i < counts.size(); ++i)
        words.push_back({bpe.symbols(counts.word(i)), counts.count(i)});
    bpe.merges_.learn(std::move(words), merges, min_count);
    return bpe;
}

ByteBpe ByteBpe::from_merges(std::string_view merges, const std::string& where) {
    ByteBpe bpe;
    bpe.merges_.read(merges, where, true);
    return bpe;
}

std::vector<int32_t> ByteBpe::encode(std::string_view text) const {
    MergeDropout none;
    std::vector<int32_t> ids;
    while (!text.empty()) {
        const std::string_view word = first_pre_token(text);
        std::vector<Symbol> all = symbols(word);
        merges_.apply(all, none);
        for (const Symbol& symbol : all)
            ids.push_back(symbol.id - kFirstFreeId);
        text.remove_prefix(word.size());
    }
    return ids;
}

std::string ByteBpe::decode(const std::vector<int32_t>& ids) const {
    std::string text;
    for (const int32_t id : ids) {
        autograd::check(id >= 0 && id < size(), "[ByteBpe] id ", id, " is outside the vocabulary of ",
                        size());
        if (id == end_of_text()) {
            text.append("<|endoftext|>");
            continue;
        }
        std::string_view symbol = merges_.symbols.word(id + kFirstFreeId);
        while (!symbol.empty()) {
            const std::string_view byte = symbol.substr(0, nn::utf8_length(symbol));
            text.push_back(bytes_[static_cast<std::size_t>(merges_.symbols.id(byte) - kFirstFreeId)]);
            symbol.remove_prefix(byte.size());
        }
    }
    return text;
}

}  // namespace plaingrad::models::text
