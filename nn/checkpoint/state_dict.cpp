#include "nn/checkpoint/state_dict.h"

#include "nn/checkpoint/file.h"

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::join;

// Names under a heading; of many the first few, so that a line stays a line.
struct List {
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

bool same_place(const StateEntry& a, const StateEntry& b) {
    return a.tensor.same_memory(b.tensor) && a.first == b.first;
}

// The file's tensor for each entry, empty where it has none. Throws Error with all that does not fit.
std::vector<Tensor> match(const SafeTensors& file, const StateDict& state) {
    const std::vector<StateEntry>& entries = state.entries;
    std::vector<Tensor> found(entries.size());
    List missing{"missing:"}, unexpected{"unexpected:"}, different{"different:"};
    for (const Entry& tensor : file.entries()) {
        const std::string name = state.canonical(tensor.name);
        std::size_t i = 0;
        while (i < entries.size() && entries[i].name != name)
            ++i;
        if (i < entries.size() && !found[i].defined())
            found[i] = file.tensor(tensor.name);
        else if (!name.empty())
            unexpected.add(tensor.name);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
        std::size_t first = 0;  // of the names of this weight, that the file has
        while (first < entries.size() && !(found[first].defined() && same_place(entries[first], entries[i])))
            ++first;
        const Shape shape = packed(entries[i]).shape();
        if (first == entries.size())
            missing.add(entries[i].name);
        else if (found[i].defined() && !(found[i].shape() == shape))
            different.add(join(entries[i].name, " is ", found[i].shape(), " and should be ", shape));
        else if (found[i].defined() && first < i && found[i].to_vector() != found[first].to_vector())
            different.add(join(entries[i].name, " is not ", entries[first].name, ", with which it is tied"));
    }
    check_file(missing.count + unexpected.count + different.count == 0, "[load] ", file.path(),
               " does not fit the model", missing.words(), unexpected.words(), different.words(),
               "; build the model with the configuration that it was saved with");
    return found;
}

void unpack(const Tensor& values, const StateEntry& entry) {
    const Tensor own = entry.transposed ? autograd::transpose(values, 0, 1) : values;
    Tensor to = entry.tensor;
    const int64_t columns = own.rank() > 0 ? own.size(-1) : 1, stride = to.rank() > 0 ? to.size(-1) : 1;
    for (int64_t i = 0; i < own.numel(); ++i)
        to.mutable_data()[i / columns * stride + entry.first + i % columns] = own.data()[i];
}

}  // namespace

Tensor packed(const StateEntry& e) {
    const autograd::NoGrad no_grad;
    const Tensor own = e.columns < 0 ? e.tensor : autograd::slice(e.tensor, -1, e.first, e.first + e.columns);
    return e.transposed ? autograd::transpose(own, 0, 1) : own;
}

void save(const std::string& path, const StateDict& state, const Metadata& metadata) {
    std::vector<Item> items;
    for (const StateEntry& entry : state.entries)
        items.push_back({entry.name, packed(entry)});
    write(path, items, metadata);
}

void load(const SafeTensors& file, const StateDict& state) {
    const autograd::NoGrad no_grad;
    const std::vector<Tensor> found = match(file, state);
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].defined())
            unpack(found[i], state.entries[i]);
}

Metadata load(const std::string& path, const StateDict& state) {
    const SafeTensors file = read(path);
    load(file, state);
    return file.metadata();
}

}  // namespace plaingrad::nn::checkpoint
