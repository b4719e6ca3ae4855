#include "models/hugging_face/weights.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "nn/checkpoint/json.h"
#include "nn/checkpoint/safetensors.h"

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

namespace fs = std::filesystem;

// Whether a file begins so. (A folder or a pipe has no first bytes.)
bool begins(const std::string& path, std::string_view begin) {
    std::error_code error;
    if (begin.empty() || !fs::is_regular_file(path, error))
        return begin.empty();
    const nn::checkpoint::InputFile file(path);
    return file.read(0, std::min<int64_t>(file.size(), std::ssize(begin))) == begin;
}

}  // namespace

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
                check_file(false, folder, ": this is a folder of Hugging Face's cache; the model is in ",
                           nn::checkpoint::in_folder(path, snapshot));
    }
    for (const nn::checkpoint::Foreign& other : nn::checkpoint::foreign_files())
        for (const std::string& name : names) {
            const std::string path = nn::checkpoint::in_folder(folder, name);
            const bool fits = !other.end.empty() && name.ends_with(other.end) && begins(path, other.begin);
            check_file(!fits || name == "model.safetensors", path, ": this is ", other.words);
        }
}

WeightFiles weight_files(const std::string& folder) {
    const std::string file = nn::checkpoint::in_folder(folder, "model.safetensors"),
                      index = file + ".index.json";
    if (exists(file))
        return {.paths = {file}};
    if (exists(index))
        return read_index(folder, index);
    for (const char* const checkpoint : {"best.safetensors", "last.safetensors"})
        if (const std::string path = nn::checkpoint::in_folder(folder, checkpoint); exists(path))
            return {.paths = {path}};
    check_file(exists(folder), folder, ": there is no such folder");
    refuse_others(folder);
    check_file(
        false, folder,
        ": there is no model in this folder: neither model.safetensors nor model.safetensors.index.json");
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
