#include "nn/checkpoint/state_dict.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::join;

// Names under a heading; only the first few of many, to keep the line short.
struct Listing {
    std::string text;
    int count = 0;

    void add(const std::string& name) {
        if (++count <= 5)
            text += (count > 1 ? ", " : " ") + name;
    }
    std::string words() const {
        return count == 0 ? "" : "; " + text + (count > 5 ? join(", and ", count - 5, " more") : "");
    }
};

// Where an entry's numbers are in memory: the same for all names of a tied weight.
using Place = std::pair<const Real*, int64_t>;
Place place_of(const StateEntry& entry) { return {entry.tensor.data(), entry.first}; }

// The sizes that an entry has in the file.
std::vector<int64_t> sizes_of(const StateEntry& entry) {
    std::vector<int64_t> sizes(entry.tensor.shape().begin(), entry.tensor.shape().end());
    if (entry.columns >= 0)
        sizes.back() = entry.columns;
    if (entry.transposed)
        std::swap(sizes[0], sizes[1]);
    return sizes;
}

std::string words(const std::vector<int64_t>& sizes) {
    std::string text = "(";
    for (std::size_t i = 0; i < sizes.size(); ++i)
        text.append(i > 0 ? ", " : "").append(std::to_string(sizes[i]));
    return text + ")";
}

Tensor read_entry(const SafeTensors& file, const Entry& in_file, const StateEntry& entry) {
    const Tensor values = file.tensor(in_file.name);
    return entry.transposed ? autograd::transpose(values, 0, 1) : values;
}

// A NaN equals itself here.
bool same_bytes(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.numel()) * sizeof(Real)) == 0;
}

// The file's tensor for each of our entries, by name only; nullptr if the file has none.
std::vector<const Entry*> match_names(const SafeTensors& file, const StateDict& state, Listing& unexpected) {
    std::unordered_map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < state.entries.size(); ++i)
        by_name.emplace(state.entries[i].name, i);
    std::vector<const Entry*> found(state.entries.size());
    for (const Entry& tensor : file.entries()) {
        auto entry = by_name.find(tensor.name);
        const std::string name = entry == by_name.end() ? state.canonical(tensor.name) : tensor.name;
        entry = by_name.find(name);
        if (entry != by_name.end() && found[entry->second] == nullptr)
            found[entry->second] = &tensor;
        else if (!name.empty())
            unexpected.add(tensor.name);
    }
    return found;
}

// The same. Throws FileError that lists everything that does not fit.
std::vector<const Entry*> match(const SafeTensors& file, const StateDict& state) {
    Listing missing{"missing:"}, unexpected{"unexpected:"}, different{"different:"};
    const std::vector<StateEntry>& entries = state.entries;
    const std::vector<const Entry*> found = match_names(file, state, unexpected);
    std::map<Place, std::size_t> first;  // the first name of each weight that the file has
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (found[i] != nullptr)
            first.emplace(place_of(entries[i]), i);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto place = first.find(place_of(entries[i]));
        const std::vector<int64_t> sizes = sizes_of(entries[i]);
        if (place == first.end())
            missing.add(entries[i].name);
        else if (found[i] != nullptr && found[i]->shape != sizes)
            different.add(
                join(entries[i].name, " is ", words(found[i]->shape), " and should be ", words(sizes)));
        else if (found[i] != nullptr && !SafeTensors::is_real(*found[i]))
            different.add(
                join(entries[i].name, " is ", name_of(found[i]->dtype), ", no floating-point numbers"));
        else if (const std::size_t j = place->second; found[i] != nullptr && j < i &&
                                                      sizes_of(entries[j]) == found[j]->shape &&
                                                      SafeTensors::is_real(*found[j]) &&
                                                      !same_bytes(read_entry(file, *found[i], entries[i]),
                                                                  read_entry(file, *found[j], entries[j])))
            different.add(join(entries[i].name, " is not ", entries[j].name, ", with which it is tied"));
    }
    check_file(missing.count + unexpected.count + different.count == 0, "[load] ", file.path(),
               " does not fit the model", missing.words(), unexpected.words(), different.words(),
               "; build the model with the configuration that it was saved with");
    return found;
}

void unpack(const Tensor& values, const StateEntry& entry) {
    Tensor tensor = entry.tensor;
    const int64_t columns = values.rank() > 0 ? values.size(-1) : 1,
                  stride = tensor.rank() > 0 ? tensor.size(-1) : 1;
    const Real* from = values.data();
    Real* to = tensor.mutable_data() + entry.first;
    for (int64_t left = values.numel(); left > 0; left -= columns, from += columns, to += stride)
        std::copy(from, from + columns, to);
}

}  // namespace

std::string replaced(std::string name, const NameRules& rules) {
    for (const auto& [from, to] : rules)
        if (const std::size_t at = name.find(from); at != name.npos)
            name.replace(at, from.size(), to);
    return name;
}

StateDict with_options(StateDict state, const LoadOptions& options) {
    state.canonical = [before = state.canonical, options](std::string name) {
        for (const std::string& end : options.ignore)
            if (name.ends_with(end))
                return std::string();
        return before(replaced(name, options.rules));
    };
    return state;
}

std::string without_wrappers(std::string name) {
    const std::string compiled = "_orig_mod.", parallel = "module.";
    while (name.find(compiled) != name.npos)
        name.erase(name.find(compiled), compiled.size());
    while (name.starts_with(parallel))
        name.erase(0, parallel.size());
    return name;
}

Tensor packed(const StateEntry& e) {
    const autograd::NoGrad no_grad;
    const Tensor own = e.columns < 0 ? e.tensor : autograd::slice(e.tensor, -1, e.first, e.first + e.columns);
    return e.transposed ? autograd::transpose(own, 0, 1) : own;
}

void save(const std::string& path, const StateDict& state, const Metadata& metadata,
          const SaveOptions& options) {
    std::vector<Item> items;
    std::set<Place> written;
    for (const StateEntry& entry : state.entries)
        if (written.insert(place_of(entry)).second || !options.tied_once)
            items.push_back({entry.name, packed(entry)});
    write(path, items, metadata);
}

void load(const SafeTensors& file, const StateDict& state) {
    const autograd::NoGrad no_grad;
    const std::vector<const Entry*> found = match(file, state);
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] != nullptr)
            unpack(read_entry(file, *found[i], state.entries[i]), state.entries[i]);
}

Metadata load(const std::string& path, const StateDict& state) {
    const SafeTensors file = read(path);
    load(file, state);
    return file.metadata();
}

}  // namespace plaingrad::nn::checkpoint
