// The keys of config.json, each by itself, to read and to write. What follows from several is in config.cpp.
#pragma once

#include <optional>

#include "models/hugging_face/config.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {

using nn::checkpoint::Json;
using nn::checkpoint::JsonText;

// "rope_scaling", and "rope_parameters" since transformers 5.
struct RopeKeys {
    std::optional<double> theta = {}, factor = {}, low_freq_factor = {}, high_freq_factor = {};
    std::string rope_type = "", type = "";  // `type` is the older name
    int64_t original_length = 0;
    bool given = false;  // not null, and not {}
};

// The keys that nobody knows. A file may have millions: only the first few are kept.
struct Unknown {
    std::string names = {};
    std::size_t count = 0;
    void add(std::string_view name);
    void note(std::vector<std::string>& notes) const;  // one note, if there are any
};

// A configuration while it is read. A 0 means that the number was not in the file; it follows from others.
struct Keys : ConfigJson {
    RopeKeys rope_scaling = {}, rope_parameters = {};
    double rope_theta = 10000;
    int64_t rope_original_length = 0;
    std::optional<int64_t> sliding_window = 4096;
    bool use_sliding_window = false;
    int64_t max_window_layers = 28;
    std::optional<int64_t> start_id = {}, pad_id = {};
    std::vector<int64_t> end_ids = {};
    int64_t n_labels = 2;
    std::string problem_type = {};
    Unknown unknown = {};
};

// The values of missing keys: those of transformers' GPT2Config(), BertConfig(), LlamaConfig() ...
Keys defaults(Family family);

// Reads a member. Throws FileError if it is refused.
void read_key(const Json& json, Keys& keys);

// Those of the ids that are in the vocabulary. Each other one gets a note; of very many, only the first.
std::vector<int32_t> valid_ids(const std::string& name, const std::vector<int64_t>& ids, int64_t vocabulary,
                               std::vector<std::string>& notes);

}  // namespace plaingrad::models::hugging_face
