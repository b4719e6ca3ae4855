// Golden files: what PyTorch computed (make_golden.py), and how our numbers are compared with it.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/pytorch.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

namespace plaingrad::tests {

using autograd::Tokens;
using nn::checkpoint::StateDict;

inline bool begins_with(const std::string& text, const std::string& start) {
    return text.compare(0, start.size(), start) == 0;
}

// One group of a golden file; names are kind/name.
struct Golden {
    std::map<std::string, Tensor> tensors;
    std::map<std::string, Tokens> integers;  // (B, T), without padding

    Tensor tensor(const std::string& name) const { return tensors.at(name); }
    // An input that collects a gradient.
    Tensor input(const std::string& name) const { return leaf(tensor("input/" + name)); }
    Tokens ids(const std::string& name) const {
        const Tokens& x = integers.at("input/" + name);
        return Tokens(x.batch(), x.length(), x.ids(), models::kPad);
    }
    // All tensors of this kind, as a file of their own: the weights, as PyTorch saves them.
    std::string write(const Folder& folder, const std::string& kind) const {
        std::vector<nn::checkpoint::StateEntry> items;
        for (const auto& [name, x] : tensors)
            if (begins_with(name, kind))
                items.push_back({name.substr(kind.size()), x});
        nn::checkpoint::write(folder / "weights.safetensors", items);
        return folder / "weights.safetensors";
    }
    template <class Module>
    void load(const Module& module) const {
        models::load_pytorch(write(Folder(), "weight/"), module);
    }
};

// An I32 tensor, from the bytes of its file: the library reads floating-point numbers only.
inline Tokens read_ids(const std::string& bytes, const nn::checkpoint::Entry& entry) {
    autograd::check(entry.dtype->name == std::string("I32"), "[golden] ids are I32: ", entry.name, " is ",
                    entry.dtype->name);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<int32_t> ids(static_cast<std::size_t>(entry.end - entry.begin) / 4);
    std::memcpy(ids.data(), bytes.data() + sizeof header + header + entry.begin, ids.size() * 4);
    return Tokens(entry.shape.at(0), entry.shape.at(1), ids);
}

inline std::map<std::string, Golden> read_golden(const std::string& name) {
    const std::string path = "tests/golden/" + name + ".safetensors";
    const std::string bytes = nn::checkpoint::read_file(path);
    const nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    std::map<std::string, Golden> groups;
    for (const nn::checkpoint::Entry& entry : file.entries()) {
        const std::size_t slash = entry.name.find('/');
        Golden& group = groups[entry.name.substr(0, slash)];
        if (entry.dtype->convert == nullptr)
            group.integers.emplace(entry.name.substr(slash + 1), read_ids(bytes, entry));
        else
            group.tensors.emplace(entry.name.substr(slash + 1), file.tensor(entry.name));
    }
    return groups;
}

// What we computed, by the same names.
class Results {
public:
    explicit Results(const Golden& golden) : golden_(golden) {}

    void put(const std::string& name, const Tensor& x) { found_.insert_or_assign(name, x.detach()); }
    // Backward from the loss.
    void loss(const Tensor& loss) {
        put("loss/loss", loss);
        loss.backward();
    }
    // The output, and backward from the gradient that PyTorch started from.
    void output(const std::string& name, const Tensor& y) {
        put("output/" + name, y);
        y.backward(golden_.tensor("upstream/" + name));
    }
    void input_gradient(const std::string& name, const Tensor& x) { put("input_gradient/" + name, x.grad()); }
    // Layers and names as PyTorch's: gradients go through the same map as weights.
    void gradients(const StateDict& state) {
        const auto gradient = [](const Tensor& x) {
            return x.has_grad() ? x.grad() : Tensor::zeros(x.shape());
        };
        for (nn::checkpoint::StateEntry entry : state) {
            entry.tensor = gradient(entry.tensor);
            for (Tensor& more : entry.beside)
                more = gradient(more);
            put("gradient/" + entry.name, nn::checkpoint::in_file_order(entry));
        }
    }
    const std::map<std::string, Tensor>& all() const { return found_; }

private:
    const Golden& golden_;
    std::map<std::string, Tensor> found_;
};

inline double largest(const Tensor& x) {
    double found = 0;
    for (const double value : doubles(x))
        found = std::fmax(found, std::abs(value));
    return found;
}

inline bool is_reference(const std::string& name) {
    return !begins_with(name, "input/") && !begins_with(name, "weight/") && !begins_with(name, "upstream/");
}

// How far element i may be from the reference x.
inline double allowed(const std::string& name, const Tensor& x, int64_t i) {
    const double value = std::abs(static_cast<double>(x.data()[i]));
    return begins_with(name, "output/") ? 1e-5 * largest(x)
           : begins_with(name, "loss/") ? 1e-6 * value
                                        : 1e-5 + 1e-4 * value;  // gradients, weights
}

// The largest error of a as a fraction of the tolerance: above 1 is too large; a NaN counts as infinite.
inline double distance(const std::string& name, const Tensor& a, const Tensor& reference) {
    double worst = 0;
    for (int64_t i = 0; i < reference.numel(); ++i) {
        const auto x = static_cast<double>(a.data()[i]), y = static_cast<double>(reference.data()[i]);
        const double error = x == y ? 0 : std::abs(x - y) / allowed(name, reference, i);
        if (!(error <= worst))
            worst = std::isnan(error) ? HUGE_VAL : error;
    }
    return worst;
}

// An attention key's bias has no gradient: it adds the same to all scores of a query.
inline bool may_be_zero(const std::string& name) { return contains(name, "attention.self.key.bias"); }

// All differences from the reference; empty if there are none.
inline std::vector<std::string> differences(const Golden& golden, const std::map<std::string, Tensor>& ours) {
    std::vector<std::string> found;
    const auto complain = [&](const auto&... parts) { found.push_back(autograd::join(parts...)); };
    for (const auto& [name, reference] : golden.tensors) {
        if (!is_reference(name))
            continue;
        const auto own = ours.find(name);
        if (!(largest(reference) > 1e-6) && !may_be_zero(name))
            complain(name, ": the reference is all zero");
        if (own == ours.end())
            complain(name, ": not computed");
        else if (own->second.shape() != reference.shape())
            complain(name, ": shape ", own->second.shape(), ", reference ", reference.shape());
        else if (const double d = distance(name, own->second, reference); !(d <= 1))
            complain(name, ": ", d, " times as far as allowed");
    }
    for (const auto& [name, x] : ours)
        if (golden.tensors.count(name) == 0)
            complain(name, ": no reference");
    return found;
}

using Case = std::function<void(const Golden& golden, Results& results)>;
using Cases = std::map<std::string, Case>;  // by group

inline std::vector<std::string> differences(const Golden& golden, const Case& run) {
    Results results(golden);
    run(golden, results);
    return differences(golden, results.all());
}

inline void check_agreement(const std::string& file, const Cases& cases) {
    const std::map<std::string, Golden> groups = read_golden(file);
    REQUIRE(groups.size() == cases.size());
    for (const auto& [group, golden] : groups) {
        INFO(file << ", " << group);
        std::string text;
        for (const std::string& difference : differences(golden, cases.at(group)))
            text += difference + "\n";
        CHECK(text == "");
    }
}

// Padded rows become 0, so that they are not compared.
inline Tensor rows_of(const Tensor& y, const std::vector<int32_t>& counts) {
    std::vector<Real> keep;
    for (const int32_t count : counts)
        for (int64_t t = 0; t < y.size(1); ++t)
            keep.push_back(t < count ? Real(1) : Real(0));
    return y * Tensor::from({y.size(0), y.size(1), 1}, keep);
}

// A layer with x -> y. make(): with weights, which the golden ones replace.
template <class Forward, class Make>
Case layer(const Forward& forward, const Make& make) {
    return [=](const Golden& golden, Results& results) {
        const auto module = make();
        golden.load(module);
        const Tensor x = golden.input("x");
        results.output("y", forward(module, x));
        results.input_gradient("x", x);
        results.gradients(models::state_dict(module));
    };
}

}  // namespace plaingrad::tests
