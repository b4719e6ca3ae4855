#include "models/hugging_face/folder.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "models/hugging_face/tensors.h"
#include "models/hugging_face/weights.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models::hugging_face {
namespace {

using nn::checkpoint::Expected;
using nn::checkpoint::SafeTensors;

// The tensors to read. A tied output layer is a second name of the embedding.
std::vector<Expected> expected_of(const ConfigJson& c) {
    std::map<std::string, std::size_t> weights;
    std::vector<Expected> all;
    for (const FileTensor& t : tensors(c)) {
        if (t.use == FileTensor::Use::written)
            continue;
        const bool tied = c.tied && t.parameter == "output.table";
        const std::string weight =
            autograd::join(tied ? "backbone.embedding.tokens.table" : t.parameter, " ", t.first);
        all.push_back({t.name, t.shape, weights.emplace(weight, weights.size()).first->second});
    }
    return all;
}

// Each layer has tensors. config.json is not believed before they are there: to expect them takes memory.
void check_layers(const Folder& folder) {
    std::size_t there = 0;
    for (const SafeTensors& file : folder.files)
        there += file.entries().size();
    nn::checkpoint::check_file(static_cast<std::size_t>(folder.config.n_layers) <= there,
                               folder.file("config.json"), ": \"",
                               folder.config.family == Family::gpt2 ? "n_layer" : "num_hidden_layers",
                               "\" is ", folder.config.n_layers, ", but there are only ", there,
                               " tensors in ", folder.where, "; are both of the same model?");
}

// Turns are computed, not read, so nothing in the files limits their table: it may have 2^22 numbers (16
// MiB), or as many as the files.
void limit_turns(const std::vector<SafeTensors>& files, ConfigJson& c) {
    if ((of(c.family) & kRotary) == 0)
        return;
    int64_t most = int64_t{1} << 22, there = 0;
    for (const SafeTensors& file : files)
        for (const nn::checkpoint::Entry& entry : file.entries())
            there += (entry.end - entry.begin) / nn::checkpoint::size_of(entry.dtype);
    most = std::max<int64_t>(1, std::max(most, there) / c.block.head_dim);
    if (c.max_length <= most)
        return;
    c.notes.push_back(autograd::join("texts of up to ", most, " tokens, instead of ", c.max_length,
                                     ": a table of so many positions would be larger than the model"));
    c.max_length = most;
}

// What this model does not use; but that transformers writes some tensors in vain is no news.
void note_ignored(std::vector<std::string> names, ConfigJson& c) {
    for (const FileTensor& t : tensors(c))
        if (t.use == FileTensor::Use::written)
            std::erase(names, t.name);
    if (names.empty())
        return;
    const std::string more = names.size() > 1 ? autograd::join(" and ", names.size() - 1, " more") : "";
    c.notes.push_back(autograd::join(
        "tensors that this model does not use are ignored: ", nn::checkpoint::shown(names[0]), more));
}

// Where there is no config.json, says what there is instead, if it is known.
const std::string& with_config(const std::string& path) {
    if (nn::checkpoint::exists(nn::checkpoint::in_folder(path, "config.json")))
        return path;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) {
        nn::checkpoint::read(path);
        nn::checkpoint::check_file(false, path,
                                   ": a folder is needed, with the config.json of these tensors");
    }
    refuse_others(path);
    return path;
}

}  // namespace

Folder::Folder(const std::string& path_)
    : path(with_config(path_)), config(read_config(file("config.json"))) {
    const WeightFiles listed = weight_files(path);
    for (std::size_t i = 0; i < listed.paths.size(); ++i) {
        files.push_back(nn::checkpoint::read(listed.paths[i]));
        check_listed(listed, i, files.back().entries());
    }
    where = listed.index.empty() ? listed.paths[0] : listed.index;
    check_layers(*this);
    const auto matches = nn::checkpoint::match(
        files, expected_of(config),
        [this](std::string name) { return canonical_name(config, std::move(name)); },
        where + " does not fit the model of config.json", "are both of the same model?");
    limit_turns(files, config);
    note_ignored(matches.ignored, config);
    notes = config.notes;
}

}  // namespace plaingrad::models::hugging_face
