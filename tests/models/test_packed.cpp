// Models whose weights are all packed: they write with the same bits as before.
#include "autograd/weight.h"
#include "models/saved.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/steppers.h"
#include "tests/packed.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Precision;
using autograd::Tokens;

namespace {

const Precision kBoth[] = {Precision::float32, Precision::bf16};
constexpr int64_t kVocabulary = 70;  // more than a panel has columns

// Packed for bfloat16, an embedding's numbers are rounded. So the model to compare with has rounded tables.
template <class Model>
void round_tables(const Model& model) {
    for (const nn::NamedParameter& p : nn::parameters(model))
        if (model.config.block.precision == Precision::bf16 && p.is_table)
            autograd::kernels::cpu().unary(autograd::kernels::Unary::to_bf16, p.tensor.numel(),
                                           p.tensor.data(), p.tensor.mutable_data());
}

Tokens drawn(int64_t batch, int64_t length) {
    const std::vector<int> lengths(static_cast<std::size_t>(batch), static_cast<int>(length));
    return padded(sentences(lengths, 3, kVocabulary));
}

// The logits of whole texts; of a model that writes also those of a prompt, and then of a token at a time.
template <class Model>
std::vector<Tensor> computed(const Model& model) {
    std::vector<Tensor> all = {answers(model, sentences({24, 24}, 3, kVocabulary))};
    if constexpr (requires { model.start(Tokens()); })
        for (const int64_t batch : {1, 2, 64})
            for (const int64_t prompt : {1, 20}) {
                const Tokens text = drawn(batch, prompt + 4);
                const auto stepper = model.start(text);
                all.push_back(stepper->step(text.slice(0, prompt)));
                for (int64_t t = prompt; t < text.length(); ++t)
                    all.push_back(stepper->step(text.slice(t, t + 1), Logits::last));
            }
    return all;
}

}  // namespace

TEST_CASE("packed models: the same bits as before, of every kind, set and batch", "[models][packed][bits]") {
    for_each_isa([](const std::string& isa) {
        for (const Precision p : kBoth)
            for_each_model(
                [&](const std::string& name, const auto& model) {
                    INFO(isa << ", " << name << ", " << autograd::kPrecisionNames[int(p)]);
                    round_tables(model);
                    const std::vector<Tensor> before = computed(model);
                    tests::pack_weights(model);
                    const std::vector<Tensor> after = computed(model);
                    for (std::size_t i = 0; i < before.size(); ++i)
                        CHECK(same_bits(after[i], before[i]));
                    if constexpr (std::is_same_v<decltype(model), const LanguageModel&>)
                        CHECK(model.output.table->same_memory(model.backbone.embedding.tokens.table) ==
                              model.config.tied);  // tied weights stay tied, and are packed once
                },
                [&](Config& c) {
                    c.src_vocabulary = c.vocabulary = kVocabulary;
                    c.block.precision = p;
                });
    });
}

TEST_CASE("packed models: which parameters, and how many bytes", "[models][packed]") {
    using autograd::storage_statistics;
    for (const std::string& kind : all_stacks())
        for (const Precision p : kBoth) {
            INFO(kind << ", " << autograd::kPrecisionNames[int(p)]);
            Config c = small_stack(kind, kVocabulary);
            c.block.precision = p;
            const LanguageModel model(c, Rng(1));
            const int64_t count = nn::parameter_count(model);
            tests::pack_weights(model);
            CHECK(nn::parameter_count(model) == count);
            for (const nn::NamedParameter& parameter : nn::all_parameters(model)) {
                INFO(parameter.name);
                const bool wanted = parameter.name.ends_with("weight") || parameter.name == "output.table" ||
                                    parameter.name == "backbone.embedding.types.table" ||
                                    parameter.name == "backbone.embedding.tokens.table";
                CHECK(is_packed(parameter.tensor) == wanted);
                if (wanted)
                    CHECK(parameter.tensor.memory()->form.precision == p);
            }
            const Tokens text = drawn(1, 3);
            const int64_t before = storage_statistics().bytes_in_use;
            const auto stepper = model.start(text);
            stepper->step(text);
            int64_t cache = 0;  // of each layer: capacity x 2*G*D numbers, of which a vector is at least 16
            for (const auto& layer : model.backbone.encoder.layers)
                cache += 16 * (layer.self_attention.in_proj.weight->size(1) -
                               layer.self_attention.out_proj.weight->size(0));
            CHECK(storage_statistics().bytes_in_use - before <= cache * 9 / 8 * int64_t(sizeof(Real)));
        }
}

TEST_CASE("packed models: one parameter at a time, no two in float32 at once", "[models][packed]") {
    using autograd::storage_statistics;
    Config c = small_stack("llama");
    c.tied = false;
    c.block.d_model = c.block.head_dim = 64;  // sizes that fill whole panels
    c.block.d_ff = c.vocabulary = 128;
    const LanguageModel model(c, Rng(1));
    for (const nn::NamedParameter& p : nn::all_parameters(model)) {
        INFO(p.name);
        const int64_t before = storage_statistics().bytes_in_use;
        const int64_t bytes = p.tensor.numel() * int64_t(sizeof(Real));
        const autograd::UsePrecision bf16(Precision::bf16);
        tests::pack_weight(p);
        tests::pack_weight(p);  // once more does nothing
        const bool packed = p.is_matrix || p.is_table;
        CHECK(storage_statistics().bytes_in_use == before - (packed ? bytes / 2 : 0));
        const autograd::UsePrecision float32(Precision::float32);
        if (packed)
            CHECK(contains(error_of([&] { tests::pack_weight(p); }), "is packed for products in bf16"));
    }
}

TEST_CASE("packed models: the other precision, training, cloning and saving throw",
          "[models][packed][errors]") {
    LanguageModel model(small_stack("llama", kVocabulary), Rng(1));
    tests::pack_weights(model);
    const Tokens text = drawn(1, 3);
    model.config.block.precision = Precision::bf16;
    CHECK(error_of([&] { model.start(text)->step(text); }).starts_with("[packed weight] "));
    CHECK(error_of([&] { nn::clone(model); }).starts_with("[Tensor] this weight "));
    CHECK(error_of([&] { nn::freeze(model, false); }).starts_with("[Tensor] this weight "));
    const Folder folder;
    CHECK(contains(error_of([&] { models::save(folder.path, model); }),
                   " is empty, or packed, for computing only"));
    CHECK(folder.files() == 0);
    CHECK(nn::parameters(model)[0].tensor.needs_grad() == false);
}
