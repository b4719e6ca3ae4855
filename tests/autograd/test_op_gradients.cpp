// Every operation's gradient against finite differences, and that gradcheck itself can fail.
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/ops.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("ops: the table has a row for every function of ops.h", "[ops]") {
    std::set<std::string> rows;
    for (const OpRow& row : op_rows())
        rows.insert(row.op);
    const std::vector<std::string> declared = declared_ops();
    REQUIRE(declared.size() > 60);
    CHECK(std::vector<std::string>(rows.begin(), rows.end()) == declared);
}

TEST_CASE("ops: every gradient is right", "[ops][gradcheck]") {
    std::map<std::string, bool> has_gradient;  // of an op's input: somewhere it is not 0
    std::map<const OpRow*, int> large;         // how many calls had many numbers, which take long
    for_each_call(12, [&](const AloneCall& c) {
        int64_t numbers = 0;
        for (const Tensor& x : c.leaves)
            numbers += x.numel();
        if (!c.row.has_graph || c.bf16 || (numbers > 300 && ++large[&c.row] > 1))
            return;
        INFO(c.text());
        const auto f = [&, wanted = in_graph(c)](const Inputs& x) { return only(wanted, c.with(x)); };
        GradcheckOptions options;
        options.may_be_zero = true;
        const GradcheckResult result = gradcheck(f, c.leaves, options);
        INFO(result.message);
        CHECK(result.ok);
        CHECK(result.worst <= (kRealIsDouble ? 1e-7 : 1));
        const Inputs leaves = with_gradients(c);
        backward(c.with(leaves));
        for (std::size_t i = 0; i < leaves.size(); ++i)
            for (const Real g : leaves[i].grad().to_vector())
                has_gradient[c.row.op + " " + c.names[i]] |= g != 0;
    });
    for (const auto& [input, has] : has_gradient) {
        INFO(input);
        CHECK(has);
    }
}

// ---- the example at the top of op.h

namespace {

Tensor product(const Tensor& a, const Tensor& b) {
    check(a.shape() == b.shape(), "[product] a is ", a.shape(), ", b is ", b.shape(), "; they must be equal");
    Tensor out = Tensor::uninitialized(a.shape());
    const Real *x = a.data(), *y = b.data();
    Real* const to = out.mutable_data();
    for (int64_t i = 0; i < out.numel(); ++i)
        to[i] = x[i] * y[i];
    return with_backward(
        "product", out, {&a, &b},
        [da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
            const auto pass = [&, d = dout.data()](const Real* factor, const kernels::Out& dx) {
                for (int64_t i = 0; dx.data != nullptr && i < dout.numel(); ++i)
                    dx.data[i] = dx.accumulate ? dx.data[i] + d[i] * factor[i] : d[i] * factor[i];
            };
            pass(b.data(), da.open());  // nullptr where no gradient is wanted
            pass(a.data(), db.open());
        });
}

// The code of a file without blanks, line breaks and the marks of comments.
std::string code_of(const char* path) {
    std::ifstream file(path);  // tests run in the repository's root
    std::string text;
    for (char c; file.get(c);)
        if (c != ' ' && c != '\n' && c != '/')
            text += c;
    return text;
}

}  // namespace

TEST_CASE("op.h: its example is tested as an op", "[gradcheck][ops]") {
    const std::string header = code_of("autograd/op.h");
    const std::size_t begin = header.find("Tensorproduct("), end = header.find("});}", begin);
    REQUIRE(end < header.size());
    CHECK(code_of("tests/autograd/test_op_gradients.cpp").find(header.substr(begin, end - begin)) !=
          std::string::npos);

    const auto f = [](const Inputs& x) { return product(x[0], x[1]) + product(x[0], x[0]); };
    CHECK(gradcheck(f, {random({3, 5}, 1), random({3, 5}, 2)}).ok);
    Tensor a = random({3}, 3), b = random({3}, 4).require_grad();
    sum(product(a, b)).backward();
    CHECK(b.grad().to_vector() == a.to_vector());
    CHECK_THROWS_AS(product(a, random({4}, 5)), Error);
}

// ---- gradcheck must fail where something is wrong

namespace {

// y = x², with any backward.
template <class Derivative>
Tensor square(const Tensor& x, Derivative derivative) {
    const Tensor y = mul(x, x).detach();
    return with_backward("square", y, {&x}, [=, dx = x.sink(), x = x.save()](const Tensor& dy) {
        const kernels::Out out = dx.open();
        for (int64_t i = 0; i < dy.numel(); ++i) {
            const Real d = derivative(x.data()[i], dy.data()[i]);
            out.data[i] = out.accumulate ? out.data[i] + d : d;
        }
    });
}

template <class Derivative>
GradcheckResult check_square(Derivative derivative, GradcheckOptions options = {}) {
    return gradcheck([=](const Inputs& x) { return square(x[0], derivative); }, {random({3, 5}, 1, 0.5, 2)},
                     options);
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
    CHECK(!check_square([](Real x, Real) { return 2 * x; }).ok);           // forgets dy
    CHECK(!check_square([](Real x, Real dy) { return -2 * x * dy; }).ok);  // wrong sign
    const Real first = random({3, 5}, 1, 0.5, 2).data()[0];                // one element of fifteen
    CHECK(!check_square([first](Real x, Real dy) { return x == first ? x * dy : 2 * x * dy; }).ok);
}

TEST_CASE("gradcheck: NaN and all zeros fail", "[gradcheck]") {
    const GradcheckResult nan = check_square([](Real, Real) { return kNan; });
    CHECK(!nan.ok);
    CHECK(nan.worst != nan.worst);
    CHECK(!gradcheck([](const Inputs& x) { return mul(x[0], kNan); }, {random({3}, 1)}).ok);

    // Both gradients are 0 everywhere: the check must report that it has tested nothing.
    const auto zero_function = [](const Inputs& x) { return mul(x[0], Real(0)); };
    const GradcheckResult zero = gradcheck(zero_function, {random({3}, 1)});
    CHECK(!zero.ok);
    CHECK(contains(zero.message, "is 0 everywhere"));
    GradcheckOptions options;
    options.may_be_zero = true;
    CHECK(gradcheck(zero_function, {random({3}, 1)}, options).ok);
    CHECK(!check_square([](Real, Real) { return Real(0); }, options).ok);

    // Each input counts by itself, whatever the one before it has.
    const auto of_the_first = [](const Inputs& x) { return add(mul(x[0], x[0]), mul(x[1], Real(0))); };
    const GradcheckResult second = gradcheck(of_the_first, {random({3}, 1), random({3}, 2)});
    CHECK(!second.ok);
    CHECK(contains(second.message, "the gradient of input 1 (3) is 0 everywhere"));
}

TEST_CASE("gradcheck: in float, too; and an input without elements has nothing to check", "[ops]") {
    const auto f = [](const Inputs& x) { return mul(x[0], x[0]) + sum(x[1]); };
    const GradcheckResult result = gradcheck(f, {random({3}, 1), Tensor::zeros({0})});
    INFO(result.message);
    CHECK(result.ok);
    const auto wrong = [](const Inputs& x) { return mul(x[0], x[0].detach()); };
    CHECK(!gradcheck(wrong, {random({3}, 1)}).ok);
}

TEST_CASE("gradcheck: an input that no gradient reaches fails", "[gradcheck]") {
    const GradcheckResult lost =
        gradcheck([](const Inputs& x) { return add(x[0], x[1].detach()); }, {random({3}, 1), random({3}, 2)});
    CHECK(!lost.ok);
    CHECK(contains(lost.message, "no gradient reached input 1"));
    // Also if the op has no backward at all.
    const GradcheckResult none = gradcheck([](const Inputs& x) { return x[0].clone(); }, {random({3}, 1)});
    CHECK(contains(none.message, "no gradient reached input 0"));
    // The inputs behind it are compared, too.
    const GradcheckResult both =
        gradcheck([](const Inputs& x) { return add(x[0].detach(), mul(x[1], x[1].detach())); },
                  {random({3}, 1), random({3}, 2, 0.5, 2)});
    CHECK(contains(both.message, "no gradient reached input 0"));
    CHECK(both.worst > 0.1);
}

TEST_CASE("gradcheck: does not change the inputs", "[gradcheck]") {
    const Tensor x = random({3, 5}, 3);
    const std::vector<Real> before = x.to_vector();
    CHECK(gradcheck([](const Inputs& in) { return exp(in[0]); }, {x}).ok);
    CHECK(same_bits(x.to_vector(), before));
    CHECK(!x.needs_grad());
}
