#include "models/hugging_face/weights.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "models/hugging_face/families.h"
#include "models/pytorch.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::models::hugging_face {
namespace {

namespace fs = std::filesystem;
using nn::checkpoint::exists;

// {"metadata":{"total_size":8},"weight_map":{"wte.weight":"model-00001-of-00002.safetensors"}}
std::vector<std::string> read_index(const std::string& folder, const std::string& index) {
    std::vector<std::string> paths;
    for (const Json& entry : Json::open(index)["weight_map"].members()) {
        const std::string_view name = entry.view();
        const std::string path = nn::checkpoint::in_folder(folder, name);
        if (std::find(paths.begin(), paths.end(), path) != paths.end())
            continue;
        // An index must not lead out of its folder.
        entry.require(name.ends_with(".safetensors") && name.find('/') == name.npos,
                      "must name a safetensors file of this folder: got ", shown(name));
        entry.require(exists(path), "is in ", shown(name), ", which is not in the folder; download it, too");
        paths.push_back(path);
    }
    check_file(!paths.empty(), index, ": there is nothing in its \"weight_map\"");
    return paths;
}

// Of a folder without a model that is read, names what there is instead, if that is known.
void refuse_others(const std::string& folder) {
    std::error_code error;
    const std::vector<std::string> names = nn::checkpoint::names_in(folder, error);
    check_file(!error, folder, ": this folder cannot be read: ", error.message());
    for (const std::string& name : names) {
        const std::string path = nn::checkpoint::in_folder(folder, name);
        check_file(!fs::is_symlink(path, error) || exists(path), path, ": this is a link to ",
                   shown(fs::read_symlink(path, error).string()),
                   ", which is not there; download the model again");
        if (name == "snapshots")
            for (const std::string& snapshot : nn::checkpoint::names_in(path, error))
                throw nn::checkpoint::FileError(
                    autograd::join(folder, ": this is a folder of Hugging Face's cache; the model is in ",
                                   nn::checkpoint::in_folder(path, snapshot)));
    }
    for (const std::string& name : names)
        if (name != "model.safetensors")
            nn::checkpoint::refuse_foreign(nn::checkpoint::in_folder(folder, name), "", name);
}

}  // namespace

std::vector<std::string> weight_files(const std::string& folder) {
    std::error_code none;
    if (!fs::is_directory(folder, none))
        return {folder};  // a file
    const std::string file = nn::checkpoint::in_folder(folder, "model.safetensors"),
                      index = file + ".index.json";
    if (exists(file))
        return {file};
    if (exists(index))
        return read_index(folder, index);
    for (const char* const checkpoint : {"best.safetensors", "last.safetensors"})
        if (const std::string path = nn::checkpoint::in_folder(folder, checkpoint); exists(path))
            return {path};
    refuse_others(folder);
    throw nn::checkpoint::FileError(
        folder +
        ": there is no model in this folder: neither model.safetensors nor model.safetensors.index.json");
}

// ---- tensors

using nn::checkpoint::replaced;

// The first column of a part, and how many there are; -1: all.
static std::pair<int64_t, int64_t> columns(Columns part, const BlockConfig& b) {
    const int64_t queries = b.n_heads * b.head_dim, keys = b.n_kv_heads * b.head_dim;
    return part == Columns::query   ? std::pair(int64_t{0}, queries)
           : part == Columns::key   ? std::pair(queries, keys)
           : part == Columns::value ? std::pair(queries + keys, keys)
           : part == Columns::gate  ? std::pair(int64_t{0}, b.d_ff)
           : part == Columns::up    ? std::pair(b.d_ff, b.d_ff)
                                    : std::pair(int64_t{0}, int64_t{-1});
}

std::string canonical_name(const ConfigJson& c, std::string name) {
    const Family& family = family_of(c.family);
    const std::string& prefix = family.prefix;
    name = nn::checkpoint::without_wrappers(std::move(name));
    const bool of_head = std::any_of(family.heads.begin(), family.heads.end(),
                                     [&](std::string_view head) { return name.starts_with(head); });
    if (!of_head && name.starts_with(prefix))
        name.erase(0, prefix.size());
    if (!of_head && !c.bare)
        name.insert(0, prefix);
    // Buffers: masks, position numbers, frequencies.
    for (const char* const end : {".attn.bias", ".attn.masked_bias", ".position_ids", ".rotary_emb.inv_freq"})
        if (("." + name).ends_with(end))
            return "";
    // What is not used: heads of a bare model, the head for pairs of sentences, the pooler where there is no
    // classifier, and the bias that is not the decoder's.
    if ((of_head && c.bare) || name.starts_with("cls.seq_relationship.") ||
        (c.kind == Kind::masked && name.starts_with(prefix + "pooler.")))
        return "";
    for (const Row& row : family.head)
        if (!c.tied && row.in_vain && row.theirs == name)
            return "";
    return replaced(name, {{"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}});
}

nn::checkpoint::StateDict state_dict(const ConfigJson& c, const std::vector<nn::NamedParameter>& parameters) {
    const Family& family = family_of(c.family);
    std::map<std::string, nn::checkpoint::StateEntry> ours;
    for (const nn::checkpoint::StateEntry& entry : renamed(parameters, {}, family.transposed))
        ours.emplace(entry.name, entry);
    nn::checkpoint::StateDict entries;
    std::set<const Real*> named;
    // Returns whether the model has this parameter.
    const auto add_tensor = [&](const std::string& theirs, const std::string& name, Columns part) {
        const auto found = ours.find(name);
        if (found == ours.end())
            return false;
        const nn::checkpoint::StateEntry& entry = found->second;
        const auto [first, n] = columns(part, c.block);
        entries.push_back({theirs, entry.tensor, entry.transposed, first, n});
        named.insert(entry.tensor.data());
        return true;
    };
    const auto add = [&](const std::string& prefix, const std::string& our_prefix, const Row& row) {
        const std::string theirs = prefix + row.theirs, name = our_prefix + row.ours;
        if (add_tensor(theirs, name, row.columns))
            return;
        check(add_tensor(theirs + ".weight", name + ".weight", row.columns),
              "[hugging_face] this model is not ", c.family, ": it lacks the parameter ", name);
        add_tensor(theirs + ".bias", name + ".bias", row.columns);
    };
    const std::string prefix = c.bare ? "" : family.prefix;
    for (const Row& row : family.stack)
        add(prefix, "backbone.", row);
    for (int64_t i = 0; i < c.n_layers; ++i)
        for (const Row& row : family.layer)
            add(autograd::join(prefix, family.layers, i, "."),
                autograd::join("backbone.encoder.layers.", i, "."), row);
    for (const Row& row : family.head)
        if (row.kind == c.kind && (c.kind != Kind::causal || !c.bare))
            add("", "", row);
    for (const nn::NamedParameter& p : parameters)
        check(named.contains(p.tensor.data()), "[hugging_face] this model is not ", c.family,
              ", which has no parameter ", p.name);
    return entries;
}

}  // namespace plaingrad::models::hugging_face
