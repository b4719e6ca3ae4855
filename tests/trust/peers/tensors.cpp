// Computes random cases for compare_ops.py and compare_models.py, which repeat them with PyTorch.
//
// usage: tensors ops SEED FIRST END FILE         calls of ops, of number FIRST and up to END
//        tensors model SEED NUMBER FILE          a model
//
// Files are safetensors. Of a call the metadata have its words, by number, "7" -> "softmax dim=-1"; and the
// tensors are 7/leaf/x, 7/constant/ids, 7/output/0, 7/upstream/0, 7/gradient/x.
#include <cstdlib>
#include <iostream>

#include "nn/checkpoint/safetensors.h"
#include "tests/trust/peers/models.h"
#include "tests/trust/peers/ops.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT

namespace {

class File {
public:
    // Computes a call, and its gradients from random ones of what it returns.
    void add(const std::string& number, const OpCase& c, Dice& draw) {
        words_[number] = c.words();
        put(number + "/leaf/", c.leaves);
        put(number + "/constant/", c.constants);
        const std::vector<Tensor> outputs = c.f();
        for (std::size_t i = 0; i < outputs.size(); ++i)
            put(autograd::join(number, "/output/", i), outputs[i]);
        if (!differentiate(number, outputs, draw))
            return;
        for (const auto& [name, x] : c.leaves)
            put(number + "/gradient/" + name, x.has_grad() ? x.grad() : Tensor::zeros(x.shape()));
    }
    void write(const std::string& path) const { nn::checkpoint::write(path, entries_, words_); }

private:
    void put(const std::string& name, const Tensor& x) { entries_.push_back({name, x.detach().clone()}); }
    void put(const std::string& prefix, const std::vector<std::pair<std::string, Tensor>>& all) {
        for (const auto& [name, x] : all)
            put(prefix + name, x);
    }

    // Calls backward once, as it consumes the graph: from the sum of each output times a random gradient.
    // Returns false if no output has a graph.
    bool differentiate(const std::string& number, const std::vector<Tensor>& outputs, Dice& draw) {
        std::vector<std::pair<Tensor, Tensor>> starts;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (outputs[i].needs_grad()) {
                starts.emplace_back(outputs[i], any_numbers(draw, outputs[i].shape(), -1, 1));
                put(autograd::join(number, "/upstream/", i), starts.back().second);
            }
        if (starts.size() == 1)
            starts[0].first.backward(starts[0].second);
        if (starts.size() > 1) {
            Tensor total = 0;
            for (const auto& [y, start] : starts)
                total += sum(y * start);
            total.backward();
        }
        return !starts.empty();
    }

    std::vector<nn::checkpoint::StateEntry> entries_;
    nn::checkpoint::Metadata words_;
};

OpKinds all_kinds() {
    OpKinds kinds;
    add_elementwise(kinds);
    add_movers(kinds);
    add_products(kinds);
    add_rows(kinds);
    add_layers(kinds);
    return kinds;
}

// Number n is of kind n % their number.
void write_ops(uint64_t seed, int64_t first, int64_t end, const std::string& path) {
    const OpKinds kinds = all_kinds();
    File file;
    for (int64_t number = first; number < end; ++number) {
        Dice draw(autograd::Rng(seed).fork("ops").fork(static_cast<uint64_t>(number)));
        const auto kind = std::next(kinds.begin(), number % std::ssize(kinds));
        OpCase c(kind->first);
        kind->second(c, draw);
        file.add(std::to_string(number), c, draw);
    }
    file.write(path);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string task = argc > 1 ? argv[1] : "";
    const auto number = [&](int i) { return std::atoll(argv[i]); };
    try {
        if (task == "ops" && argc == 6)
            write_ops(static_cast<uint64_t>(number(2)), number(3), number(4), argv[5]);
        else if (task == "model" && argc == 5)
            write_model(static_cast<uint64_t>(number(2)), number(3), argv[4]);
        else
            autograd::check(false, "usage: tensors ops|model ...; see tests/trust/peers/tensors.cpp");
    } catch (const autograd::Error& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
