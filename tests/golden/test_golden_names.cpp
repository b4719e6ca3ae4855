// Names and layouts, and errors for files that do not fit. (That each name is PyTorch's or transformers' shows in
// test_golden_pytorch.cpp, which loads their files.)
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

TEST_CASE("names: models that compute something else than GPT-2 and BERT", "[golden][names]") {
    struct Row {
        const char* family;
        std::function<void(Config&)> change;
        const char* error;  // "": there is none
    };
    for (const Row& r : std::vector<Row>{
             {"gpt2", [](Config&) {}, ""},
             {"gpt2", [](Config& c) { c.block.norm = NormPlacement::post; },
              R"(in gpt2 norm is "pre": this model has "post")"},
             {"gpt2", [](Config& c) { c.block.activation = nn::Activation::relu; }, ""},
             {"gpt2", [](Config& c) { c.block.gated = true; }, "in gpt2 gated is false: this model has true"},
             {"gpt2", [](Config& c) { c.block.scale_embeddings = true; },
              "in gpt2 scale_embeddings is false"},
             {"bert", [](Config&) {}, ""},
             {"bert", [](Config& c) { c.block.norm = NormPlacement::pre; }, R"(in bert norm is "post")"},
             {"bert", [](Config& c) { c.final_norm = true; }, "in bert final_norm is false"},
             {"bert", [](Config& c) { c.block.positions = nn::Positions::sinusoidal; },
              R"(in bert positions is "learned")"},
             {"bert", [](Config& c) { c.block.scale_embeddings = true; },
              "in bert scale_embeddings is false"}}) {
        const bool gpt2 = r.family == std::string("gpt2");
        Config c = gpt2 ? small_gpt2() : small_bert();
        r.change(c);
        const std::string error = error_of([&] {
            gpt2 ? state_dict_in_transformers(LanguageModel(c, Rng(1)), r.family)
                 : state_dict_in_transformers(MaskedLanguageModel(c, Rng(1)), r.family);
        });
        INFO(error);
        CHECK(contains(error, r.error));
        CHECK(error.empty() == std::string(r.error).empty());
    }
}

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

TEST_CASE("names: variants of names in existing files", "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors", found = folder / "found.safetensors";
    // GPT2Model's names, with the buffers of old versions, and the tied head left out.
    const LanguageModel gpt2(small_gpt2(), Rng(1));
    save_as(path, gpt2, "gpt2");
    std::vector<StateEntry> all = without(items(path), "lm_head.weight");
    for (StateEntry& item : all)
        item.name = item.name.substr(std::string("transformer.").size());
    all.push_back({"h.0.attn.bias", Tensor::zeros({1, 1, 9, 9})});
    all.push_back({"h.1.attn.masked_bias", Tensor(-10000)});
    nn::checkpoint::write(found, all);
    check_gives(found, gpt2, "gpt2");
    // One tensor under two names.
    all = items(path);
    all.push_back({"wpe.weight", Tensor::zeros({9, 12})});
    nn::checkpoint::write(found, all);
    CHECK(contains(error_of([&] { load_as(found, gpt2, "gpt2"); }), "unexpected: \"wpe.weight\""));

    // BertForPreTraining's, with gamma and beta, and tied weights under one name.
    const MaskedLanguageModel bert(small_bert(), Rng(1));
    save_as(path, bert, "bert");
    all = without(without(items(path), "cls.predictions.decoder.weight"), "cls.predictions.decoder.bias");
    for (StateEntry& item : all)
        if (const std::size_t norm = item.name.find("LayerNorm."); norm != std::string::npos)
            item.name = item.name.substr(0, norm + 10) +
                        (contains(item.name.substr(norm), "weight") ? "gamma" : "beta");
    all.push_back({"bert.pooler.dense.weight", Tensor::zeros({12, 12})});
    all.push_back({"cls.seq_relationship.bias", Tensor::zeros({2})});
    all.push_back({"bert.embeddings.position_ids", Tensor::from({1, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8})});
    nn::checkpoint::write(found, all);
    // Existing files hold the positions as whole numbers, which are ignored by their name.
    std::string bytes = content(found);
    bytes[bytes.find("\"F", bytes.find("position_ids")) + 1] = 'I';
    put(found, bytes);
    check_gives(found, bert, "bert");
    // Whole numbers under another name are not.
    bytes.replace(bytes.find("position_ids"), 12, "position_nos");
    put(found, bytes);
    CHECK(contains(error_of([&] { load_as(found, bert, "bert"); }), "position_nos"));
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
