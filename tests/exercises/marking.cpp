// Marking's messages, and the summary that `make exercise-N` shows in place of Catch2's report.
#define CATCH_CONFIG_EXTERNAL_INTERFACES  // version 2: for listeners
#include "tests/exercises/marking.h"

#include <unistd.h>

#include <cmath>
#include <csignal>
#include <iostream>

#include "autograd/base/random.h"
#include "autograd/storage.h"
#include "tests/catch.h"

namespace plaingrad::exercises {
namespace {

// "[1, 2]" for element 5 of shape (2, 3)
std::string place(const Shape& shape, int64_t element) {
    std::string text;
    for (int dim = shape.rank() - 1; dim >= 0; --dim) {
        text = std::to_string(element % shape[dim]) + (text.empty() ? "" : ", ") + text;
        element /= shape[dim];
    }
    return "[" + text + "]";
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-4 * (1 + std::fabs(b)); }

}  // namespace

bool close(const Row& a, const Row& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return close(x, y); });
}

Row row_of(const Tensor& x) {
    const std::vector<Real> values = x.to_vector();
    return Row(values.begin(), values.end());
}

Tensor tensor_of(const Shape& shape, const Row& values) {
    return Tensor::from(shape, std::vector<Real>(values.begin(), values.end()));
}

Tensor random_tensor(const Shape& shape, uint64_t seed) { return Tensor::randn(shape, autograd::Rng(seed)); }

void Marking::judge(bool right, const std::string& words) const {
    if (right)
        SUCCEED();
    else
        FAIL("[exercise " << exercise_ << "] " << words);
}

void Marking::expect_values(const std::string& what, const Tensor& given, const Shape& shape,
                            const Row& expected, const std::vector<Mistake>& mistakes) const {
    expect(given.defined(), "no values: ", what, " is an empty Tensor; expected shape ", shape);
    expect(given.shape() == shape, "wrong shape: ", what, " is ", given.shape(), "; expected ", shape);
    const Row values = row_of(given);
    for (int64_t i = 0; i < given.numel(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (close(values[at], expected[at]))
            continue;
        std::string rule = std::isnan(values[at]) ? "never written, or from 0/0 or infinity" : "wrong values";
        for (const Mistake& m : mistakes)
            if (close(values, m.values))
                rule = m.words;
        expect(false, rule, ": ", what, place(shape, i), " is ", values[at], "; expected ", expected[at]);
    }
    expect(true);
}

void Marking::expect_values(const std::string& what, const Row& given, const Row& expected,
                            const std::vector<Mistake>& mistakes) const {
    const auto size = static_cast<int64_t>(expected.size());
    expect(given.size() == expected.size(), "wrong size: ", what, " has ", given.size(),
           " numbers; expected ", size);
    // Through a tensor: one way to compare, and floats are exact enough for it.
    expect_values(what, tensor_of({size}, given), {size}, expected, mistakes);
}

namespace {

#if CATCH_VERSION_MAJOR >= 3
using Listener = Catch::EventListenerBase;
using Ended = void;
#else
using Listener = Catch::TestEventListenerBase;
using Ended = bool;
#endif

// A member in version 2, a pointer in version 3.
[[maybe_unused]] const Catch::TestCaseInfo& info(const Catch::TestCaseInfo& i) { return i; }
[[maybe_unused]] const Catch::TestCaseInfo& info(const Catch::TestCaseInfo* i) { return *i; }

// One line for each check, and below a red one what is wrong. Catch2's own report goes to /dev/null.
struct Summary : Listener {
    using Listener::Listener;

    void testCaseStarting(const Catch::TestCaseInfo&) override {
        autograd::storage_poison(true);  // an element that is read before it is written is NaN
        std::signal(SIGALRM, [](int) {
            const char words[] =
                "  red    this check did not end within 60 seconds; is there a loop without end?\n";
            [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, words, sizeof(words) - 1);
            _exit(1);
        });
        alarm(60);
    }

    Ended assertionEnded(const Catch::AssertionStats& stats) override {
        const Catch::AssertionResult& result = stats.assertionResult;
        if (!result.isOk())
            words_ = std::string(result.getMessage());
        if (result.getResultType() == Catch::ResultWas::FatalErrorCondition)
            words_ = "the program crashed (" + words_ + "); does it read or write outside of its memory?";
        return Ended(true);
    }

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const std::string name(info(stats.testInfo).name);
        std::cout << (stats.totals.testCases.failed > 0 ? "  red    " : "  green  ") << name << std::endl;
        if (stats.totals.testCases.failed > 0)
            std::cout << "         " << words_ << std::endl;
    }

private:
    std::string words_;
};

CATCH_REGISTER_LISTENER(Summary)

}  // namespace
}  // namespace plaingrad::exercises
