// The smallest complete training run: an encoder-decoder Transformer learns to repeat three symbols.
// Read it after apps/one_page.cpp, which writes out what the library does here. nn/training.md explains the
// loop.
//
//     make
//     g++ -std=c++20 -O2 -pthread -I. apps/examples/first_transformer.cpp build/libplaingrad.a -o build/first
//     ./build/first
//
// The other examples are built in the same way.
#include <iostream>

#include "models/decoding/decoding.h"
#include "models/families/transformer.h"
#include "nn/optim.h"
using namespace plaingrad;
using namespace models;
using autograd::Tensor;

int main() {
    Config config = {.src_vocabulary = 10,
                     .vocabulary = 10,
                     .max_length = 8,
                     .n_layers = 1,
                     .n_decoder_layers = 1,
                     .block = {.d_model = 32, .n_heads = 4, .d_ff = 64}};
    const Rng rng(7);
    const Transformer model(config, rng.fork("model"));
    nn::Adam adam(nn::parameters(model), {.lr = 3e-3});
    for (int step = 1; step <= 200; ++step) {
        const Rng random = rng.fork(step);
        std::vector<int32_t> src, tgt;
        for (int b = 0; b < 32; ++b) {
            tgt.push_back(kSos);
            for (int i = 0; i < 3; ++i) {
                src.push_back(kFirstFreeId + static_cast<int32_t>(random.below(3 * b + i, 6)));
                tgt.push_back(src.back());
            }
            tgt.push_back(kEos);
        }
        const Tokens read(32, 5, tgt, kPad);  // (B, T + 1)
        const Tensor logits =
            model(Tokens(32, 3, src, kPad), read.slice(0, 4), Mode::train(random));  // (B, T, V)
        const Tensor loss = autograd::cross_entropy(logits, read.slice(1, 5));       // ()
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
    const auto stepper = model.start(Tokens(1, 3, {9, 4, 7}, kPad));
    const Hypothesis answer = greedy(*stepper, 8)[0];
    for (const int32_t id : answer.ids)
        std::cout << id << ' ';
    std::cout << '\n';
}

// Prints:
//   9 4 7
