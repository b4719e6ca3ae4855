#include "models/text/byte_bpe.h"

#include "autograd/base/check.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::text {

ByteBpe::ByteBpe() {
    for (const char c : byte_alphabet().order) {
        const auto byte = static_cast<unsigned char>(c);
        symbols_[byte] = merges_.symbols.add(byte_alphabet().character[byte]);
    }
}

std::vector<int32_t> ByteBpe::symbols(std::string_view bytes) const {
    std::vector<int32_t> all;
    for (const char byte : bytes)
        all.push_back(symbols_[static_cast<unsigned char>(byte)]);
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
    for (int64_t i = 0; i < counts.size(); ++i) {
        words.push_back({{}, counts.count(i)});
        for (const int32_t symbol : bpe.symbols(counts.word(i)))
            words.back().symbols.push_back({symbol, 1});
    }
    bpe.merges_.learn(std::move(words), merges, min_count);
    return bpe;
}

ByteBpe ByteBpe::from_merges(std::string_view merges, const std::string& where) {
    ByteBpe bpe;
    bpe.merges_.read(merges, where, true);
    return bpe;
}

void ByteBpe::save(const std::string& folder, int64_t max_length) const {
    using nn::checkpoint::in_folder;
    using nn::checkpoint::quote;
    using nn::checkpoint::replace_file;
    std::string vocabulary;
    for (int32_t id = 0; id < size(); ++id)
        vocabulary += autograd::join(
            id == 0 ? "{" : ", ",
            quote(id == end_of_text() ? "<|endoftext|>" : merges_.symbols.word(id + kFirstFreeId)), ": ", id);
    const std::string end = quote("<|endoftext|>");
    replace_file(in_folder(folder, "vocab.json"), {vocabulary, "}\n"});
    replace_file(in_folder(folder, "merges.txt"), {merges()});
    replace_file(in_folder(folder, "tokenizer_config.json"),
                 {autograd::join("{\n  \"tokenizer_class\": \"GPT2Tokenizer\",\n  \"bos_token\": ", end,
                                 ",\n  \"eos_token\": ", end, ",\n  \"unk_token\": ", end,
                                 ",\n  \"model_max_length\": ", max_length, "\n}\n")});
}

std::vector<int32_t> ByteBpe::encode(std::string_view text) const {
    std::vector<int32_t> ids;
    while (!text.empty()) {
        const std::string_view word = first_pre_token(text);
        std::vector<int32_t> all = symbols(word);
        merges_.apply(all);
        for (const int32_t symbol : all)
            ids.push_back(symbol - kFirstFreeId);
        text.remove_prefix(word.size());
    }
    return ids;
}

std::string ByteBpe::decode(const std::vector<int32_t>& ids) const {
    std::string text;
    for (const int32_t id : ids) {
        autograd::check(id >= 0 && id < size(), "[ByteBpe] id ", id, " is outside the vocabulary of ",
                        size());
        text.append(id == end_of_text() ? "<|endoftext|>"
                                        : *byte_alphabet().read(merges_.symbols.word(id + kFirstFreeId)));
    }
    return text;
}

}  // namespace plaingrad::models::text
