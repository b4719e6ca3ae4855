// What stands around the ids of one text or two: "[CLS] A [SEP] B [SEP]". A tokenizer's `post_processor`.
#pragma once

#include <cstdint>
#include <vector>

#include "models/text/tokenizer.h"
#include "models/text/tokenizer/normalizer.h"

namespace plaingrad::models::text::tokenizer {

class Template {
public:
    struct Item {
        bool is_text;
        int32_t id;  // of a special token; of a text 0 or 1
        int32_t type_id = 0;
    };

    // From the "post_processor" of a tokenizer.json; null: the texts alone. Throws FileError for any other,
    // by name.
    static Template from(const Json& part);
    // `cls` before the first text and `sep` after each.
    static Template bert(int32_t cls, int32_t sep);

    // texts: the ids of one or two. special: with the special tokens. max_length: see EncodeOptions.
    Encoding operator()(std::vector<std::vector<int32_t>> texts, bool special, int64_t max_length = 0) const;

    std::vector<Item> single = {{true, 0, 0}}, pair = {{true, 0, 0}, {true, 1, 1}};
};

}  // namespace plaingrad::models::text::tokenizer
