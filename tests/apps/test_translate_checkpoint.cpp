// A checkpoint that is cut anywhere, or has any byte changed, is refused or harmless.
#include "models/saved.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

// As small as possible.
models::Transformer tiny() {
    return models::Transformer({.src_vocabulary = 6,
                                .vocabulary = 6,
                                .max_length = 4,
                                .n_layers = 1,
                                .n_decoder_layers = 1,
                                .embeddings_tied = true,
                                .tied = true,
                                .block = {.d_model = 2, .n_heads = 1, .d_ff = 2}},
                               autograd::Rng(1));
}

// A complete checkpoint of it.
std::string checkpoint(const std::string& path) {
    const models::Transformer model = tiny();
    nn::Training training(nn::parameters(model), {});
    models::save(std::filesystem::path(path).parent_path().string(), model);
    models::save_checkpoint(path, models::state_dict(model), {{"translate.arguments", "--steps=9\n--\na\nb"}},
                            &training);
    return content(path);
}

// Loads a checkpoint as a program does. Returns whether it was accepted; anything but an Error fails the
// test.
bool opens(const std::string& path) {
    try {
        const auto model = models::load_model<models::Transformer>(path);
        nn::Training training(nn::parameters(model), {});
        models::load_training(path, training);
        return true;
    } catch (const autograd::Error& error) {
        const std::string message = error.what();
        CHECK((!message.empty() && message.find('\n') == message.npos));
        return false;
    }
}

}  // namespace

TEST_CASE("checkpoint: each parameter's step count is restored", "[apps][kit][saved]") {
    const models::Transformer model = tiny();
    const Folder folder;
    nn::Training training(nn::parameters(model), {});
    const auto check_restored = [&](int64_t steps, const std::vector<int64_t>& of_each) {
        training.adam.set_steps(steps, of_each);
        models::save_checkpoint(folder / "file", models::state_dict(model), {}, &training);
        nn::Training back(nn::parameters(model), {});
        models::load_training(folder / "file", back);
        CHECK((back.adam.steps() == steps && back.adam.steps_of_each() == of_each));
    };
    const std::size_t n = training.adam.parameters().size();
    check_restored(9, std::vector<int64_t>(n, 9));
    for (const int64_t steps : {int64_t{9}, int64_t{1} << 40}) {
        std::vector<int64_t> of_each(n, steps);
        of_each[3] = steps - 1;
        check_restored(steps, of_each);
    }
}

TEST_CASE("checkpoint: cut anywhere it is refused; any byte changed, or harmless",
          "[apps][translate][slow]") {
    const Folder folder;
    const std::string path = folder / "file", whole = checkpoint(path);
    int64_t cut = 0, taken = 0, refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        put(path, whole.substr(0, at));
        cut += opens(path);
        for (const char flip : {'\x01', '\xff'}) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            put(path, changed);
            (opens(path) ? taken : refused) += 1;
        }
    }
    CHECK(cut == 0);
    CHECK(taken > 0);  // a weight is another number then
    CHECK(refused > 0);
    put(path, whole);
    CHECK(opens(path));
}
