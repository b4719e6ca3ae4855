// One row or more for every function of autograd/ops.h: how to call it, and on what. The tests of
// gradients, of bits and of memory go through all of them, and a function without a row fails.
//
// No size is a multiple of 16. Inputs keep away from where a function has no derivative.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "tests/autograd/values.h"

namespace tests {

using Inputs = std::vector<Tensor>;
using Call = std::function<Tensor(const Inputs&)>;

struct OpRow {
    std::string op;      // its name in ops.h
    std::string detail;  // what is special here
    Inputs inputs;
    Call call;
    bool may_be_zero = false;  // some input truly has no gradient
};

class OpTable {
public:
    OpTable() {
        elementwise();
        products();
        reductions();
        movers();
        softmax_and_loss();
        lookup();
        fused();
        attentions();
    }
    std::vector<OpRow> rows;

private:
    uint64_t seed_ = 1;

    Tensor in(const Shape& shape, double low = -2, double high = 2) {
        return random(shape, seed_++, low, high);
    }
    // Away from 0 on both sides: 0.3 to 2, every third one negative.
    Tensor nonzero(const Shape& shape) {
        std::vector<Real> x = numbers(shape.numel(), seed_++, 0.3, 2);
        for (std::size_t i = 0; i < x.size(); i += 3)
            x[i] = -x[i];
        return Tensor::from(shape, x);
    }
    // No two are closer than 0.1: the maximum stays where it is while gradcheck moves one.
    Tensor distinct(const Shape& shape) {
        const std::vector<int64_t> order = autograd::Rng(seed_++).permutation(shape.numel());
        std::vector<Real> x;
        for (const int64_t place : order)
            x.push_back(static_cast<Real>(0.1 * static_cast<double>(place) - 1));
        return Tensor::from(shape, x);
    }
    void row(const char* op, std::string detail, Inputs inputs, Call call, bool may_be_zero = false) {
        rows.push_back({op, std::move(detail), std::move(inputs), std::move(call), may_be_zero});
    }

    void elementwise() {
        using Two = Tensor (*)(const Tensor&, const Tensor&);
        using WithReal = Tensor (*)(const Tensor&, Real);
        using RealWith = Tensor (*)(Real, const Tensor&);
        const std::pair<const char*, Two> two[] = {
            {"add", autograd::add},
            {"sub", autograd::sub},
            {"mul", autograd::mul},
            {"div", autograd::div},
            {"operator+", autograd::operator+},
            {"operator-", autograd::operator-},
            {"operator*", autograd::operator*},
            {"operator/", autograd::operator/},
        };
        std::vector<std::pair<Shape, Shape>> shapes = {
            {{}, {}},           {{7}, {7}},          {{5, 7}, {5, 7}},   {{5, 7}, {7}},
            {{7}, {5, 7}},      {{}, {5, 7}},        {{5, 7}, {}},       {{1}, {3, 5}},
            {{3, 5, 7}, {5, 1}}, {{3, 1}, {2, 1, 7}}, {{1, 1, 1, 1}, {5}}, {{2, 3, 1, 5}, {3, 7, 1}},
            {{2, 1, 3, 5}, {1, 3, 1, 5}},
        };
        for (int pattern = 0; pattern < 64; ++pattern) {  // every way for three dims to repeat
            const auto size = [&](int bit, int64_t n) { return (pattern >> bit & 1) != 0 ? 1 : n; };
            shapes.push_back({{size(0, 2), size(1, 3), size(2, 5)}, {size(3, 2), size(4, 3), size(5, 5)}});
        }
        for (const auto& [name, f] : two) {
            for (std::size_t i = 0; i < shapes.size(); ++i)
                if (i < 13 || name[0] != 'o')  // operators only call
                    row(name, "shapes " + std::to_string(i), {nonzero(shapes[i].first), nonzero(shapes[i].second)},
                        [f = f](const Inputs& x) { return f(x[0], x[1]); });
            row(name, "with itself", {nonzero({3, 7})}, [f = f](const Inputs& x) { return f(x[0], x[0]); },
                std::string(name) == "sub" || std::string(name) == "div" || std::string(name) == "operator-" ||
                    std::string(name) == "operator/");
        }
        const std::pair<const char*, WithReal> right[] = {
            {"add", autograd::add},
            {"sub", autograd::sub},
            {"mul", autograd::mul},
            {"div", autograd::div},
            {"operator+", autograd::operator+},
            {"operator-", autograd::operator-},
            {"operator*", autograd::operator*},
            {"operator/", autograd::operator/},
        };
        for (const auto& [name, f] : right)
            row(name, "with a number", {nonzero({3, 7})}, [f = f](const Inputs& x) { return f(x[0], Real(1.7)); });
        const std::pair<const char*, RealWith> left[] = {
            {"sub", autograd::sub},
            {"div", autograd::div},
            {"operator+", autograd::operator+},
            {"operator-", autograd::operator-},
            {"operator*", autograd::operator*},
            {"operator/", autograd::operator/},
        };
        for (const auto& [name, f] : left)
            row(name, "of a number", {nonzero({3, 7})}, [f = f](const Inputs& x) { return f(Real(1.7), x[0]); });

        using One = Tensor (*)(const Tensor&);
        const std::pair<const char*, One> one[] = {
            {"neg", autograd::neg},         {"exp", autograd::exp},   {"log", autograd::log},
            {"sqrt", autograd::sqrt},       {"tanh", autograd::tanh}, {"sigmoid", autograd::sigmoid},
            {"relu", autograd::relu},       {"operator-", autograd::operator-},
            {"gelu", [](const Tensor& x) { return autograd::gelu(x); }},
            {"gelu", [](const Tensor& x) { return autograd::gelu(x, autograd::Gelu::tanh); }},
        };
        for (const auto& [name, f] : one) {
            const bool positive = f == autograd::log || f == autograd::sqrt;
            for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 13}, Shape{2, 1, 3, 5}})
                row(name, "", {positive || shape.rank() == 0 ? in(shape, 0.3, 3) : nonzero(shape)},
                    [f = f](const Inputs& x) { return f(x[0]); });
        }
        row("mul", "a tensor used three times", {nonzero({3, 7})}, [](const Inputs& x) {
            const Tensor square = autograd::mul(x[0], x[0]);
            return autograd::add(autograd::mul(square, x[0]), autograd::exp(x[0]));
        });
    }

    void products() {
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
    }

    void reductions();
    void movers();
    void softmax_and_loss();
    void lookup();
    void fused();
    void attentions();
};

}  // namespace tests

#include "tests/autograd/op_table_rows.h"  // the other families
