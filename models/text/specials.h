// Ids with a special meaning. They belong to a vocabulary, and so to the model that was trained with it:
// GPT-2 has a single one (50256, which ends a text); in Marian, the start is the last id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::models::text {

// The ids that the vocabularies of models/text reserve: no word and no character has one of these.
enum SpecialId : int32_t { kPad = 0, kSos = 1, kEos = 2, kUnk = 3, kFirstFreeId = 4 };

inline bool contains(const std::vector<int32_t>& ids, int32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The special ids in a model's configuration. The defaults fit the vocabularies of models/text.
struct Specials {
    int32_t start = kSos;                // what a decoder reads before a sentence's first token
    std::vector<int32_t> ends = {kEos};  // each of them ends a sentence
    int32_t pad = kPad;                  // pads short sentences; Tokens::kNoPadding: there is none
    // Occur in no sentence, so they are never generated. A language model of such a vocabulary adds kUnk.
    std::vector<int32_t> never = {kPad, kSos};

    // The end of the sentences in the training data. Throws Error if there is none.
    int32_t end() const {
        autograd::check(!ends.empty(), "[Specials] there is no end; set `ends` in the configuration");
        return ends.front();
    }
    bool is_end(int32_t id) const { return contains(ends, id); }

    template <class Self, class Field>
    static void fields(Self& c, Field& field) {  // see models/config.h
        field("start", c.start);
        field("ends", c.ends);
        field("pad", c.pad);
        field("never", c.never);
    }
};

}  // namespace plaingrad::models::text
