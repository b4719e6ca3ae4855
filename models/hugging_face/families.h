// The families of models that are read and written. Each is one table (families.cpp): the keys of its
// config.json and the names of its tensors, each beside what it is here. Reading and writing follow from the
// same row.
#pragma once

#include <optional>

#include "models/hugging_face/config.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {

using nn::checkpoint::check_file;
using nn::checkpoint::Json;
using nn::checkpoint::JsonText;
using nn::checkpoint::quote;
using nn::checkpoint::shown;

// ---- Keys.

// The value of a key while config.json is read or written, so that one function says both.
struct Value {
    std::string_view name;
    const Json* file = nullptr;  // what is read, the whole of it; or nullptr: the file is written
    Json json = {};              // what is read
    std::string text = {};       // what is written; "": the key is left out
};

// What a key means: reads it into a configuration, or writes it. A missing one keeps its usual value. Throws
// FileError for a value that is refused. The functions are in keys.cpp.
using Meaning = void(Value&, ConfigJson&);
Meaning architectures, vocabulary, positions, width, layer_count, head_count, kv_heads, head_width,
    inner_width, inner_width_or_four, activation, norm_eps, attention_bias, feed_forward_bias, token_types,
    tied;
Meaning rope_theta, rope, window;
Meaning embedding_dropout, sublayer_dropout, hidden_dropout, attention_dropout, pooled_dropout;
Meaning labels, label_numbers, problem_type, start_id, end_ids, pad_id;

// A key that is honoured.
struct Key {
    std::string_view name;
    Meaning* meaning;
    std::string_view other = name;  // another name, which files may have instead
};
// A key that is refused, unless it has this value, or is empty or null and this value is not true.
struct Refused {
    std::string_view name;
    const char *only, *why;
};
// Keys that change no logits, or are honoured elsewhere.
using Ignored = std::vector<std::string_view>;

// For the members of a file: throws FileError for one that is refused, and notes the names of those that
// nobody knows.
void check_others(const Json::Items& members, const std::vector<Refused>& refused, const Ignored& ignored,
                  std::vector<std::string>& notes);

// ---- Tensors.

// A linear layer of theirs may be some columns of one of ours.
enum class Columns { all, query, key, value, gate, up };

// A layer of the file, and ours: its weight, and its bias if it has one. Or one of these alone, by its name.
struct Row {
    std::string theirs, ours;
    Columns columns = Columns::all;
    std::optional<Kind> kind = {};  // of a head: which models have it
    // In a model that is not tied another tensor counts: this one is written, as transformers does, and not
    // read.
    bool in_vain = false;
};

// ---- Families.

struct Architecture {
    std::string name;
    Kind kind;
    bool bare = false;
};

struct Family {
    std::string name;                         // model_type
    std::vector<Architecture> architectures;  // the first that fits is written
    ConfigJson usual;                         // the values of missing keys, as in transformers
    std::vector<Key> keys;                    // in the order in which they are read and written
    std::vector<Refused> refused = {};
    Ignored ignored = {};

    std::string prefix = {},
                layers = {};  // before the names of the stack, unless it is bare; and of its layers
    std::vector<Row> stack = {}, layer = {};  // ours: in the backbone; in each of its layers
    std::vector<Row> head = {};               // what follows the stack
    Ignored heads = {};      // how the names of all heads begin, also of those that are not read
    bool transposed = true;  // matrices are (out, in)
};

// Those that are read; ours, "plaingrad", is none of them.
const std::vector<Family>& families();
// Throws Error if there is none of this name.
const Family& family_of(const std::string& name);

// ---- What generation_config.json needs, too.

// Those of the ids that are in the vocabulary. Each other one gets a note.
std::vector<int32_t> valid_ids(std::string_view name, const std::vector<int64_t>& ids, int64_t vocabulary,
                               std::vector<std::string>& notes);

// The values of a list; or of null none, and else the one that it is.
Json::Items listed_in(const Json& json);

}  // namespace plaingrad::models::hugging_face
