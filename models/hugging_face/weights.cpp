#include "models/hugging_face/weights.h"

#include <set>

#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {
namespace {

using nn::checkpoint::check_file;
using nn::checkpoint::exists;
using nn::checkpoint::Json;
using nn::checkpoint::shown;

// {"metadata":{"total_size":8},"weight_map":{"wte.weight":"model-00001-of-00002.safetensors"}}
WeightFiles read_index(const std::string& folder, const std::string& index) {
    WeightFiles files = {.paths = {}, .index = index};
    std::map<std::string, std::size_t, std::less<>> known;  // by name
    for (const Json& entry : Json::open(index)["weight_map"].members()) {
        const std::string_view name = entry.view();
        auto file = known.find(name);
        if (file == known.end()) {
            // An index must not lead out of its folder.
            entry.require(name.ends_with(".safetensors") && name.find('/') == name.npos,
                          "must name a safetensors file of this folder: got ", shown(name));
            const std::string path = autograd::join(folder, "/", name);
            entry.require(exists(path), "is in ", shown(name),
                          ", which is not in the folder; download it, too");
            file = known.emplace(name, files.paths.size()).first;
            files.paths.push_back(path);
        }
        files.file_of.emplace(entry.name(), file->second);
    }
    check_file(!files.paths.empty(), index, ": there is nothing in its \"weight_map\"");
    return files;
}

}  // namespace

WeightFiles weight_files(const std::string& folder) {
    const std::string file = nn::checkpoint::in_folder(folder, "model.safetensors"),
                      index = file + ".index.json";
    if (exists(file))
        return {.paths = {file}};
    if (exists(index))
        return read_index(folder, index);
    check_file(exists(folder), folder, ": there is no such folder");
    for (const std::string old : {"/pytorch_model.bin", "/pytorch_model.bin.index.json"})
        check_file(!exists(folder + old), folder, old,
                   ": weights of torch.save are not read; convert them in Python, with the class that "
                   "config.json names in \"architectures\": "
                   "transformers.CLASS.from_pretrained(FOLDER).save_pretrained(FOLDER)");
    check_file(false, folder, ": there is neither model.safetensors nor model.safetensors.index.json");
    return {};
}

void check_listed(const WeightFiles& files, std::size_t file,
                  const std::vector<nn::checkpoint::Entry>& entries) {
    std::set<std::string_view> found;
    for (const nn::checkpoint::Entry& entry : entries) {
        found.insert(entry.name);
        check_file(files.index.empty() || files.file_of.contains(entry.name), files.index, ": does not list ",
                   shown(entry.name), ", which is in ", files.paths[file]);
    }
    for (const auto& [tensor, place] : files.file_of)
        check_file((place == file) == found.contains(tensor), files.index, ": ", shown(tensor),
                   place == file ? " is not in " : " should not be in ", files.paths[file]);
}

}  // namespace plaingrad::models::hugging_face
