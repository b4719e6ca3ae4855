// Names and layouts, and errors for files that do not fit.
#include <algorithm>
#include <set>

#include "models/saved.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
using nn::checkpoint::SafeTensors;
using nn::checkpoint::StateEntry;

namespace {

std::vector<std::string> names(const StateDict& state) {
    std::vector<std::string> out;
    for (const nn::checkpoint::StateEntry& entry : state)
        out.push_back(entry.name);
    return out;
}

bool has(const StateDict& state, const std::string& name, const Shape& shape) {
    for (const nn::checkpoint::StateEntry& entry : state)
        if (entry.name == name)
            return nn::checkpoint::in_file_order(entry).shape() == shape;
    return false;
}

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

template <class Model>
bool equal(const Model& a, const Model& b) {
    const auto x = nn::parameters(a), y = nn::parameters(b);
    bool same = x.size() == y.size();
    for (std::size_t i = 0; same && i < x.size(); ++i)
        same = x[i].name == y[i].name && same_bits(x[i].tensor, y[i].tensor);
    return same;
}

}  // namespace

TEST_CASE("names: as torch.nn.Transformer has them", "[golden][names]") {
    const Transformer model(small_prenorm(), Rng(1));
    const StateDict state = state_dict(model);
    CHECK(has(state, "src_embedding.weight", {11, 12}));
    CHECK(has(state, "tgt_positions.weight", {9, 12}));
    CHECK(has(state, "transformer.encoder.layers.0.self_attn.in_proj_weight", {36, 12}));
    CHECK(has(state, "transformer.encoder.layers.0.self_attn.in_proj_bias", {36}));
    CHECK(has(state, "transformer.encoder.layers.0.self_attn.out_proj.weight", {12, 12}));
    CHECK(has(state, "transformer.decoder.layers.0.multihead_attn.in_proj_weight", {36, 12}));
    CHECK(has(state, "transformer.decoder.layers.0.linear1.weight", {20, 12}));
    CHECK(has(state, "transformer.decoder.layers.0.norm3.weight", {12}));
    CHECK(has(state, "transformer.encoder.norm.bias", {12}));
    CHECK(has(state, "output.weight", {11, 12}));
    CHECK(has(state, "output.bias", {11}));
    // Every parameter occurs exactly once.
    int64_t count = 0;
    for (const nn::checkpoint::StateEntry& entry : state)
        count += nn::checkpoint::in_file_order(entry).numel();
    CHECK(count == nn::parameter_count(model));
}

TEST_CASE("names: Hugging Face's GPT-2 and BERT", "[golden][names]") {
    const StateDict gpt2 = gpt2_state_dict(LanguageModel(small_gpt2(), Rng(1)));
    CHECK(has(gpt2, "transformer.wte.weight", {11, 12}));
    CHECK(has(gpt2, "transformer.wpe.weight", {9, 12}));
    CHECK(has(gpt2, "transformer.h.1.attn.c_attn.weight", {12, 36}));
    CHECK(has(gpt2, "transformer.h.1.mlp.c_fc.weight", {12, 20}));
    CHECK(has(gpt2, "transformer.h.0.ln_2.bias", {12}));
    CHECK(has(gpt2, "transformer.ln_f.weight", {12}));
    CHECK(has(gpt2, "lm_head.weight", {11, 12}));
    CHECK(names(gpt2).size() == 2 + 2 * 12 + 2 + 1);
    const StateDict bert = bert_state_dict(MaskedLanguageModel(small_bert(), Rng(1)));
    CHECK(has(bert, "bert.embeddings.LayerNorm.weight", {12}));
    CHECK(has(bert, "bert.embeddings.token_type_embeddings.weight", {2, 12}));
    CHECK(has(bert, "bert.encoder.layer.1.attention.self.key.weight", {12, 12}));
    CHECK(has(bert, "bert.encoder.layer.1.attention.output.LayerNorm.bias", {12}));
    CHECK(has(bert, "bert.encoder.layer.1.intermediate.dense.weight", {20, 12}));
    CHECK(has(bert, "bert.encoder.layer.1.output.dense.weight", {12, 20}));
    CHECK(has(bert, "cls.predictions.transform.dense.weight", {12, 12}));
    CHECK(has(bert, "cls.predictions.transform.LayerNorm.weight", {12}));
    CHECK(has(bert, "cls.predictions.bias", {11}));
    CHECK(names(bert).size() == 5 + 2 * 16 + 4 + 3);
}

TEST_CASE("names: models that compute something else than GPT-2 and BERT", "[golden][names]") {
    using Change = void (*)(Config&);
    const auto gpt2_error = [](Change change) {
        Config c = small_gpt2();
        change(c);
        return error_of([&] { gpt2_state_dict(LanguageModel(c, Rng(1))); });
    };
    CHECK(gpt2_error([](Config&) {}) == "");
    CHECK(contains(gpt2_error([](Config& c) { c.block.norm = NormPlacement::post; }),
                   R"(in gpt2 norm is "pre": this model has "post")"));
    CHECK(gpt2_error([](Config& c) { c.block.activation = nn::Activation::relu; }) == "");
    CHECK(contains(gpt2_error([](Config& c) { c.block.gated = true; }),
                   "in gpt2 gated is false: this model has true"));
    CHECK(contains(gpt2_error([](Config& c) { c.block.scale_embeddings = true; }),
                   "in gpt2 scale_embeddings is false"));
    const auto bert_error = [](Change change) {
        Config c = small_bert();
        change(c);
        return error_of([&] { bert_state_dict(MaskedLanguageModel(c, Rng(1))); });
    };
    CHECK(bert_error([](Config&) {}) == "");
    CHECK(contains(bert_error([](Config& c) { c.block.norm = NormPlacement::pre; }),
                   R"(in bert norm is "post")"));
    CHECK(contains(bert_error([](Config& c) { c.final_norm = true; }), "in bert final_norm is false"));
    CHECK(contains(bert_error([](Config& c) { c.block.positions = nn::Positions::sinusoidal; }),
                   R"(in bert positions is "learned")"));
    CHECK(contains(bert_error([](Config& c) { c.block.scale_embeddings = true; }),
                   "in bert scale_embeddings is false"));
}

TEST_CASE("names: saved and loaded, every bit and the metadata", "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors";
    for (const Config& config : {small_tied(), small_prenorm()}) {
        const Transformer model(config, Rng(1)), other(config, Rng(2));
        save_pytorch(path, model, {{"epoch", "3"}});
        CHECK_FALSE(equal(model, other));
        CHECK(load_pytorch(path, other).at("epoch") == "3");
        CHECK(equal(model, other));
    }
    const LanguageModel gpt2(small_gpt2(), Rng(1)), gpt2_too(small_gpt2(), Rng(2));
    write(path, gpt2_state_dict(gpt2));
    load_gpt2(path, gpt2_too);
    CHECK(equal(gpt2, gpt2_too));
    const MaskedLanguageModel bert(small_bert(), Rng(1)), bert_too(small_bert(), Rng(2));
    write(path, bert_state_dict(bert));
    load_bert(path, bert_too);
    CHECK(equal(bert, bert_too));
}

TEST_CASE("names: variants of names in existing files", "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors", found = folder / "found.safetensors";
    // GPT2Model's names, with the buffers of old versions, and the tied head left out.
    const LanguageModel gpt2(small_gpt2(), Rng(1)), gpt2_too(small_gpt2(), Rng(2));
    write(path, gpt2_state_dict(gpt2));
    std::vector<StateEntry> all = without(items(path), "lm_head.weight");
    for (StateEntry& item : all)
        item.name = item.name.substr(std::string("transformer.").size());
    all.push_back({"h.0.attn.bias", Tensor::zeros({1, 1, 9, 9})});
    all.push_back({"h.1.attn.masked_bias", Tensor(-10000)});
    nn::checkpoint::write(found, all);
    load_gpt2(found, gpt2_too);
    CHECK(equal(gpt2, gpt2_too));

    // BertForPreTraining's, with gamma and beta, and tied weights under one name.
    const MaskedLanguageModel bert(small_bert(), Rng(1)), bert_too(small_bert(), Rng(2));
    write(path, bert_state_dict(bert));
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
    load_bert(found, bert_too);
    CHECK(equal(bert, bert_too));
    // Whole numbers under another name are not.
    bytes.replace(bytes.find("position_ids"), 12, "position_nos");
    put(found, bytes);
    CHECK(contains(error_of([&] { load_bert(found, bert_too); }), "position_nos"));

    // What torch.compile and DistributedDataParallel put before every name.
    for (const std::string wrapper : {"_orig_mod.", "module.", "module._orig_mod."}) {
        const auto wrapped = [&](const std::string& file) {
            std::vector<StateEntry> wrapped_items = items(file);
            for (StateEntry& item : wrapped_items)
                item.name = wrapper + item.name;
            return wrapped_items;
        };
        const LanguageModel gpt2_again(small_gpt2(), Rng(3));
        write(path, gpt2_state_dict(gpt2));
        nn::checkpoint::write(found, wrapped(path));
        load_gpt2(found, gpt2_again);
        CHECK(equal(gpt2, gpt2_again));
        const MaskedLanguageModel bert_again(small_bert(), Rng(3));
        write(path, bert_state_dict(bert));
        nn::checkpoint::write(found, wrapped(path));
        load_bert(found, bert_again);
        CHECK(equal(bert, bert_again));
    }
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

TEST_CASE("names: one tensor under two names of a file", "[golden][names]") {
    const Folder folder;
    const LanguageModel model(small_gpt2(), Rng(1));
    write(folder / "model.safetensors", gpt2_state_dict(model));
    std::vector<StateEntry> all = items(folder / "model.safetensors");
    all.push_back({"wpe.weight", Tensor::zeros({9, 12})});
    nn::checkpoint::write(folder / "twice.safetensors", all);
    CHECK(contains(error_of([&] { load_gpt2(folder / "twice.safetensors", model); }),
                   "unexpected: \"wpe.weight\""));
}

TEST_CASE("names: torch.nn.Transformer(bias=False) has no bias anywhere, norms included", "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors";
    const Config bare = small_stack("bare");
    const Encoder encoder(bare, Rng(1)), encoder_too(bare, Rng(2));
    const Decoder decoder(bare, Rng(3)), decoder_too(bare, Rng(4));
    const Stacks model{encoder, decoder}, other{encoder_too, decoder_too};
    save_pytorch(path, model);
    std::set<std::string> found;
    for (const StateEntry& item : items(path))
        if (contains(item.name, ".layers.0."))
            found.insert(item.name);
    std::set<std::string> expected;
    for (const std::string part : {"self_attn.in_proj_weight", "self_attn.out_proj.weight", "linear1.weight",
                                   "linear2.weight", "norm1.weight", "norm2.weight"})
        for (const std::string stack : {"encoder", "decoder"})
            expected.insert(stack + ".layers.0." + part);
    for (const std::string part :
         {"multihead_attn.in_proj_weight", "multihead_attn.out_proj.weight", "norm3.weight"})
        expected.insert("decoder.layers.0." + part);
    CHECK(found == expected);
    CHECK_FALSE(equal(model, other));
    load_pytorch(path, other);
    CHECK(equal(model, other));
}

TEST_CASE("names: a whole model without biases computes what one does whose biases are zero",
          "[golden][names]") {
    const Folder folder;
    const std::string path = folder / "model.safetensors";
    Config with = small_prenorm(), bare = small_prenorm();
    bare.block.attention_bias = bare.block.feed_forward_bias = bare.block.norm_bias = bare.block.output_bias =
        false;
    const Transformer model(bare, Rng(1)), other(bare, Rng(2)), zero(with, Rng(3));
    save_pytorch(path, model);
    CHECK_FALSE(equal(model, other));
    load_pytorch(path, other);
    CHECK(equal(model, other));
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
