// The n-th allocation of a call of the library fails. Then the call throws, gives back all memory that it had
// taken, and its objects are as before: called again, it does what it would have done.
#include <new>

#include "autograd/base/parallel.h"
#include "autograd/storage.h"
#include "models/decoding/decoding.h"
#include "models/saved.h"
#include "tests/allocations.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"
#include "tests/packed.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

// Its result, in few bytes; the same whenever it is called.
using Call = std::function<uint64_t()>;
struct Operation {
    std::string name;
    std::function<Call()> prepare;  // with the objects that it works on
};

uint64_t hash_of(const std::vector<Hypothesis>& all) {
    uint64_t h = 0;
    for (const Hypothesis& hypothesis : all)
        for (const int32_t id : hypothesis.ids)
            h = h * 31 + static_cast<uint64_t>(id);
    return h;
}

// One step of Adam.
template <class Model, class Loss>
Call training_step(std::shared_ptr<Model> model, const Loss& loss) {
    auto adam = std::make_shared<nn::Adam>(nn::parameters(*model), nn::AdamOptions{});
    return [=] {
        const auto loss_of = [&](int64_t, const nn::Mode& mode) { return loss(*model, mode); };
        nn::train(*adam, loss_of, {.steps = 1, .learning_rate = [](int64_t) { return 0.01; }});
        return hash(*model) ^ hash(adam->state());
    };
}

std::shared_ptr<LanguageModel> language_model() {
    return std::make_shared<LanguageModel>(small_stack("gpt2"), Rng(3));
}
std::shared_ptr<Transformer> transformer() { return std::make_shared<Transformer>(small("paper"), Rng(3)); }
uint64_t written_by(const LanguageModel& model) {
    return hash_of(greedy(*model.start(padded(sentences({5, 5}, 1))), 4));
}

// Of models that are saved in `saved`, and, as Hugging Face's libraries write it, in `others`.
std::vector<Operation> operations(const std::string& saved, const std::string& others) {
    const auto always = [](const Call& call) { return [=] { return call; }; };
    const auto file = [](const std::string& folder) { return content(folder + "/model.safetensors"); };
    const auto src = padded(sentences({5, 3}, 1));
    const auto text = framed(sentences({5, 7}, 1)), tgt = framed(sentences({4, 6}, 2));
    return {{"loading a saved model", always([=] { return hash(load_model<LanguageModel>(saved)); })},
            {"loading a folder of others",
             always([=] { return hash(load_model<LanguageModel>(SavedModel(others))); })},
            {"saving a model",
             [=] {
                 return [=, model = language_model()] {
                     save(saved + "-new", *model);
                     return uint64_t{file(saved + "-new") == file(saved)};
                 };
             }},
            {"packing weights", always([] {
                 const auto model = language_model();
                 pack_weights(*model);
                 return written_by(*model);
             })},
            {"a training step of a language model",
             [=] {
                 return training_step(language_model(), [=](const LanguageModel& m, const nn::Mode& mode) {
                     return next_token_loss(m, text, mode);
                 });
             }},
            {"a training step of a Transformer",
             [=] {
                 return training_step(transformer(), [=](const Transformer& m, const nn::Mode& mode) {
                     return teacher_forced_loss(m, src, tgt, mode);
                 });
             }},
            {"greedy search", [] { return [model = language_model()] { return written_by(*model); }; }},
            {"beam search", [=] {
                 return [=, model = transformer()] {
                     return hash_of(beam_search(*model->start(src), {.max_tokens = 6})[0]);
                 };
             }}};
}

// Its error, or "".
std::string error_of_call(const Call& call, uint64_t& result) {
    try {
        result = call();
        return "";
    } catch (const std::bad_alloc&) {
        return "memory";
    } catch (const std::exception& error) {
        return error.what();
    }
}

// In use, in blocks and in bytes of tensors.
std::pair<int64_t, int64_t> memory() {
    autograd::storage_trim();
    return {allocations_live(), autograd::storage_statistics().bytes_in_use};
}

// At every allocation of each operation, or at about so many.
void check_operations(int64_t most) {
    if (!counts_allocations())
        SKIP(kNotCounted);
    const Folder folder, others;
    save(folder / "saved", *language_model());
    write_folder(others);
    for (const int threads : {1, 2}) {
        const Threads so_many(threads);
        for (const Operation& operation : operations(folder / "saved", others.path)) {
            uint64_t expected = operation.prepare()();  // makes what is made once
            const Call whole = operation.prepare();
            fail_allocation(0);
            expected = whole();
            const int64_t all = allocations_made();
            CHECK(all > 100);
            for (int64_t n = 1; n <= all; n += std::max<int64_t>(1, all / most)) {
                uint64_t result = 0, again = 0;
                std::string error, error_again;
                std::pair<int64_t, int64_t> before, after;
                for (int round = 0; round < 2; ++round) {  // the first one makes what is made once
                    before = memory();
                    {
                        const Call call = operation.prepare();
                        fail_allocation(n, n % 3 == 0);
                        error = error_of_call(call, result);
                        fail_allocation(0);
                        error_again = error_of_call(call, again);
                    }
                    error.shrink_to_fit();
                    after = memory();
                }
                INFO(operation.name << ", " << threads << " threads, allocation " << n << ": " << error);
                CHECK((error.empty() ? result == expected : contains(error, "memory")));
                CHECK((error_again.empty() && (again == expected || error.empty())));
                CHECK((after.first <= before.first && after.second == before.second));
            }
        }
    }
}

}  // namespace

TEST_CASE("exhausted memory: a call that fails leaks nothing, and can be repeated", "[models]") {
    check_operations(40);
}

TEST_CASE("exhausted memory: the same at nearly every allocation", "[models][slow]") {
    check_operations(1'000);
}
