// What a key/value cache saves and costs, and that it changes no bit.
#include <cstring>
#include <ostream>

#include "autograd/base/check.h"
#include "models/families/one_stack.h"
#include "models/presets.h"
#include "tests/chapters/models.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace models;

namespace {

// Positions that go through the layers while T tokens are written, and pairs of a query and a key.
void counts(std::ostream& out) {
    Rows rows = {{"tokens written", "positions computed without a cache", "with",
                  "pairs (query, key) without", "with"}};
    for (const int64_t T : {8, 64, 512}) {
        int64_t positions = 0, pairs = 0, cached_pairs = 0;
        for (int64_t t = 1; t <= T; ++t) {  // writing token t: everything up to t is read again,
            positions += t;
            pairs += t * (t + 1) / 2;  // and each position looks at itself and those before;
            cached_pairs += t;         // with a cache only the last one does
        }
        rows.push_back({std::to_string(T), std::to_string(positions), std::to_string(T),
                        std::to_string(pairs), std::to_string(cached_pairs)});
    }
    table(out, rows, "nnnnn");
}

LanguageModel small_model() {
    return {{.vocabulary = 20,
             .max_length = 32,
             .n_layers = 2,
             .block = {.d_model = 32, .n_heads = 4, .d_ff = 64}},
            Rng(1)};
}
Tokens small_text() { return {1, 8, {4, 9, 7, 7, 15, 11, 4, 19}}; }

// What the cache of one text takes.
void bytes(std::ostream& out) {
    Rows rows = {{"", "layers", "key/value heads", "D", "bytes a token", "1,024 tokens", "its longest text"}};
    const auto row = [&](const char* name, const Config& c, int64_t heads) {
        const int64_t D = head_size(c.block), token = 2 * c.n_layers * heads * D * 4;
        const auto mib = [&](int64_t tokens) { return autograd::join(token * tokens >> 20, " MiB"); };
        rows.push_back({name, std::to_string(c.n_layers), std::to_string(heads), std::to_string(D),
                        std::to_string(token), mib(1024),
                        autograd::join(c.max_length, ": ", mib(c.max_length))});
    };
    const Config small = gpt2(), today = llama();
    row("GPT-2 small", small, small.block.n_heads);
    row("Llama 3.2 1B", today, today.block.n_kv_heads);
    row("the same with a pair for each query head", today, today.block.n_heads);
    table(out, rows);
}

void same_bits(std::ostream& out) {
    const LanguageModel model = small_model();
    const Tokens text = small_text();
    const autograd::NoGrad no_grad;
    const Tensor whole = model(text, Mode::eval());  // (1, 8, V)
    const auto stepper = model.start(text.slice(0, 1));
    int64_t same = 0;
    for (int64_t t = 0; t < text.length(); ++t) {
        const Tensor row = stepper->step(text.slice(t, t + 1));  // (1, 1, V)
        for (int64_t v = 0; v < 20; ++v)
            same += std::memcmp(row.data() + v, whole.data() + t * 20 + v, sizeof(Real)) == 0 ? 1 : 0;
    }
    claim(same == whole.numel(), "a cache changes no bit");
    out << same << " of " << whole.numel() << " logits have the same bits\n";
}

}  // namespace

Computed cache_part() {
    return {.sections = {{"models.cache", Effort::quick, counts},
                         {"models.cache_bytes", Effort::quick, bytes},
                         {"models.cache_bits", Effort::quick, same_bits}}};
}

}  // namespace plaingrad::chapters
