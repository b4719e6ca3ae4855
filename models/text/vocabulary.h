// Words and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/text/specials.h"

namespace plaingrad::models::text {

// Ids 0 to 3 are <pad> <sos> <eos> <unk>; words have the ids from 4 on, in the order in which they were
// added. A word of the data that is spelled "<eos>" is a word like any other: the reserved ids cannot be
// reached from text.
class Vocabulary {
public:
    int32_t add(std::string_view word);       // its id, new or old
    int32_t id(std::string_view word) const;  // kUnk if it was never added
    // The word of an id, "<unk>" and so on for the reserved ones. Throws Error for an id out of range.
    const std::string& word(int32_t id) const;
    int64_t size() const { return static_cast<int64_t>(words_.size()); }

    // A sentence of words, separated by spaces and tabs, and back.
    std::vector<int32_t> add_all(std::string_view sentence);
    std::vector<int32_t> encode(std::string_view sentence) const;
    std::string decode(const std::vector<int32_t>& ids) const;
    // The words of a sentence that were never added.
    std::vector<std::string> unknown(std::string_view sentence) const;

private:
    std::vector<std::string> words_ = {"<pad>", "<sos>", "<eos>", "<unk>"};
    std::unordered_map<std::string, int32_t> ids_;
};

// The words of a sentence, separated by spaces and tabs.
std::vector<std::string> split_words(std::string_view sentence);

}  // namespace plaingrad::models::text
