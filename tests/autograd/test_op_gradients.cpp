// Every operation's gradient against differences of its forward, and that gradcheck itself can fail.
#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <regex>

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "tests/autograd/op_table.h"
#include "tests/catch.h"

using namespace autograd;  // NOLINT
using namespace tests;     // NOLINT

TEST_CASE("ops: every gradient is right", "[ops][gradcheck]") {
    for (const OpRow& row : OpTable().rows) {
        GradcheckOptions options;
        options.may_be_zero = row.may_be_zero;
        const GradcheckResult result = gradcheck(row.call, row.inputs, options);
        INFO(row.op << ", " << row.detail << ": " << result.message);
        CHECK(result.ok);
        CHECK(result.worst <= (kRealIsDouble ? 1e-7 : 1));
    }
}

// The names in ops.h, with how often each is declared.
static std::map<std::string, int> declared() {
    std::ifstream file("autograd/ops.h");  // tests run in the repository's root
    REQUIRE(file.is_open());
    const std::regex declaration(R"(^(inline )?Tensor (operator.|[a-z_]+)\(.*)");
    std::map<std::string, int> names;
    std::smatch match;
    for (std::string line; std::getline(file, line);)
        if (std::regex_match(line, match, declaration))
            ++names[match[2]];
    return names;
}

TEST_CASE("ops: the table has a row for every declaration in ops.h", "[ops]") {
    std::map<std::string, int> rows;
    for (const OpRow& row : OpTable().rows)
        ++rows[row.op];
    const std::map<std::string, int> names = declared();
    REQUIRE(names.size() >= 30);
    REQUIRE(names.count("attention") == 1);
    for (const auto& [name, count] : names) {
        INFO(name << " is declared " << count << " times and has " << rows[name] << " rows");
        CHECK(rows[name] >= count);
    }
    for (const auto& [name, count] : rows) {
        INFO(name << " has rows and is not in ops.h");
        CHECK(names.count(name) == 1);
    }
}

// ---- gradcheck must fail where something is wrong

namespace {

// y = x², with whatever backward.
template <class Derivative>
Tensor square(const Tensor& x, Derivative derivative) {
    const Tensor y = mul(x, x).detach();
    return with_backward(y, {&x}, [=, dx = x.sink(), x = x.save()](const Tensor& dy) {
        const kernels::Out out = dx.open();
        for (int64_t i = 0; i < x.numel(); ++i) {
            const Real d = derivative(x.data()[i], dy.data()[i]);
            out.data[i] = out.accumulate ? out.data[i] + d : d;
        }
    });
}

template <class Derivative>
GradcheckResult check_square(Derivative derivative, GradcheckOptions options = {}) {
    return gradcheck([=](const Inputs& x) { return square(x[0], derivative); },
                     {random({3, 5}, 1, 0.5, 2)}, options);
}

}  // namespace

TEST_CASE("gradcheck: a right op passes, and a wrong one does not", "[gradcheck]") {
    const GradcheckResult right = check_square([](Real x, Real dy) { return 2 * x * dy; });
    INFO(right.message);
    CHECK(right.ok);
    CHECK(right.message.empty());
    CHECK(right.worst <= 1e-7);

    const GradcheckResult one_percent = check_square([](Real x, Real dy) { return Real(2.02) * x * dy; });
    CHECK(!one_percent.ok);
    CHECK(contains(one_percent.message, "[gradcheck] input 0 (3, 5), element 0"));
    CHECK(one_percent.worst > 1e-3);
    CHECK(!check_square([](Real x, Real) { return 2 * x; }).ok);          // forgets dy
    CHECK(!check_square([](Real x, Real dy) { return -2 * x * dy; }).ok);  // wrong sign
    // One element of fifteen.
    CHECK(!check_square([first = true](Real x, Real dy) mutable {
               return std::exchange(first, false) ? x * dy : 2 * x * dy;
           }).ok);
}

TEST_CASE("gradcheck: NaN and all zeros fail", "[gradcheck]") {
    const GradcheckResult nan = check_square([](Real, Real) { return kNan; });
    CHECK(!nan.ok);
    CHECK(nan.worst != nan.worst);
    CHECK(!gradcheck([](const Inputs& x) { return mul(x[0], kNan); }, {random({3}, 1)}).ok);

    // Both are 0 everywhere: nothing to see but that nothing was tested.
    const auto zero_function = [](const Inputs& x) { return mul(x[0], Real(0)); };
    const GradcheckResult zero = gradcheck(zero_function, {random({3}, 1)});
    CHECK(!zero.ok);
    CHECK(contains(zero.message, "is 0 everywhere"));
    GradcheckOptions options;
    options.may_be_zero = true;
    CHECK(gradcheck(zero_function, {random({3}, 1)}, options).ok);
    CHECK(!check_square([](Real, Real) { return Real(0); }, options).ok);
}

TEST_CASE("gradcheck: an input that no gradient reaches fails", "[gradcheck]") {
    const GradcheckResult lost =
        gradcheck([](const Inputs& x) { return add(x[0], x[1].detach()); }, {random({3}, 1), random({3}, 2)});
    CHECK(!lost.ok);
    CHECK(contains(lost.message, "no gradient reached input 1"));
    CHECK(gradcheck([](const Inputs& x) { return mul(x[0], x[0]); }, {Tensor::zeros({0, 3})}).ok == false);
}

TEST_CASE("gradcheck: the inputs stay as they were", "[gradcheck]") {
    const Tensor x = random({3, 5}, 3);
    const std::vector<Real> before = x.to_vector();
    CHECK(gradcheck([](const Inputs& in) { return exp(in[0]); }, {x}).ok);
    CHECK(same_bits(x.to_vector(), before));
    CHECK(!x.needs_grad());
}
