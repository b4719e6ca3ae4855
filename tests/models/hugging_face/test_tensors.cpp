// The tensors of a folder: the names and shapes that transformers writes, which of our parameters they are,
// and in which files.
#include "models/hugging_face/weights.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "models/saved.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;             // NOLINT
using namespace models::hugging_face;  // NOLINT
using namespace tests;                 // NOLINT

namespace {

using autograd::join;
using Words = std::set<std::string>;

// What save_pretrained of transformers 5.23 wrote for models of one layer: name:sizes.
const char* const kGpt2Config =
    "h.0.attn.c_attn.bias:36 h.0.attn.c_attn.weight:12x36 h.0.attn.c_proj.bias:12 "
    "h.0.attn.c_proj.weight:12x12 h.0.ln_1.bias:12 h.0.ln_1.weight:12 h.0.ln_2.bias:12 "
    "h.0.ln_2.weight:12 h.0.mlp.c_fc.bias:20 h.0.mlp.c_fc.weight:12x20 h.0.mlp.c_proj.bias:12 "
    "h.0.mlp.c_proj.weight:20x12 ln_f.bias:12 ln_f.weight:12 wpe.weight:9x12 wte.weight:11x12";
const char* const kBertConfig =
    "embeddings.LayerNorm.bias:12 embeddings.LayerNorm.weight:12 "
    "embeddings.position_embeddings.weight:9x12 embeddings.token_type_embeddings.weight:2x12 "
    "embeddings.word_embeddings.weight:11x12 encoder.layer.0.attention.output.LayerNorm.bias:12 "
    "encoder.layer.0.attention.output.LayerNorm.weight:12 "
    "encoder.layer.0.attention.output.dense.bias:12 "
    "encoder.layer.0.attention.output.dense.weight:12x12 "
    "encoder.layer.0.attention.self.key.bias:12 encoder.layer.0.attention.self.key.weight:12x12 "
    "encoder.layer.0.attention.self.query.bias:12 "
    "encoder.layer.0.attention.self.query.weight:12x12 "
    "encoder.layer.0.attention.self.value.bias:12 "
    "encoder.layer.0.attention.self.value.weight:12x12 encoder.layer.0.intermediate.dense.bias:20 "
    "encoder.layer.0.intermediate.dense.weight:20x12 encoder.layer.0.output.LayerNorm.bias:12 "
    "encoder.layer.0.output.LayerNorm.weight:12 encoder.layer.0.output.dense.bias:12 "
    "encoder.layer.0.output.dense.weight:12x20";
const char* const kPredictions =
    "cls.predictions.bias:11 cls.predictions.transform.LayerNorm.bias:12 "
    "cls.predictions.transform.LayerNorm.weight:12 cls.predictions.transform.dense.bias:12 "
    "cls.predictions.transform.dense.weight:12x12";
const char* const kLlamaConfig =  // 2 heads of 6 numbers, 1 of keys and values
    "embed_tokens.weight:11x12 layers.0.input_layernorm.weight:12 "
    "layers.0.mlp.down_proj.weight:12x20 layers.0.mlp.gate_proj.weight:20x12 "
    "layers.0.mlp.up_proj.weight:20x12 layers.0.post_attention_layernorm.weight:12 "
    "layers.0.self_attn.k_proj.weight:6x12 layers.0.self_attn.o_proj.weight:12x12 "
    "layers.0.self_attn.q_proj.weight:12x12 layers.0.self_attn.v_proj.weight:6x12 norm.weight:12";
const char* const kWideHeads =  // of 8
    "lm_head.weight:11x12 model.embed_tokens.weight:11x12 "
    "model.layers.0.input_layernorm.weight:12 model.layers.0.mlp.down_proj.weight:12x20 "
    "model.layers.0.mlp.gate_proj.weight:20x12 model.layers.0.mlp.up_proj.weight:20x12 "
    "model.layers.0.post_attention_layernorm.weight:12 "
    "model.layers.0.self_attn.k_proj.weight:8x12 model.layers.0.self_attn.o_proj.weight:12x16 "
    "model.layers.0.self_attn.q_proj.weight:16x12 model.layers.0.self_attn.v_proj.weight:8x12 "
    "model.norm.weight:12";

Words words(const std::string& prefix, const std::string& list) {
    std::istringstream in(list);
    Words all;
    for (std::string word; in >> word;)
        all.insert(prefix + word);
    return all;
}

Words operator+(Words a, const Words& b) {
    a.insert(b.begin(), b.end());
    return a;
}

ConfigJson config(const std::string& family, const std::string& architecture, const std::string& more = "") {
    const Folder folder;
    const std::string sizes =
        family == "gpt2"
            ? R"("n_embd":12,"n_layer":1,"n_head":2,"n_positions":9,"n_inner":20)"
            : R"("hidden_size":12,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":20)";
    const std::string other = family == "gpt2"   ? ""
                              : family == "bert" ? R"(,"max_position_embeddings":9)"
                                                 : R"(,"num_key_value_heads":1)";
    return read_config(folder.write("config.json", R"({"model_type":")" + family + R"(","architectures":[")" +
                                                       architecture + R"("],"vocab_size":11,)" + sizes +
                                                       other + more + "}"));
}

// Calls f with the parameters of the model.
template <class F>
auto with_parameters(const ConfigJson& c, const F& f) {
    using namespace models;
    const Rng rng(1);
    return c.kind == Kind::causal       ? f(nn::all_parameters(LanguageModel(c, rng)))
           : c.kind == Kind::masked     ? f(nn::all_parameters(MaskedLanguageModel(c, rng)))
           : c.kind == Kind::classifier ? f(nn::all_parameters(Classifier(c, rng)))
                                        : f(nn::all_parameters(TextEncoder(c, rng)));
}

// name:sizes of what is written, or of all names.
Words listed(const ConfigJson& c, bool written) {
    return with_parameters(c, [&](const std::vector<nn::NamedParameter>& parameters) {
        Words all;
        for (const nn::checkpoint::StateEntry& e :
             written ? models::saved_state(parameters, c) : state_dict(c, parameters)) {
            std::string sizes;
            for (const int64_t size : sizes_of(e))
                sizes += (sizes.empty() ? ":" : "x") + std::to_string(size);
            CHECK(all.insert(e.name + sizes).second);
        }
        return all;
    });
}
Words names_written(const ConfigJson& c) { return listed(c, true); }

}  // namespace

TEST_CASE("hugging face tensors: names and shapes as transformers writes them", "[models][hugging_face]") {
    const std::string untied = R"(,"tie_word_embeddings":false)", tied = R"(,"tie_word_embeddings":true)";
    const Words head = {"lm_head.weight:11x12"},
                pooler = words("", "pooler.dense.bias:12 pooler.dense.weight:12x12");
    CHECK(names_written(config("gpt2", "GPT2LMHeadModel")) == words("transformer.", kGpt2Config));
    CHECK(names_written(config("gpt2", "GPT2LMHeadModel", untied)) ==
          words("transformer.", kGpt2Config) + head);
    CHECK(names_written(config("gpt2", "GPT2Model")) == words("", kGpt2Config));

    const Words decoder = {"cls.predictions.decoder.bias:11", "cls.predictions.decoder.weight:11x12"};
    const Words predictions = words("bert.", kBertConfig) + words("", kPredictions);
    CHECK(names_written(config("bert", "BertForMaskedLM")) == predictions);
    CHECK(names_written(config("bert", "BertForPreTraining")) == predictions);
    CHECK(names_written(config("bert", "BertForMaskedLM", untied)) == predictions + decoder);
    CHECK(names_written(config("bert", "BertModel")) == words("", kBertConfig) + pooler);
    CHECK(names_written(config("bert", "BertForSequenceClassification", R"(,"num_labels":3)")) ==
          words("bert.", kBertConfig) + words("bert.", "pooler.dense.bias:12 pooler.dense.weight:12x12") +
              words("classifier.", "bias:3 weight:3x12"));

    const Words llama = words("model.", kLlamaConfig);
    CHECK(names_written(config("llama", "LlamaModel", tied)) == words("", kLlamaConfig));
    CHECK(names_written(config("llama", "LlamaForCausalLM")) == llama + head);
    CHECK(names_written(config("llama", "LlamaForCausalLM", R"(,"head_dim":8)")) == words("", kWideHeads));
    CHECK(names_written(config("mistral", "MistralForCausalLM", R"(,"head_dim":8)")) ==
          words("", kWideHeads));
    const Words qkv = words("model.layers.0.self_attn.", "q_proj.bias:12 k_proj.bias:6 v_proj.bias:6");
    CHECK(names_written(config("qwen2", "Qwen2ForCausalLM")) == llama + head + qkv);
    CHECK(
        names_written(
            config("llama", "LlamaForCausalLM", tied + R"(,"attention_bias":true,"mlp_bias":true)")) ==
        llama + qkv +
            words(
                "model.layers.0.",
                "self_attn.o_proj.bias:12 mlp.gate_proj.bias:20 mlp.up_proj.bias:20 mlp.down_proj.bias:12"));

    // Second names of tied weights may be in a file.
    CHECK(listed(config("gpt2", "GPT2LMHeadModel"), false) == words("transformer.", kGpt2Config) + head);
    CHECK(listed(config("bert", "BertForMaskedLM"), false) == predictions + decoder);

    ConfigJson two = config("llama", "LlamaForCausalLM");
    two.n_layers = 2;
    CHECK(names_written(two).size() == 3 + 2 * 9);
    CHECK(names_written(two).contains("model.layers.1.mlp.up_proj.weight:20x12"));
}

TEST_CASE("hugging face tensors: parts of our matrices", "[models][hugging_face]") {
    const auto part = [](const ConfigJson& c, const std::string& name) {
        return with_parameters(c, [&](const std::vector<nn::NamedParameter>& parameters) {
            for (const nn::checkpoint::StateEntry& e : state_dict(c, parameters))
                for (const nn::NamedParameter& p : parameters)
                    if (e.name == name && p.tensor.data() == e.tensor.data())
                        return join(p.name, " ", e.transposed, " ", e.first, " ", e.columns);
            return std::string();
        });
    };
    const ConfigJson llama = config("llama", "LlamaForCausalLM", R"(,"head_dim":8,"attention_bias":true)");
    const std::string layer = "backbone.encoder.layers.0.", in = layer + "self_attention.in_proj.",
                      linear1 = layer + "feed_forward.linear1.weight ";
    CHECK(part(llama, "model.layers.0.self_attn.q_proj.weight") == in + "weight 1 0 16");
    CHECK(part(llama, "model.layers.0.self_attn.k_proj.weight") == in + "weight 1 16 8");
    CHECK(part(llama, "model.layers.0.self_attn.v_proj.weight") == in + "weight 1 24 8");
    CHECK(part(llama, "model.layers.0.self_attn.v_proj.bias") == in + "bias 0 24 8");
    CHECK(part(llama, "model.layers.0.self_attn.o_proj.weight") ==
          layer + "self_attention.out_proj.weight 1 0 -1");
    CHECK(part(llama, "model.layers.0.mlp.gate_proj.weight") == linear1 + "1 0 20");
    CHECK(part(llama, "model.layers.0.mlp.up_proj.weight") == linear1 + "1 20 20");
    CHECK(part(llama, "model.norm.weight") == "backbone.encoder.norm.gain 0 0 -1");
    CHECK(part(llama, "model.embed_tokens.weight") == "backbone.embedding.tokens.table 0 0 -1");
    const ConfigJson gpt2 = config("gpt2", "GPT2LMHeadModel");
    CHECK(part(gpt2, "transformer.h.0.attn.c_attn.weight") == in + "weight 0 0 -1");
    CHECK(part(gpt2, "lm_head.weight") == "backbone.embedding.tokens.table 0 0 -1");
    CHECK(part(llama, "lm_head.weight") == "output.table 0 0 -1");
}

TEST_CASE("hugging face tensors: which parameters are read and written", "[models][hugging_face]") {
    const ConfigJson g = config("gpt2", "GPT2LMHeadModel");
    const models::LanguageModel gpt2(g, autograd::Rng(1));
    const auto parameters = nn::all_parameters(gpt2);
    const nn::checkpoint::StateDict in = state_dict(g, parameters), out = models::saved_state(parameters, g);
    CHECK(in.size() == out.size() + 1);  // lm_head.weight, which is tied
    CHECK(in.back().name == "lm_head.weight");
    CHECK(in.back().tensor.data() == gpt2.backbone.embedding.tokens.table->data());
    CHECK(canonical_name(g, "wte.weight") == "transformer.wte.weight");
    const auto error = [&](const ConfigJson& c) { return error_of([&] { state_dict(c, parameters); }); };
    ConfigJson more = g, less = g;
    more.n_layers = 2;
    less.n_layers = 0;
    CHECK(error(more) ==
          "[hugging_face] this model is not gpt2: it lacks the parameter backbone.encoder.layers.1.norm1");
    CHECK(error(less) ==
          "[hugging_face] this model is not gpt2, which has no parameter "
          "backbone.encoder.layers.0.self_attention.in_proj.weight");
    // A tied output layer is nothing that a file without a head would lack.
    const ConfigJson bare = config("gpt2", "GPT2Model");
    CHECK(state_dict(bare, parameters).size() == out.size());
    const models::LanguageModel untied(config("gpt2", "GPT2Model", R"(,"tie_word_embeddings":false)"),
                                       autograd::Rng(1));
    CHECK(contains(error_of([&] { state_dict(bare, nn::all_parameters(untied)); }),
                   "has no parameter output.table"));
    // And back to its configuration.
    const ConfigJson again = config_of(g, "gpt2");
    CHECK(again.block.d_ff == 20);
    CHECK(again.specials.ends == g.specials.ends);
    CHECK(again.block.norm_eps == Approx(1e-5));
    models::Config other = g;
    other.block.scale_embeddings = true;
    CHECK(contains(error_of([&] { config_of(other, "gpt2"); }),
                   "[hugging_face] in gpt2 scale_embeddings is false: this model has true"));
    other = g.as(models::Kind::masked);
    CHECK(
        contains(error_of([&] { config_of(other, "bert"); }), "type_vocab_size must be a whole number from"));
    other.token_types = 2;
    CHECK(contains(error_of([&] { config_of(other, "bert"); }),
                   "in bert final_norm is false: this model has true"));
}

TEST_CASE("hugging face tensors: other names in files", "[models][hugging_face]") {
    const auto name = [](const ConfigJson& c, const char* in_file) { return canonical_name(c, in_file); };
    const ConfigJson gpt2 = config("gpt2", "GPT2LMHeadModel"), bare = config("gpt2", "GPT2Model");
    CHECK(name(gpt2, "wte.weight") == "transformer.wte.weight");
    CHECK(name(gpt2, "h.0.attn.c_attn.bias") == "transformer.h.0.attn.c_attn.bias");
    CHECK(name(gpt2, "_orig_mod.transformer.wte.weight") == "transformer.wte.weight");
    CHECK(name(gpt2, "lm_head.weight") == "lm_head.weight");
    CHECK(name(gpt2, "h.0.attn.bias") == "");
    CHECK(name(gpt2, "transformer.h.11.attn.masked_bias") == "");
    CHECK(name(bare, "transformer.wte.weight") == "wte.weight");
    CHECK(name(bare, "wte.weight") == "wte.weight");
    CHECK(name(bare, "lm_head.weight") == "");
    const ConfigJson bert = config("bert", "BertForMaskedLM"), plain = config("bert", "BertModel");
    const ConfigJson untied = config("bert", "BertForMaskedLM", R"(,"tie_word_embeddings":false)");
    CHECK(name(bert, "bert.embeddings.LayerNorm.gamma") == "bert.embeddings.LayerNorm.weight");
    CHECK(name(bert, "embeddings.LayerNorm.beta") == "bert.embeddings.LayerNorm.bias");
    CHECK(name(bert, "embeddings.position_ids") == "");
    CHECK(name(bert, "bert.pooler.dense.weight") == "");
    CHECK(name(bert, "cls.seq_relationship.weight") == "");
    CHECK(name(bert, "cls.predictions.bias") == "cls.predictions.bias");
    CHECK(name(untied, "cls.predictions.bias") == "");
    CHECK(name(plain, "bert.pooler.dense.weight") == "pooler.dense.weight");
    CHECK(name(plain, "cls.predictions.bias") == "");
    const ConfigJson classifier = config("bert", "BertForSequenceClassification");
    CHECK(name(classifier, "bert.pooler.dense.weight") == "bert.pooler.dense.weight");
    const ConfigJson llama = config("llama", "LlamaForCausalLM");
    CHECK(name(llama, "layers.0.self_attn.q_proj.weight") == "model.layers.0.self_attn.q_proj.weight");
    CHECK(name(llama, "model.layers.0.self_attn.rotary_emb.inv_freq") == "");
}

TEST_CASE("hugging face weights: one file, or those of an index", "[models][hugging_face]") {
    const Folder folder;
    const auto error = [&] { return error_of([&] { weight_files(folder.path); }); };
    CHECK(
        error() ==
        folder.path +
            ": there is no model in this folder: neither model.safetensors nor model.safetensors.index.json");
    folder.write("pytorch_model.bin", "");
    CHECK(contains(error(),
                   "pytorch_model.bin: this is in torch.save's format; convert it in Python, with the "
                   "class that config.json names: "
                   "transformers.CLASS.from_pretrained(FOLDER).save_pretrained(NEW)"));

    std::filesystem::remove(folder / "pytorch_model.bin");
    // What is there instead, and what to do, in one line.
    const std::pair<const char*, const char*> others[] = {
        {"adapter_model.safetensors", "this is an adapter (LoRA), which only changes another model; merge"},
        {"adapter_config.json", "this is an adapter (LoRA), which only changes another model; merge"},
        {"model-q4.gguf", "this is a file of llama.cpp; take the folder"},
        {"consolidated.00.pth", "this is in torch.save's format; convert it"},
        {"tf_model.h5", "this is in a format of TensorFlow or Flax; take"},
        {"flax_model.msgpack", "from_flax=True for .msgpack"},
        {"epoch.ckpt", "this is in torch.save's format; convert it"},
        {"model.fp16.safetensors", "this is not called model.safetensors"},
        {"model-00001-of-00002.safetensors", "if it is one of several, download that index, too"},
    };
    for (const auto& [name, advice] : others) {
        const Folder other;
        other.write(name, "");
        other.write("README.md", "");
        for (const bool with_config : {false, true}) {
            if (with_config)
                other.write("config.json", "{}");
            const std::string message = error_of([&] { weight_files(other.path); });
            CHECK(message.starts_with((other / name) + ": "));
            CHECK(contains(message, advice));
            CHECK_FALSE(contains(message, "\n"));
        }
    }
    // A name that ends with .pt may also be that of a Portuguese text.
    const Folder portuguese;
    std::filesystem::create_directories(portuguese / "folder.pt");
    for (const char* const text : {"", "Bom dia.\n"}) {
        portuguese.write("train.pt", text);
        CHECK(error_of([&] { weight_files(portuguese.path); }) ==
              portuguese.path +
                  ": there is no model in this folder: neither model.safetensors nor "
                  "model.safetensors.index.json");
    }
    const Folder cache;
    std::filesystem::create_directories(cache / "snapshots/0a1b");
    CHECK(error_of([&] { weight_files(cache.path); }) ==
          cache.path + ": this is a folder of Hugging Face's cache; the model is in " +
              (cache / "snapshots/0a1b"));
    const Folder dangling;
    std::filesystem::create_symlink("../../blobs/77", dangling / "model.safetensors");
    CHECK(error_of([&] { weight_files(dangling.path); }) ==
          (dangling / "model.safetensors") +
              ": this is a link to \"../../blobs/77\", which is not there; download the model again");

    const std::string index = folder / "model.safetensors.index.json";
    const auto wrong = [&](const std::string& text) {
        put(index, text);
        const std::string message = error();
        CHECK(message.starts_with(index + ": "));
        CHECK_FALSE(contains(message, "\n"));
        return message;
    };
    CHECK(contains(wrong("{}"), "weight_map is missing; it must be an object"));
    CHECK(contains(wrong(R"({"weight_map":{}})"), "there is nothing in its \"weight_map\""));
    CHECK(contains(wrong(R"({"weight_map":{"a":1}})"), "weight_map.a must be a string: got 1"));
    CHECK(contains(wrong(R"({"weight_map":{"a":"m1.safetensors"}})"),
                   "weight_map.a is in \"m1.safetensors\", which is not in the folder; download it, too"));
    for (const std::string outside : {"../m.safetensors", "/m.safetensors", "m.bin", ""})
        CHECK(contains(wrong(R"({"weight_map":{"a":")" + outside + "\"}}"),
                       "must name a safetensors file of this folder"));

    folder.write("m1.safetensors", "");
    folder.write("m2.safetensors", "");
    put(index, R"({"metadata":{"total_size":8},"weight_map":{"a":"m2.safetensors",)"
               R"("b":"m1.safetensors","c":"m2.safetensors"}})");
    CHECK(weight_files(folder.path) ==
          std::vector<std::string>{folder / "m2.safetensors", folder / "m1.safetensors"});

    folder.write("model.safetensors", "");  // comes first, as in transformers
    CHECK(weight_files(folder.path) == std::vector<std::string>{folder / "model.safetensors"});
}
