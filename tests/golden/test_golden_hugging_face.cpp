// Models from Hugging Face agree with transformers: folders as it writes them, and in older and other forms.
#include "models/saved.h"
#include "tests/golden/golden.h"
#include "tests/hugging_face/with_model.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

SavedModel folder_of(const std::string& name) { return SavedModel("tests/golden/hugging_face/" + name); }

void compute(const LanguageModel& model, const Golden& golden, Results& results) {
    const Tokens ids = golden.ids("ids");
    results.put("output/logits", rows_of(model(ids, Mode::eval()), ids.lengths()));
}
template <class Model>
void compute(const Model& model, const Golden& golden, Results& results) {
    const Tokens ids = golden.ids("ids");
    const Tensor y = model(ids, Mode::eval(), golden.integers.at("input/types"));
    results.put("output/logits", y.rank() == 3 ? rows_of(y, ids.lengths()) : y);
    if constexpr (std::is_same_v<Model, TextEncoder>)
        results.put("output/pooled", model.pooled(y));
}

Cases cases() {
    Cases all;
    for (const auto& [name, golden] : read_golden("hugging_face"))
        all[name] = [folder = folder_of(name)](const Golden& group, Results& results) {
            with_model(folder, [&](const auto& model) { compute(model, group, results); });
        };
    return all;
}

template <class Model>
std::map<std::string, Tensor> results_of(const Model& model, const Golden& golden) {
    Results results(golden);
    compute(model, golden, results);
    return results.all();
}

}  // namespace

TEST_CASE("transformers agrees: models of each family", "[golden][hugging_face]") {
    check_agreement("hugging_face", cases());
}

TEST_CASE("each weight of a model from Hugging Face matters", "[golden][hugging_face]") {
    for (const auto& [which, results] : read_golden("hugging_face"))
        with_model(folder_of(which), [&, &name = which, &golden = results](const auto& model) {
            for (const nn::NamedParameter& p : nn::parameters(model)) {
                INFO(name << ", " << p.name);
                Tensor x = p.tensor;
                // None in the middle: in a bias of queries, keys and values the keys' have no effect.
                Real& number = x.mutable_data()[x.numel() * 3 / 4];
                const Real before = number;
                number += Real(0.1);
                CHECK_FALSE(differences(golden, results_of(model, golden)).empty());
                number = before;
            }
        });
}

TEST_CASE("a model from Hugging Face is written back as it was", "[golden][hugging_face]") {
    for (const auto& [name, results] : read_golden("hugging_face")) {
        INFO(name);
        const Folder out;
        const SavedModel folder = folder_of(name);
        with_model(folder, [&, &golden = results](const auto& model) {
            save(out / "again", model, folder.config);
            const SavedModel again(out / "again");
            const auto copy = load_model<std::decay_t<decltype(model)>>(again);
            for (const auto& [output, x] : results_of(model, golden))
                CHECK(same_bits(x, results_of(copy, golden).at(output)));
            CHECK(again.config.notes.size() <= folder.config.notes.size());
            CHECK(again.config.labels == folder.config.labels);
            CHECK(again.config.max_length == folder.config.max_length);
            CHECK(again.config.max_positions == folder.config.max_positions);
        });
    }
}
