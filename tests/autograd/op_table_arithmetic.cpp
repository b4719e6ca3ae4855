// The rows of op_table.h for elementwise operations, choices and products.
#include <cmath>
#include <fstream>
#include <regex>
#include <utility>

#include "tests/autograd/op_table.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

std::map<std::string, int64_t> tests::declared_ops() {
    std::ifstream header("autograd/ops.h");
    const std::regex declaration(R"(^(inline )?Tensor&? (operator[^ (]+|[a-z_0-9]+)\(.*)");
    std::map<std::string, int64_t> names;
    std::smatch match;
    for (std::string line; std::getline(header, line);)
        if (std::regex_match(line, match, declaration))
            ++names[match[2]];
    autograd::check(names.contains("attention"),
                    "autograd/ops.h: it declares no attention; start this in the "
                    "repository's root");
    return names;
}

OpTable::OpTable(autograd::Precision precision) : p_(precision) {
    elementwise();
    choices();
    products();
    reductions();
    movers();
    softmax_and_loss();
    lookup();
    fused();
    attentions();
    const auto has = [](const OpRow& row, const char* word) {
        return row.op.find(word) != std::string::npos;
    };
    if (p_ == autograd::Precision::bf16)
        std::erase_if(rows, [&](const OpRow& row) {
            return !has(row, "matmul") && !has(row, "linear") && !has(row, "feed_forward") &&
                   !has(row, "attention");
        });
    for (OpRow& each : rows)
        each.is_slope = p_ == autograd::Precision::float32 && !has(each, "bf16");
}

std::vector<OpRow> tests::all_rows() {
    std::vector<OpRow> all = OpTable().rows;
    for (OpRow& row : OpTable(autograd::Precision::bf16).rows) {
        row.detail += ", bf16";
        all.push_back(std::move(row));
    }
    return all;
}

void OpTable::elementwise() {
    using Two = Tensor (*)(const Tensor&, const Tensor&);
    const std::pair<const char*, Two> two[] = {
        {"add", autograd::add},
        {"sub", autograd::sub},
        {"mul", autograd::mul},
        {"div", autograd::div},
        {"operator+", (autograd::operator+)},
        {"operator-", (autograd::operator-)},
        {"operator*", (autograd::operator*)},
        {"operator/", (autograd::operator/)},
    };
    std::vector<std::pair<Shape, Shape>> shapes = {
        {{}, {}},
        {{7}, {7}},
        {{5, 7}, {5, 7}},
        {{5, 7}, {7}},
        {{7}, {5, 7}},
        {{}, {5, 7}},
        {{5, 7}, {}},
        {{1}, {3, 5}},
        {{3, 5, 7}, {5, 1}},
        {{3, 1}, {2, 1, 7}},
        {{1, 1, 1, 1}, {5}},
        {{2, 3, 1, 5}, {3, 7, 1}},
        {{2, 1, 3, 5}, {1, 3, 1, 5}},
    };
    for (int pattern = 0; pattern < 64; ++pattern) {  // every way for three dims to repeat
        const auto size = [&](int bit, int64_t n) { return (pattern >> bit & 1) != 0 ? 1 : n; };
        shapes.push_back({{size(0, 2), size(1, 3), size(2, 5)}, {size(3, 2), size(4, 3), size(5, 5)}});
    }
    for (const auto& [name, op] : two) {
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (i < 13 || name[0] != 'o')  // operators only call
                row(name, "shapes " + std::to_string(i),
                    {nonzero(shapes[i].first), nonzero(shapes[i].second)},
                    [f = op](const Inputs& x) { return f(x[0], x[1]); });
        row(
            name, "with itself", {nonzero({3, 7})}, [f = op](const Inputs& x) { return f(x[0], x[0]); },
            std::string(name) == "sub" || std::string(name) == "div" || std::string(name) == "operator-" ||
                std::string(name) == "operator/");
        row(name, "with a number", {nonzero({3, 7})},
            [f = op](const Inputs& x) { return f(x[0], Real(1.7)); });
        row(name, "of a number", {nonzero({3, 7})}, [f = op](const Inputs& x) { return f(Real(1.7), x[0]); });
    }
    using One = Tensor (*)(const Tensor&);
    const std::pair<const char*, One> one[] = {
        {"neg", autograd::neg},
        {"exp", autograd::exp},
        {"log", autograd::log},
        {"sqrt", autograd::sqrt},
        {"tanh", autograd::tanh},
        {"sigmoid", autograd::sigmoid},
        {"relu", autograd::relu},
        {"operator-", (autograd::operator-)},
        {"gelu", autograd::gelu},
        {"gelu_tanh", autograd::gelu_tanh},
        {"silu", autograd::silu},
        {"abs", autograd::abs},
        {"activation", [](const Tensor& x) { return autograd::activation(x, autograd::Activation::silu); }},
    };
    for (const auto& [name, op] : one) {
        const bool positive = op == autograd::log || op == autograd::sqrt;
        for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 13}, Shape{2, 1, 3, 5}})
            row(name, "", {positive || shape.rank() == 0 ? in(shape, 0.3, 3) : nonzero(shape)},
                [f = op](const Inputs& x) { return f(x[0]); });
    }
    row("mul", "a tensor used three times", {nonzero({3, 7})}, [](const Inputs& x) {
        const Tensor square = autograd::mul(x[0], x[0]);
        return autograd::add(autograd::mul(square, x[0]), autograd::exp(x[0]));
    });
}

// Comparisons, choices by them, and powers.
void OpTable::choices() {
    using Two = Tensor (*)(const Tensor&, const Tensor&);
    const std::pair<const char*, Two> comparisons[] = {
        {"operator<", (autograd::operator<)},   {"operator<=", (autograd::operator<=)},
        {"operator>", (autograd::operator>)},   {"operator>=", (autograd::operator>=)},
        {"operator==", (autograd::operator==)}, {"operator!=", (autograd::operator!=)},
    };
    for (const auto& [name, op] : comparisons) {
        row(name, "", {nonzero({3, 7}), nonzero({7})}, [f = op](const Inputs& x) { return f(x[0], x[1]); });
        rows.back().has_graph = false;
        row(name, "with a number", {nonzero({3, 7})}, [f = op](const Inputs& x) { return f(x[0], 1); });
        rows.back().has_graph = false;
    }
    const std::pair<const char*, Two> larger[] = {{"maximum", autograd::maximum},
                                                  {"minimum", autograd::minimum}};
    for (const auto& [name, op] : larger) {
        for (const auto& [a, b] : {std::pair{Shape{5, 7}, Shape{5, 7}}, {{5, 7}, {7}}, {{2, 1, 7}, {3, 1}}})
            row(name, "", {in(a), in(b)}, [f = op](const Inputs& x) { return f(x[0], x[1]); });
        row(name, "with a number", {nonzero({3, 7})}, [f = op](const Inputs& x) { return f(x[0], 0); });
    }
    const Tensor condition = nonzero({3, 5}) < 0;
    for (const Shape& b : {Shape{3, 5}, Shape{5}, Shape{}, Shape{2, 1, 5}})
        row("where", autograd::join("b ", b), {in({3, 5}), in(b)},
            [=](const Inputs& x) { return autograd::where(condition, x[0], x[1]); });
    row("where", "a number", {in({2, 3, 5})},
        [=](const Inputs& x) { return autograd::where(condition, x[0], 7); });
    row("where", "of a number", {in({3, 1})},
        [=](const Inputs& x) { return autograd::where(condition, 7, x[0]); });
    row("clamp", "", {nonzero({3, 7})}, [](const Inputs& x) { return autograd::clamp(x[0], -1, Real(0.2)); });
    for (const Real p : {Real(-2), Real(-0.5), Real(0.5), Real(0.7), Real(1), Real(1.5), Real(3), Real(8)})
        row("pow", autograd::join("p ", p), {std::floor(p) == p ? nonzero({3, 7}) : in({3, 7}, 0.3, 2)},
            [p](const Inputs& x) { return autograd::pow(x[0], p); });
    row(
        "pow", "p 0", {nonzero({3})}, [](const Inputs& x) { return autograd::pow(x[0], 0); }, true);
    using Assign = Tensor& (*)(Tensor&, const Tensor&);
    const std::pair<const char*, Assign> assignments[] = {
        {"operator+=", (autograd::operator+=)},
        {"operator-=", (autograd::operator-=)},
        {"operator*=", (autograd::operator*=)},
        {"operator/=", (autograd::operator/=)},
    };
    for (const auto& [name, op] : assignments) {
        row(name, "", {nonzero({3, 7}), nonzero({7})}, [f = op](const Inputs& x) {
            Tensor y = x[0];
            return f(y, x[1]);
        });
        row(name, "a number", {nonzero({3, 7})}, [f = op](const Inputs& x) {
            Tensor y = x[0];
            return f(y, Real(1.5));
        });
    }
}

void OpTable::products() {
    struct Sizes {
        Shape a, b, b_transposed;
    };
    const Sizes sizes[] = {
        {{3, 5}, {5, 7}, {7, 5}},
        {{1, 1}, {1, 1}, {1, 1}},
        {{1, 17}, {17, 3}, {3, 17}},
        {{2, 3, 5}, {5, 7}, {7, 5}},
        {{2, 3, 2, 5}, {5, 3}, {3, 5}},
        {{2, 3, 5}, {2, 5, 7}, {2, 7, 5}},
        {{3, 5}, {2, 5, 3}, {2, 3, 5}},
        {{1, 3, 5}, {2, 5, 3}, {2, 3, 5}},
        {{2, 3, 5}, {1, 5, 3}, {1, 3, 5}},
        {{2, 1, 3, 5}, {3, 5, 2}, {3, 2, 5}},
        {{3, 2, 5}, {2, 1, 5, 3}, {2, 1, 3, 5}},
        {{2, 3, 2, 5}, {2, 3, 5, 3}, {2, 3, 3, 5}},
    };
    for (const Sizes& s : sizes) {
        const std::string detail = autograd::join(s.a, " @ ", s.b);
        row("matmul", detail, {in(s.a), in(s.b)},
            [](const Inputs& x) { return autograd::matmul(x[0], x[1]); });
        row("matmul", detail + ", b transposed", {in(s.a), in(s.b_transposed)},
            [](const Inputs& x) { return autograd::matmul(x[0], x[1], true); });
    }
    row("matmul", "a @ a", {in({5, 5})}, [](const Inputs& x) { return autograd::matmul(x[0], x[0]); });
    row("matmul", "a @ aT, batched", {in({2, 3, 5})},
        [](const Inputs& x) { return autograd::matmul(x[0], x[0], true); });
    row("to_bf16", "", {in({3, 5})}, [](const Inputs& x) { return to_bf16(x[0]); });
    row("gradient_to_bf16", "", {in({3, 5})}, [](const Inputs& x) { return gradient_to_bf16(x[0]); });
}
