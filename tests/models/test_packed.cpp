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

std::vector<std::string> packed_kinds() {
    std::vector<std::string> kinds = all_stacks();
    kinds.emplace_back("untied llama");
    return kinds;
}

Config config_of(const std::string& kind) {
    Config c = small_stack(kind == "untied llama" ? "llama" : kind, 70);  // more than a panel has columns
    if (kind == "untied llama")
        c.tied = false;
    return c;
}

// With bfloat16, an embedding's numbers are rounded. So the model to compare with has rounded tables.
template <class Model>
Model stirred(Model model, Precision p) {
    stir(model);
    model.config.block.precision = p;
    for (const nn::NamedParameter& parameter : nn::parameters(model))
        if (p == Precision::bf16 && parameter.is_table)
            autograd::kernels::cpu().unary(autograd::kernels::Unary::to_bf16, parameter.tensor.numel(),
                                           parameter.tensor.data(), parameter.tensor.mutable_data());
    return model;
}

Tokens drawn(int64_t batch, int64_t length) {
    return padded(
        sentences(std::vector<int>(static_cast<std::size_t>(batch), static_cast<int>(length)), 3, 70));
}

// A prompt, then a token at a time.
std::vector<Tensor> steps(const LanguageModel& model, const Tokens& text, int64_t prompt) {
    const auto stepper = model.start(text);
    std::vector<Tensor> all = {stepper->step(text.slice(0, prompt))};
    for (int64_t t = prompt; t < text.length(); ++t)
        all.push_back(stepper->step(text.slice(t, t + 1), Logits::last));
    return all;
}

void check_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        CHECK(same_bits(a[i], b[i]));
}

}  // namespace

TEST_CASE("packed models: the same bits as before, of every kind, set and batch", "[models][packed][bits]") {
    namespace kernels = autograd::kernels;
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        for (const std::string& kind : packed_kinds())
            for (const Precision p : kBoth) {
                LanguageModel model = stirred(LanguageModel(config_of(kind), Rng(1)), p);
                std::vector<std::vector<Tensor>> expected;
                const std::vector<int64_t> batches = {1, 2, 64}, prompts = {1, 20};
                for (const int64_t batch : batches)
                    for (const int64_t prompt : prompts)
                        expected.push_back(steps(model, drawn(batch, prompt + 4), prompt));
                const Tensor whole = model(drawn(2, 24), Mode::eval());
                tests::pack_weights(model);
                std::size_t at = 0;
                for (const int64_t batch : batches)
                    for (const int64_t prompt : prompts) {
                        INFO(*name << ", " << kind << ", " << autograd::kPrecisionNames[int(p)] << ", batch "
                                   << batch << ", prompt " << prompt);
                        check_same(steps(model, drawn(batch, prompt + 4), prompt), expected[at++]);
                    }
                CHECK(same_bits(model(drawn(2, 24), Mode::eval()), whole));
            }
    }
    kernels::use(kernels::available()[0]);
}

TEST_CASE("packed models: which parameters, and how many bytes", "[models][packed]") {
    using autograd::storage_statistics;
    for (const std::string& kind : packed_kinds())
        for (const Precision p : kBoth) {
            INFO(kind << ", " << autograd::kPrecisionNames[int(p)]);
            LanguageModel model = stirred(LanguageModel(config_of(kind), Rng(1)), p);
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
    Config c = config_of("untied llama");
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
    LanguageModel model(config_of("llama"), Rng(1));
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

TEST_CASE("packed models: of every kind, the same logits, and the same is written", "[models][packed]") {
    for (const Precision p : kBoth)
        for_each_model(
            [&](const std::string& name, const auto& given) {
                INFO(name << ", " << autograd::kPrecisionNames[int(p)]);
                const auto model = stirred(nn::clone(given), p);
                const Sentences s = sentences({4, 4, 4}, 3);
                const auto written = [&]() -> std::string {
                    if constexpr (requires { model.start(Tokens()); })
                        return decoded(model, s, 5, true);
                    else
                        return "";
                };
                const Tensor logits = answers(model, s);
                const std::string before = written();
                tests::pack_weights(model);
                CHECK(same_bits(answers(model, s), logits));
                CHECK(written() == before);
                if constexpr (std::is_same_v<decltype(model), const LanguageModel>)
                    CHECK(model.output.table->same_memory(model.backbone.embedding.tokens.table) ==
                          model.config.tied);  // tied weights stay tied, and are packed once
            },
            [&](Config& c) { c.block.precision = p; });
}
