// Computes random cases for compare_ops.py and compare_models.py, which repeat them with PyTorch.
//
// usage: tensors ops SEED FIRST END FILE         calls of ops, of number FIRST and up to END
//        tensors model SEED NUMBER FILE          a model
//
// Files are safetensors. Of a call the metadata have, by number, "7" ->
// "softmax<TAB>x.softmax(dim)<TAB>dim=-1": the op, PyTorch's expression, its options. The tensors are
// 7/leaf/x, 7/constant/ids, 7/output/0, 7/upstream/0, 7/gradient/x.
#include <cstdlib>
#include <iostream>

#include "nn/checkpoint/safetensors.h"
#include "tests/ops.h"
#include "tests/trust/peers/models.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT
using autograd::Tensor;

namespace {

class File {
public:
    // Computes a call, and its gradients from random ones of what it returns.
    void add(const std::string& number, const tests::AloneCall& c, const autograd::Rng& rng) {
        // Where each number of a result depends on one of each input, numbers are judged one by one.
        const bool elementwise = c.row.subject == 0 && !c.bf16;
        words_[number] =
            c.row.op + '\t' + c.row.torch + '\t' + c.words + (elementwise ? " elementwise=1" : "");
        const tests::Inputs leaves = with_gradients(c);
        for (std::size_t i = 0; i < leaves.size(); ++i)
            put(number + (c.row.has_graph ? "/leaf/" : "/constant/") + c.names[i], leaves[i]);
        for (const auto& [name, x] : c.constants)
            put(number + "/constant/" + name, x);
        const std::vector<Tensor> outputs = c.with(leaves);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            put(autograd::join(number, "/output/", i), outputs[i]);
        if (!differentiate(number, outputs, rng))
            return;
        for (std::size_t i = 0; i < leaves.size(); ++i)
            put(number + "/gradient/" + c.names[i],
                leaves[i].has_grad() ? leaves[i].grad() : Tensor::zeros(leaves[i].shape()));
    }
    void write(const std::string& path) const { nn::checkpoint::write(path, entries_, words_); }

private:
    void put(const std::string& name, const Tensor& x) { entries_.push_back({name, x.detach().clone()}); }

    // Calls backward once, as it consumes the graph: from the sum of each output times a random gradient.
    // Returns false if no output has a graph.
    bool differentiate(const std::string& number, const std::vector<Tensor>& outputs,
                       const autograd::Rng& rng) {
        std::vector<std::pair<Tensor, Tensor>> starts;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (outputs[i].needs_grad()) {
                starts.emplace_back(outputs[i], Tensor::rand(outputs[i].shape(), rng.fork(i)) * 2 - 1);
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

// Number n is of row n % their number. (Of attention in bfloat16 PyTorch has no counterpart.)
void write_ops(uint64_t seed, int64_t first, int64_t end, const std::string& path) {
    const std::vector<tests::OpRow>& rows = tests::op_rows();
    File file;
    for (int64_t number = first; number < end; ++number) {
        const autograd::Rng rng = autograd::Rng(seed).fork("ops").fork(static_cast<uint64_t>(number));
        const tests::OpRow& row = rows[static_cast<std::size_t>(number % std::ssize(rows))];
        const auto c = draw_call(row, rng.bits(0), tests::Scale::large);
        if (!c->bf16 || row.op.find("attention") == std::string::npos)
            file.add(std::to_string(number), *c, rng);
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
