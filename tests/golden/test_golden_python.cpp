// The other direction: PyTorch loads what we save (strict=True) and computes the same. Skipped where there is
// no Python with PyTorch.
#include <cstdlib>

#include "models/saved.h"
#include "nn/checkpoint/json.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
using nn::checkpoint::JsonText;

namespace {

bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }

// "" if there is none.
std::string python_with_torch() {
    for (const std::string python : {"/usr/bin/python3", "python3"})
        if (succeeds(python + " -c 'import torch' >/dev/null 2>&1"))
            return python;
    return "";
}

// What `build` in make_golden.py takes: a Python dict as JSON.
Metadata json_of(const char* kind, const Config& c) {
    const BlockConfig& b = c.block;
    const JsonText json =
        JsonText::object({{"kind", kind},
                          {"d_model", b.d_model},
                          {"n_heads", b.n_heads},
                          {"d_ff", b.d_ff},
                          {"max_length", c.max_length},
                          {"norm_eps", b.norm_eps},
                          {"output_bias", b.output_bias},
                          {"activation", b.activation == nn::Activation::relu ? "relu" : "gelu"},
                          {"norm", b.norm == NormPlacement::pre ? "pre" : "post"},
                          {"positions", b.positions == nn::Positions::learned ? "learned" : "sinusoidal"},
                          {"scale_embeddings", b.scale_embeddings},
                          {"src_vocabulary", c.src_vocabulary},
                          {"tgt_vocabulary", c.vocabulary},
                          {"vocabulary", c.vocabulary},
                          {"n_layers", c.n_layers},
                          {"final_norm", c.final_norm},
                          {"embedding_norm", c.embedding_norm},
                          {"tied", c.tied},
                          {"classes", c.classes}});
    return {{"config", json.text}};
}

Tensor numbers_of(const Tokens& ids) {
    const std::vector<Real> numbers(ids.ids().begin(), ids.ids().end());
    return Tensor::from({ids.batch(), ids.length()}, numbers);
}

// Biases begin at 0 and gains at 1, which would hide mistakes.
template <class Model>
void scramble(const Model& model) {
    for (const nn::NamedParameter& p : nn::parameters(model)) {
        Tensor x = p.tensor;
        const std::vector<Real> noise = numbers(x.numel(), static_cast<uint64_t>(x.numel()), -0.2, 0.2);
        for (int64_t i = 0; i < x.numel(); ++i)
            x.mutable_data()[i] += noise[static_cast<std::size_t>(i)];
        if (contains(p.name, "tokens."))  // what PyTorch's padding_idx says, and does not do
            std::fill_n(x.mutable_data(), x.size(1), Real(0));
    }
}

void write_all(const Folder& folder) {
    const Tokens src = Tokens::padded({{4, 5, 6, 7, 8}, {9, 10, 4}}, kPad);
    const Tokens tgt = Tokens::padded({{1, 8, 7, 6}, {1, 4, 10, 9}}, kPad);
    const auto io = [&](const std::string& name, std::vector<nn::checkpoint::StateEntry> inputs,
                        const Tensor& y) {
        inputs.push_back({"output", y});
        nn::checkpoint::write(folder / (name + ".io.safetensors"), inputs);
    };
    for (const Config& config : {small_tied(), small_prenorm()}) {
        const Transformer model(config, Rng(1));
        scramble(model);
        const std::string name = config.tied ? "translator_tied" : "translator";
        save_pytorch(folder / (name + ".safetensors"), model, json_of("translator", config));
        io(name, {{"0", numbers_of(src)}, {"1", numbers_of(tgt)}}, model(src, tgt, Mode::eval()));
    }
    // Of the models with one stack; GPT-2 has no padding.
    const auto stack = [&](const std::string& name, const auto& model, const Metadata& json,
                           const Tokens& ids) {
        scramble(model);
        const std::string path = folder / (name + ".safetensors");
        if (name == "bert" || name == "gpt2")
            write(path, state_dict_in_transformers(model, name), json);
        else
            save_pytorch(path, model, json);
        const Tensor y = model(ids, Mode::eval());
        io(name, {{"0", numbers_of(ids)}}, y.rank() == 3 ? rows_of(y, ids.lengths()) : y);
    };
    const Config lm = small_language_model(), classifier = small_classifier(Pooling::mean);
    stack("language_model", LanguageModel(lm, Rng(2)), json_of("lm", lm), src);
    Config masked = small_bert();
    masked.final_norm = true;
    masked.token_types = 0;
    stack("masked", MaskedLanguageModel(masked, Rng(3)), json_of("mlm", masked), src);
    stack("classifier", Classifier(classifier, Rng(4)), json_of("classifier", classifier), src);
    stack("bert", MaskedLanguageModel(small_bert(), Rng(5)), json_of("bert", small_bert()), src);
    stack("gpt2", LanguageModel(small_gpt2(), Rng(6)), json_of("gpt2", small_gpt2()),
          Tokens(2, 4, tgt.ids()));

    Config bare = small_language_model();
    bare.n_decoder_layers = bare.n_layers;
    const Encoder encoder(bare, Rng(7));
    const Decoder decoder(bare, Rng(8));
    scramble(encoder);
    scramble(decoder);
    const Tensor x = random({2, 4, 12}, 9), memory = random({2, 5, 12}, 10);
    save_pytorch(folder / "encoder.safetensors", encoder, json_of("encoder", bare));
    save_pytorch(folder / "decoder.safetensors", decoder, json_of("decoder", bare));
    const Mode eval = Mode::eval();
    io("encoder", {{"0", x}}, encoder(x, {.mode = eval}));
    io("decoder", {{"0", x}, {"1", memory}}, decoder(x, memory, {.mode = eval}, {.mode = eval}));
}

}  // namespace

TEST_CASE("PyTorch loads what we save, and agrees", "[golden][python]") {
    const std::string python = python_with_torch();
    if (python.empty())
        SKIP("there is no Python with PyTorch");
    const Folder folder;
    write_all(folder);
    const std::string log = folder / "log";
    const std::string check =
        python + " tests/golden/make_golden.py --check " + folder.path + " >" + log + " 2>&1";
    const bool agrees = succeeds(check);
    INFO(content(log));
    REQUIRE(agrees);
    CHECK(contains(content(log), "agrees with 9 models"));

    // It fails for another output.
    const nn::checkpoint::SafeTensors io = nn::checkpoint::read(folder / "encoder.io.safetensors");
    Tensor y = io.tensor("output");
    y.mutable_data()[7] += Real(1e-3);
    nn::checkpoint::write(folder / "encoder.io.safetensors", {{"0", io.tensor("0")}, {"output", y}});
    CHECK_FALSE(succeeds(check));
    CHECK(contains(content(log), "too large"));
}
