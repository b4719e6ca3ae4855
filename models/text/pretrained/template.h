// What stands around the ids of one text or two: "[CLS] A [SEP] B [SEP]". A tokenizer's `post_processor`.
#pragma once

#include <cstdint>
#include <vector>

#include "models/text/pretrained/part.h"

namespace plaingrad::models::text::pretrained {

// Ids, and for each the text to which it belongs (BERT's token types, 0 and 1).
struct Encoding {
    std::vector<int32_t> ids = {}, type_ids = {};
    bool cut = false;  // whether a text lost its end
};

class Template {
public:
    struct Item {
        bool is_text;
        int32_t id;  // of a special token; of a text 0 or 1
        int32_t type_id = 0;
    };

    // From the "post_processor" of a tokenizer.json; null: the texts alone. Throws FileError for any other,
    // by name.
    static Template from(const Part& part);
    // `cls` before the first text and `sep` after each.
    static Template bert(int32_t cls, int32_t sep);

    // texts: the ids of one or two. special: with the special tokens. max_length: see EncodeOptions.
    Encoding operator()(std::vector<std::vector<int32_t>> texts, bool special, int64_t max_length = 0) const;

    std::vector<Item> single = {{true, 0, 0}}, pair = {{true, 0, 0}, {true, 1, 1}};
};

}  // namespace plaingrad::models::text::pretrained
