// A checkpoint keeps how many steps each parameter has taken. (tests/fuzz/programs.cpp changes its bytes.)
#include "models/saved.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("checkpoint: each parameter's step count is restored", "[apps][kit][saved]") {
    const models::LanguageModel model(small_stack("gpt2"), autograd::Rng(1));
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
