// A checkpoint that is cut anywhere, or has any byte changed, is refused or harmless.
#include "models/saved.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

// A complete checkpoint of a model that is as small as possible.
std::string checkpoint(const std::string& path) {
    models::Config config = {.src_vocabulary = 6,
                             .vocabulary = 6,
                             .max_length = 4,
                             .n_layers = 1,
                             .n_decoder_layers = 1,
                             .embeddings_tied = true,
                             .tied = true,
                             .block = {.d_model = 2, .n_heads = 1, .d_ff = 2}};
    const models::Transformer model(config, autograd::Rng(1));
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

TEST_CASE("checkpoint: each parameter's step count is restored, and older files have one for all",
          "[apps][kit][saved]") {
    const models::Transformer model({.src_vocabulary = 5,
                                     .vocabulary = 5,
                                     .max_length = 4,
                                     .n_layers = 1,
                                     .n_decoder_layers = 1,
                                     .block = {.d_model = 2, .n_heads = 1, .d_ff = 2}},
                                    autograd::Rng(1));
    const Folder folder;
    const auto resumed = [&](const nn::Training& training) {
        models::save_checkpoint(folder / "file", models::state_dict(model), {}, &training);
        nn::Training back(nn::parameters(model), {});
        models::load_training(folder / "file", back);
        return std::pair(back.adam.steps(), back.adam.steps_of_each());
    };
    nn::Training training(nn::parameters(model), {});
    const std::size_t n = training.adam.parameters().size();
    training.adam.set_steps(9, std::vector<int64_t>(n, 9));
    CHECK(resumed(training) == std::pair(int64_t(9), std::vector<int64_t>(n, 9)));

    std::vector<int64_t> of_each(n, 9);
    of_each[3] = 2;
    training.adam.set_steps(9, of_each);
    CHECK(resumed(training) == std::pair(int64_t(9), of_each));

    const int64_t many = int64_t{1} << 40;
    of_each = std::vector<int64_t>(n, many);
    of_each[1] = many - 1;
    training.adam.set_steps(many, of_each);
    CHECK(resumed(training) == std::pair(many, of_each));
}

TEST_CASE("checkpoint: cut at any length it is refused", "[apps][translate][slow]") {
    const Folder folder;
    const std::string path = folder / "file", whole = checkpoint(path);
    REQUIRE(opens(path));
    int64_t taken = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
        put(path, whole.substr(0, length));
        taken += opens(path);
    }
    CHECK(taken == 0);
}

TEST_CASE("checkpoint: with any byte changed it is refused, or harmless", "[apps][translate][slow]") {
    const Folder folder;
    const std::string path = folder / "file", whole = checkpoint(path);
    int64_t taken = 0, refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const char flip : {'\x01', '\xff'}) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            put(path, changed);
            (opens(path) ? taken : refused) += 1;
        }
    CHECK(taken > 0);  // a weight is another number then
    CHECK(refused > 0);
    put(path, whole);
    CHECK(opens(path));
}
