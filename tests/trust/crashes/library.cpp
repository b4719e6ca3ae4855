// The n-th allocation of a call of the library fails. Then the call throws, gives back all memory that it had
// taken, and its objects are as before: called again, it does what it would have done.
#include <cmath>
#include <new>

#include "autograd/base/parallel.h"
#include "autograd/storage.h"
#include "models/decoding/decoding.h"
#include "models/saved.h"
#include "tests/allocations.h"
#include "tests/models/folder_of_others.h"
#include "tests/packed.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

using models::LanguageModel;
using models::Transformer;
using tests::allocations_live;
using tests::allocations_made;
using tests::fail_allocation;

// Its result, in few bytes; the same whenever it is called.
using Call = std::function<uint64_t()>;
struct Operation {
    std::string name;
    std::function<Call()> prepare;  // with the objects that it works on
};

uint64_t hash_of(const std::vector<models::Hypothesis>& all) {
    uint64_t h = 0;
    for (const models::Hypothesis& hypothesis : all)
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
        return tests::hash(*model) ^ tests::hash(adam->state());
    };
}

std::shared_ptr<LanguageModel> language_model() {
    return std::make_shared<LanguageModel>(tests::small_stack("gpt2"), models::Rng(3));
}
std::shared_ptr<Transformer> transformer() {
    return std::make_shared<Transformer>(tests::small("paper"), models::Rng(3));
}
uint64_t written_by(const LanguageModel& model, int64_t tokens) {
    return hash_of(models::greedy(*model.start(tests::padded(tests::sentences({5, 5}, 1))), tokens));
}

// Of models that are saved in `saved`, and, as Hugging Face's libraries write it, in `others`.
std::vector<Operation> operations(const std::string& saved, const std::string& others) {
    return {
        {"loading a saved model",
         [=] { return Call([=] { return tests::hash(models::load_model<LanguageModel>(saved)); }); }},
        {"saving a model",
         [=] {
             return Call([=, model = language_model()] {
                 models::save(saved + "-new", *model);
                 const auto bytes = [](const std::string& of) {
                     return tests::content(of + "/model.safetensors");
                 };
                 return uint64_t{bytes(saved + "-new") == bytes(saved)};
             });
         }},
        {"loading a folder of others",
         [=] {
             return Call([=] {
                 const models::SavedModel folder(others);
                 return tests::hash(models::load_model<LanguageModel>(folder));
             });
         }},
        {"packing weights",
         [] {
             return Call([] {
                 const auto model = language_model();
                 tests::pack_weights(*model);
                 return written_by(*model, 3);
             });
         }},
        {"a training step of a language model",
         [] {
             const auto text = tests::framed(tests::sentences({5, 7}, 1));
             return training_step(language_model(), [=](const LanguageModel& m, const nn::Mode& mode) {
                 return tests::next_token_loss(m, text, mode);
             });
         }},
        {"a training step of a Transformer",
         [] {
             const auto src = tests::padded(tests::sentences({5, 3}, 1)),
                        tgt = tests::framed(tests::sentences({4, 6}, 2));
             return training_step(transformer(), [=](const Transformer& m, const nn::Mode& mode) {
                 return tests::teacher_forced_loss(m, src, tgt, mode);
             });
         }},
        {"greedy search", [] { return Call([model = language_model()] { return written_by(*model, 6); }); }},
        {"beam search", [] {
             return Call([model = transformer()] {
                 const auto src = tests::padded(tests::sentences({5, 3}, 1));
                 return hash_of(models::beam_search(*model->start(src), {.max_tokens = 6})[0]);
             });
         }}};
}

// "" if it was called to its end.
std::string failure_of(const Call& call, uint64_t& result) {
    try {
        result = call();
        return "";
    } catch (const std::bad_alloc&) {
        return "out of memory";
    } catch (const std::exception& error) {
        return error.what();
    }
}

// Memory that is in use, in blocks and in bytes of tensors.
struct Used {
    int64_t blocks, bytes;
    static Used now() {
        autograd::storage_trim();
        return {allocations_live(), autograd::storage_statistics().bytes_in_use};
    }
    bool grew(const Used& before) const { return blocks > before.blocks || bytes != before.bytes; }
};

// Returns whether the call has failed.
bool fails_at(int64_t n, bool on, const Operation& operation, uint64_t expected, Damage& damage) {
    const std::string which =
        operation.name + ", allocation " + std::to_string(n) + (on ? " and all later" : "");
    const Call call = operation.prepare();
    uint64_t result = 0;
    fail_allocation(n, on);
    const std::string failure = failure_of(call, result);
    fail_allocation(0);
    if (!failure.empty() && failure.find("memory") == failure.npos)
        damage.note("died", which, failure);
    if (failure.empty() && result != expected)
        damage.note("unequal", which, "it has succeeded, with another result");
    if (!failure.empty() && (!failure_of(call, result).empty() || result != expected))
        damage.note("unequal", which, "called again, it has another result");
    return !failure.empty();
}

// Returns how often one has failed.
int64_t measure(const Instrument& trust, const Operation& operation, Damage& damage) {
    uint64_t expected = 0;
    for (int round = 0; round < 2; ++round) {  // the first makes what is made once
        autograd::storage_trim();
        const Call call = operation.prepare();
        fail_allocation(0);
        expected = call();
    }
    int64_t cases = 0;
    for (const int64_t n :
         some_of(allocations_made(), trust.count(80, 200, 10'000), trust.rng().fork(operation.name))) {
        const bool on = n % 3 == 0;
        const Used before = Used::now();
        cases += fails_at(n, on, operation, expected, damage) ? 1 : 0;
        // A second time, for what is made once: a leak grows again.
        if (const Used first = Used::now(); first.grew(before)) {
            fails_at(n, on, operation, expected, damage);
            if (Used::now().grew(first))
                damage.note("leaks", operation.name + ", allocation " + std::to_string(n), "");
        }
    }
    return cases;
}

}  // namespace

int64_t library_allocations(const Instrument& trust, const Runs& runs) {
    const Folder folder, others;
    models::save(folder / "saved", *language_model());
    tests::write_folder(others);
    int64_t cases = 0;
    for (const int threads : {1, 2}) {
        autograd::set_thread_count(threads);
        for (const Operation& operation : operations(folder / "saved", others.path))
            cases += measure(trust, operation, runs.damage);
    }
    return cases;
}

}  // namespace plaingrad::trust
