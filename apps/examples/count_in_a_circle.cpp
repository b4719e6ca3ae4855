// A language model (GPT-2's layers, much smaller) learns to count in a circle. It is saved under PyTorch's
// names, loaded again, and continues a sequence.
#include <iostream>

#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/presets.h"
#include "models/pytorch.h"
#include "nn/optim.h"
using namespace plaingrad;
using namespace models;

int main() {
    Config config = gpt2();  // GPT-2's choices, at a small size
    config.vocabulary = 10;
    config.specials = {};  // ids 0 to 3 are ours, not GPT-2's 50256
    config.max_length = 8, config.n_layers = 2;
    config.block.d_model = 32, config.block.n_heads = 4, config.block.d_ff = 128;
    const LanguageModel model(config, Rng(7));
    nn::Adam adam(nn::parameters(model), {.lr = 3e-3, .weight_decay = 0.1, .decoupled = true});
    for (int step = 1; step <= 100; ++step) {  // it learns to count in a circle: ... 8 9 4 5 6 7 8 9 4 ...
        std::vector<int32_t> ids;
        for (int i = 0; i < 16 * 9; ++i)
            ids.push_back(kFirstFreeId + (i / 9 + i % 9 + step) % 6);
        const Tokens text(16, 9, ids);                                          // (B, T + 1)
        const Tensor logits = model(text.slice(0, 8), Mode::train(Rng(step)));  // (B, T, V)
        const Tensor loss = autograd::cross_entropy(logits, text.slice(1, 9));  // ()
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
    save_pytorch("round.safetensors",
                 model);  // a state_dict: embedding.weight, encoder.layers.0.self_attn...
    const LanguageModel copy(config, Rng(0));
    load_pytorch("round.safetensors", copy);
    const auto written = generate(*copy.start(Tokens(1, 2, {5, 6})), Rng(1), {.max_tokens = 10});
    for (const int32_t id : written[0])
        std::cout << id << ' ';
    std::cout << '\n';
}

// Prints:
//   7 8 9 4 5 6 7 8 9 4
