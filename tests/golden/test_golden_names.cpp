// Names and layouts, and errors for files that do not fit. (That each name is PyTorch's or transformers'
// shows in test_golden_pytorch.cpp, which loads their files.)
#include <algorithm>

#include "models/saved.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
using nn::checkpoint::SafeTensors;
using nn::checkpoint::StateEntry;

namespace {

// The tensors of a file, to write them in another way.
std::vector<StateEntry> items(const std::string& path) {
    const SafeTensors file = nn::checkpoint::read(path);
    std::vector<StateEntry> out;
    for (const nn::checkpoint::Entry& entry : file.entries())
        out.push_back({entry.name, file.tensor(entry.name)});
    return out;
}

std::vector<StateEntry> without(std::vector<StateEntry> all, const std::string& name) {
    all.erase(
        std::remove_if(all.begin(), all.end(), [&](const StateEntry& item) { return item.name == name; }),
        all.end());
    return all;
}

// Under torch.nn's names, or a family's of transformers.
template <class Model>
void save_as(const std::string& path, const Model& model, const std::string& family) {
    if (family.empty())
        save_pytorch(path, model);
    else
        write(path, state_dict_in_transformers(model, family));
}
template <class Model>
void load_as(const std::string& path, const Model& model, const std::string& family) {
    if (family.empty())
        load_pytorch(path, model);
    else
        load_from_transformers(path, model, family);
}

template <class Model>
bool equal(const Model& a, const Model& b) {
    return hash(a) == hash(b);
}

// Loads the file into other weights: it must give the model's.
template <class Model>
void check_gives(const std::string& path, const Model& model, const std::string& family = "") {
    const Model other(model.config, Rng(99));
    CHECK_FALSE(equal(model, other));
    load_as(path, other, family);
    CHECK(equal(model, other));
}

}  // namespace

TEST_CASE("names: saved and loaded, every bit and the metadata", "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors";
    const auto check = [&](const auto& model, const std::string& family) {
        save_as(path, model, family);
        check_gives(path, model, family);
        // What torch.compile and DistributedDataParallel put before every name.
        for (const std::string wrapper : {"_orig_mod.", "module.", "module._orig_mod."}) {
            std::vector<StateEntry> wrapped = items(path);
            for (StateEntry& item : wrapped)
                item.name = wrapper + item.name;
            nn::checkpoint::write(folder / "wrapped", wrapped);
            if (!family.empty())
                check_gives(folder / "wrapped", model, family);
        }
    };
    check(Transformer(small_tied(), Rng(1)), "");
    check(Transformer(small_prenorm(), Rng(1)), "");
    check(LanguageModel(small_gpt2(), Rng(1)), "gpt2");
    check(MaskedLanguageModel(small_bert(), Rng(1)), "bert");
    const Transformer model(small_tied(), Rng(1));
    save_pytorch(path, model, {{"epoch", "3"}});
    CHECK(load_pytorch(path, model).at("epoch") == "3");
}

TEST_CASE("names: one tensor under two names of a file", "[golden][names]") {
    const Folder folder;
    const LanguageModel model(small_gpt2(), Rng(1));
    save_as(folder / "f", model, "gpt2");
    std::vector<StateEntry> all = items(folder / "f");
    all.push_back({"wpe.weight", Tensor::zeros({9, 12})});
    nn::checkpoint::write(folder / "f", all);
    CHECK(contains(error_of([&] { load_as(folder / "f", model, "gpt2"); }), "unexpected: \"wpe.weight\""));
}

TEST_CASE("names: a file that does not fit changes nothing, and the error says why", "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors", bad = folder / "bad.safetensors";
    const Transformer model(small_tied(), Rng(1)), other(small_tied(), Rng(2)), before(small_tied(), Rng(2));
    save_pytorch(path, model);
    const auto error = [&](const std::vector<StateEntry>& all) {
        nn::checkpoint::write(bad, all);
        const std::string text = error_of([&] { load_pytorch(bad, other); });
        CHECK(equal(other, before));
        CHECK(contains(text, "bad.safetensors"));
        CHECK_FALSE(contains(text, "\n"));
        return text;
    };
    const std::string bias = "transformer.encoder.layers.0.norm2.bias";
    const std::vector<StateEntry> all = items(path), less = without(all, bias);
    CHECK(contains(error(less), "; missing: " + bias + ";"));
    std::vector<StateEntry> changed = all;
    changed.push_back({"extra", Tensor::zeros({1})});
    CHECK(contains(error(changed), "; unexpected: \"extra\";"));
    changed = less;
    changed.push_back({bias, Tensor::zeros({1, 12})});
    CHECK(contains(error(changed),
                   "does not fit the model; different: " + bias + " is (1, 12) and should be (12);"));
    // Whole numbers of the same size.
    std::string bytes = content(path);
    const std::size_t dtype = bytes.find("\"F", bytes.find(bias));
    bytes[dtype + 1] = 'I';
    put(bad, bytes);
    CHECK(contains(error_of([&] { load_pytorch(bad, other); }), bias + " is I"));
    CHECK(equal(other, before));
    // Tied: one name is enough, several must agree.
    for (const std::string name : {"src_embedding.weight", "tgt_embedding.weight", "output.weight"}) {
        changed = without(all, name);
        changed.push_back({name, Tensor::zeros({11, 12})});
        CHECK(contains(error(changed), "with which it is tied"));
    }
    changed = without(without(all, "output.weight"), "tgt_embedding.weight");
    CHECK(contains(error(without(changed, "src_embedding.weight")),
                   "missing: src_embedding.weight, tgt_embedding.weight, output.weight"));
    // Of many names the first few.
    nn::checkpoint::write(bad, {});
    CHECK(contains(error_of([&] { load_pytorch(bad, other); }), "and 28 more"));

    nn::checkpoint::write(bad, changed);
    load_pytorch(bad, other);
    CHECK(equal(model, other));
}

TEST_CASE("names: a whole model without biases computes what one does whose biases are zero",
          "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors";
    Config with = small_prenorm(), bare = small_prenorm();
    bare.block.attention_bias = bare.block.feed_forward_bias = bare.block.norm_bias = bare.block.output_bias =
        false;
    const Transformer model(bare, Rng(1)), zero(with, Rng(3));
    save_pytorch(path, model);
    check_gives(path, model);
    save(folder / "saved", model);
    CHECK(equal(model, load_model<Transformer>(folder / "saved")));

    std::vector<StateEntry> all = items(path);
    for (const nn::checkpoint::StateEntry& entry : state_dict(zero))
        if (entry.name.ends_with("bias"))
            all.push_back({entry.name, Tensor::zeros(nn::checkpoint::in_file_order(entry).shape())});
    CHECK(all.size() == state_dict(zero).size());
    nn::checkpoint::write(path, all);
    load_pytorch(path, zero);
    const Tokens src(2, 3, {4, 5, 6, 7, 8, 0}, 0), tgt(2, 2, {1, 4, 1, 9});
    CHECK(same_bits(zero(src, tgt, Mode::eval()), model(src, tgt, Mode::eval())));
}
