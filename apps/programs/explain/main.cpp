// A forward and a backward pass of a tiny trained Transformer, step by step, with all their numbers.
//
// train.cpp trains it; values.cpp computes the numbers, with the library in its plain form; lecture.txt has
// the words.
#include <unistd.h>

#include <iostream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/programs/explain/explain.h"
#include "autograd/base/list.h"

using namespace plaingrad;
using namespace plaingrad::explain;
using autograd::join;

namespace {

int64_t parse_triple(const Words& digits) {
    if (digits.empty())
        return 539;
    kit::check_usage(digits.size() == 3, "three digits are needed: got ", digits.size());
    int64_t n = 0;
    for (const std::string& digit : digits)
        n = 10 * n + kit::parse_integer("a digit", digit, {.max = 9});
    return n;
}

// The steps whose names begin so.
std::vector<std::size_t> choose(const Words& names, const std::string& wanted) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i].starts_with(wanted))
            chosen.push_back(i);
    kit::check_usage(!chosen.empty(), "unknown step '", wanted, "'", kit::suggestion(wanted, names),
                     " there are ", models::listed(names));
    return chosen;
}

Values compute(int64_t n, int64_t seed) {
    Trained trained(seed);
    kit::announce("explain", nn::parameter_count(trained.model));
    const Ids ids = triple_of(n);
    const models::Batch example = models::make_batch({{ids, {ids.rbegin(), ids.rend()}}});
    Values values = forward(trained.model, example);
    values.words["answer"] = names_of(trained.answer(ids));
    values.words["held.out"] = {held_out(n) ? "was one of these" : "was not one of these"};
    values.words["ids"] = {join(ids[0], " ", ids[1], " ", ids[2])};
    values.keep("steps", double(trained.adam.steps()));
    backward(trained, example, values);
    return values;
}

void main_program(kit::Options& options) {
    const std::vector<Step> steps = lecture_steps();
    std::string wanted;
    bool interactive = false;
    int64_t seed = 1;
    Words digits, pages;
    const Words names = autograd::mapped(steps, &Step::name);
    // No --precision: the lecture derives each number from those before it, in float32, and then checks that
    // the library has the same. With rounded factors it would have others.
    options.rest("DIGIT DIGIT DIGIT", "the digits to reverse (5 3 9)", digits);
    options.add("--step", "NAME", "only the steps whose names begin with NAME", wanted);
    options.add("--interactive", "one step on a screen; the arrow keys turn pages", interactive);
    options.add("--seed", "N", "random seed of weights and training data", seed);
    options.note("Steps: " + models::listed(names) + ".");
    options.parse();

    const std::vector<std::size_t> chosen = choose(names, wanted);
    kit::check_usage(!interactive || (kit::is_terminal(STDIN_FILENO) && kit::is_terminal(STDOUT_FILENO)),
                     "--interactive turns pages by key: standard input and output must be a terminal");
    const Values values = compute(parse_triple(digits), seed);
    for (const std::size_t i : chosen)
        pages.push_back(page(steps[i], join(i + 1, "/", steps.size()), values, kit::stdout_ink()));
    if (interactive)
        turn_pages(pages);
    else
        std::cout << models::listed(pages, "\n\n");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "explain", argc, argv,
        {{"", "shows every number of a tiny Transformer that reverses three digits", main_program}});
}
