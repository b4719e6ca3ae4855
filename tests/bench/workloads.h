// What is measured: models of sizes that are trained on CPUs, each with a whole training step (forward, loss,
// backward, clipping, Adam) on random ids. tests/bench/peers/pytorch_training.py has the same in PyTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tensor.h"
#include "models/config.h"
#include "nn/optim.h"

namespace plaingrad::bench {

enum class Family { encoder_decoder, decoder, classifier };

struct Workload {
    std::string_view name;
    Family family;
    int64_t batch, length;  // of source and of target
    int64_t vocabulary, d_model, n_heads, d_ff;
    int64_t n_layers;  // of each stack
    double dropout = 0, label_smoothing = 0;
    bool tied = false;     // one table for all embeddings and the output layer
    int64_t classes = 0;   // of a classifier
    bool by_name = false;  // steps of seconds: measured only when asked for by name
    nn::Activation activation = nn::Activation::gelu;  // of a decoder

    // That a step learns from: of the target, if there are two.
    int64_t tokens() const { return batch * length; }
    double flops() const;  // of a training step: see workloads.cpp
};

const std::vector<Workload>& workloads();
const Workload& workload(std::string_view name);
std::vector<std::string> workload_names();

models::Config config_of(const Workload& workload);

// A model, its optimizer and a batch of random ids.
class Training {
public:
    explicit Training(const Workload& workload, autograd::Precision precision = {});
    void step();

private:
    std::function<autograd::Tensor(const nn::Mode&)> loss_;
    std::unique_ptr<nn::Adam> adam_;
    uint64_t steps_ = 0;
};

// count random ids from `first` to below `vocabulary`; which ones depends on `name` alone.
std::vector<int32_t> random_ids(int64_t count, int64_t vocabulary, std::string_view name);

}  // namespace plaingrad::bench
