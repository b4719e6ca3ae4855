// Inspecting tensors and graphs: what is printed, and which op is named for the first NaN.
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "autograd/graph.h"
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "models/families/transformer.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

std::string printed(const Tensor& x) {
    std::ostringstream out;
    out << x;
    return out.str();
}

std::string drawn(const Tensor& root, int lines = 100) {
    std::ostringstream out;
    print_graph(root, out, lines);
    return out.str();
}

models::Config small_config() {
    return {.src_vocabulary = 11,
            .vocabulary = 11,
            .max_length = 8,
            .n_layers = 2,
            .n_decoder_layers = 2,
            .block = {.d_model = 12, .n_heads = 2, .d_ff = 16}};
}

const Tokens kSrc(2, 5, {4, 5, 6, 7, 8, 5, 6, 9, 10, 4}), kTgt(2, 4, {1, 4, 5, 6, 1, 7, 8, 9});

// The message of a guard during one step of training.
std::string step_error(const models::Transformer& model) {
    return error_of([&] {
        const NanGuard guard(nn::parameters(model));
        model.loss(kSrc, kTgt, kTgt, nn::Mode::eval()).backward();
    });
}

}  // namespace

TEST_CASE("print: as PyTorch does, and the shape", "[tensor][print]") {
    const auto all = [](std::initializer_list<double> values) {
        std::vector<Real> x;
        for (const double value : values)
            x.push_back(static_cast<Real>(value));
        return printed(Tensor::from({std::ssize(x)}, x));
    };
    const double nan = static_cast<double>(kNan);
    CHECK(printed(Tensor(3)) == "3.  ()");
    CHECK(all({1, 20, -3}) == "[ 1., 20., -3.]  (3)");
    CHECK(printed(Tensor::from({2, 2}, {1, Real(2.5), -3, 100})) ==
          "[[  1.0000,   2.5000],\n [ -3.0000, 100.0000]]  (2, 2)");
    CHECK(all({0.5, 2000}) == "[5.0000e-01, 2.0000e+03]  (2)");
    CHECK(all({nan, 0.5, 2}) == "[   nan, 0.5000, 2.0000]  (3)");
    CHECK(all({1e-5, 0}) == "[1.0000e-05, 0.0000e+00]  (2)");
    // Negative numbers are as large as they are far from 0.
    CHECK(all({-2000.5, 0.5}) == "[-2.0005e+03,  5.0000e-01]  (2)");
    CHECK(all({-1e-5, 2}) == "[-1.0000e-05,  2.0000e+00]  (2)");
    CHECK(all({-1000, -0.5}) == "[-1.0000e+03, -5.0000e-01]  (2)");
    CHECK(all({-1e9}) == "[-1.0000e+09]  (1)");
    CHECK(all({-1e8}) == "[-100000000.]  (1)");
    CHECK(all({nan, -HUGE_VAL, 1}) == "[ nan, -inf,   1.]  (3)");
    // A NaN has no sign, though 0 / 0 gives it one on some processors.
    CHECK(all({std::copysign(nan, -1), 1}) == "[nan,  1.]  (2)");
    CHECK(printed(Tensor::arange(8).with_shape({2, 2, 2})) ==
          "[[[0., 1.],\n  [2., 3.]],\n\n [[4., 5.],\n  [6., 7.]]]  (2, 2, 2)");
    CHECK(all({-0.0, -0.0}) == "[-0., -0.]  (2)");
    CHECK(all({-0.0, 0.5}) == "[-0.0000,  0.5000]  (2)");
    CHECK((!autograd::kRealIsDouble || all({1e-300, 1}) == "[1.0000e-300,  1.0000e+00]  (2)"));
    CHECK(printed(Tensor::zeros({2, 0})) == "[[],\n []]  (2, 0)");
    CHECK(printed(Tensor()) == "[empty tensor]");
    CHECK(printed(Tensor::arange(1001)) == "[   0.,    1.,    2., ...,  998.,  999., 1000.]  (1001)");
    const std::string large = printed(Tensor::zeros({300, 4, 5}));
    CHECK(std::count(large.begin(), large.end(), '0') == 6 * 4 * 5 + 2);
    CHECK(contains(large, ",\n\n ...,\n\n "));
    const std::string six_rows = printed(Tensor::zeros({6, 200}));  // three at each end are all
    CHECK(std::count(six_rows.begin(), six_rows.end(), '.') == 6 * (6 + 3));
    const std::string seven_rows = printed(Tensor::zeros({7, 200}));
    CHECK(std::count(seven_rows.begin(), seven_rows.end(), '.') == 6 * (6 + 3) + 3);
    CHECK(contains(printed(Tensor::zeros({1000})), "0., 0., 0., 0., 0., 0., 0."));
}

TEST_CASE("print_graph: ops, shapes, numbers, each node once", "[graph][print]") {
    const Tensor x = Tensor::from({2}, {1, 2}).require_grad(), y = leaf(Tensor::ones({3, 1, 9}));
    const Tensor square = x * x;
    CHECK(drawn(sum(square)) ==
          "1 sum () = [5]\n"
          "└ 2 mul (2) = [1, 4]\n"
          "  ├ 3 leaf (2) = [1, 2]\n"
          "  └ 3 (above)\n");
    CHECK(drawn(sum(square) + mean(softmax(y))) ==
          "1 add () = [5.11111]\n"
          "├ 2 sum () = [5]\n"
          "│ └ 3 mul (2) = [1, 4]\n"
          "│   ├ 4 leaf (2) = [1, 2]\n"
          "│   └ 4 (above)\n"
          "└ 5 mean () = [0.111111]\n"
          "  └ 6 softmax (3, 1, 9)\n"
          "    └ 7 leaf (3, 1, 9)\n");
    const Tensor eight = leaf(Tensor::ones({8})), nine = leaf(Tensor::ones({9}));
    CHECK(drawn(-eight).starts_with("1 neg (8) = [-1, -1, -1, -1, -1, -1, -1, -1]\n"));
    CHECK(drawn(-nine).starts_with("1 neg (9)\n"));
    CHECK(drawn(sum(square), 2) == "1 sum () = [5]\n└ 2 mul (2) = [1, 4]\n... and more\n");
    CHECK(
        contains(error_of([] { drawn(Tensor::ones({2})); }), "[print_graph] nothing here needs a gradient"));
    Tensor chain = x;
    for (int i = 0; i < 100000; ++i)
        chain = chain + Real(1);
    CHECK(contains(drawn(chain), "... and more"));
    // With somebody who watches the layers, each op is shown with its own.
    const nn::Linear layer(2, 3, Rng(1));
    const std::vector<nn::NamedParameter> of_model = {{"first.weight", layer.weight},
                                                      {"first.bias", layer.bias}};
    const NanGuard guard(of_model);
    CHECK(drawn(layer(x.with_shape({1, 2}))).starts_with("1 linear (1, 3) in first = ["));
}

TEST_CASE("NanGuard: names the op and its inputs", "[graph][nan]") {
    const auto error = [](const auto& f) {
        return error_of([&] {
            const NanGuard guard;
            f();
        });
    };
    const Tensor x = leaf(Tensor::from({2}, {-1, 4}));
    CHECK(contains(error([&] { autograd::log(x) + Real(1); }),
                   "[NanGuard] log: element 0 of the output (2) is "));
    const std::string given = error([&] { x / Tensor::from({2}, {1, kNan}); });
    CHECK(contains(given, "div: element 1 of the output (2) is "));
    CHECK(contains(given, "so is element 1 of an input (2)"));
    const std::string turned = error([] {  // in place: its input is no longer there
        const NoGrad no_grad;
        Tensor huge = Tensor::full({1, 1, 16}, std::numeric_limits<Real>::max());
        rotary(std::move(huge), Tensor::full({1, 16}, Real(0.7071)), {.head_dim = 16});
    });
    CHECK(contains(turned, "[NanGuard] rotary: element "));
    CHECK_FALSE(contains(turned, "so is element"));
    // The square root's slope at 0 is infinite.
    CHECK(error([] { sum(autograd::sqrt(leaf(Tensor::zeros({3}))) * Real(2)).backward(); }) ==
          "[NanGuard] backward of sqrt: element 0 of the gradient of leaf (3) is inf");
    // x / y: the slope of y is -x / y^2; that of x, the first input, is finite.
    const std::string second = error([] {
        const Tensor numerator = leaf(Tensor::full({2}, kRealIsDouble ? Real(1e200) : Real(1e20)));
        const Tensor denominator = leaf(Tensor::full({2}, kRealIsDouble ? Real(1e-100) : Real(1e-10)));
        sum(numerator / denominator).backward();
    });
    CHECK(second == "[NanGuard] backward of div: element 0 of the gradient of leaf (2) is -inf");
    CHECK(autograd::log(x).numel() == 2);  // no guard, no error
}

// pow and the backward of pow and maximum consist of other ops, which the user has not called.
TEST_CASE("NanGuard: an op that consists of others is reported as one", "[graph][nan]") {
    const NanGuard guard;
    const Tensor zero = leaf(Tensor::zeros({2}));
    CHECK(pow(zero, Real(0.3)).to_vector() == std::vector<Real>{0, 0});  // by way of log(0)
    const auto backward = [&] {
        sum(pow(zero, Real(0.5))).backward();
        return Tensor();
    };
    CHECK(error_of(backward) == "[NanGuard] backward of pow: element 0 of the gradient of leaf (2) is inf");
    const auto forward = [&] { return pow(zero, Real(-1)); };
    CHECK(contains(error_of(forward), "[NanGuard] pow: element 0 of the output (2) is inf"));
}

TEST_CASE("NanGuard: names the layer of a model", "[graph][nan]") {
    models::Transformer model(small_config(), Rng(1));
    CHECK(step_error(model).empty());
    const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
    int tried = 0;
    for (const nn::NamedParameter& p : parameters) {
        Real& first = p.tensor.mutable_data()[p.tensor.numel() - 1];
        const Real before = first;
        first = std::numeric_limits<Real>::infinity();
        const std::string layer = p.name.substr(0, p.name.rfind('.')), error = step_error(model);
        INFO(p.name << ": " << error);
        const bool embedding = contains(p.name, "embedding");  // the last token is in no sentence of these
        tried += !embedding;
        CHECK((embedding || contains(error, " in " + layer) ||
               contains(error, " in " + layer.substr(0, layer.rfind('.')))));
        first = before;
    }
    CHECK(tried > 20);
    // Keys that are too large: the product is finite, attention's scores are not.
    const nn::MultiHeadAttention& attention = model.encoder.layers[1].self_attention;
    for (int64_t i = 0; i < attention.in_proj.weight->numel(); ++i)
        attention.in_proj.weight->mutable_data()[i] *= static_cast<Real>(kRealIsDouble ? 1e200 : 1e25);
    CHECK(contains(step_error(model), "self_attention in encoder.layers.1.self_attention"));
}

TEST_CASE("OpWatch: sees each op and its layer, in forward and in backward", "[graph][nan]") {
    struct Layers : OpWatch {
        using OpWatch::OpWatch;
        void after_forward(const char*, const Tensor&, List<const Tensor*>) override {
            add(forward, layer());
        }
        void after_backward(const Node& node) override { add(backward, node.layer); }
        static void add(std::set<std::string>& layers, const std::string& name) {
            if (contains(name, "layers."))  // "decoder.layers.1"
                layers.insert(name.substr(0, name.find("layers.") + 8));
        }
        std::set<std::string> forward, backward;
    };
    const models::Transformer model(small_config(), Rng(1));
    const std::set<std::string> all = {"decoder.layers.0", "decoder.layers.1", "encoder.layers.0",
                                       "encoder.layers.1"};
    const Layers seen(nn::parameters(model));
    const Tensor loss = model.loss(kSrc, kTgt, kTgt, nn::Mode::eval());
    CHECK(seen.forward == all);
    CHECK(seen.backward.empty());
    loss.backward();
    CHECK(seen.backward == all);
    // Layers that do not learn are known, too, and gradients pass through them.
    nn::freeze(model.encoder);
    const Layers of_frozen(nn::parameters(model));
    model.loss(kSrc, kTgt, kTgt, nn::Mode::eval()).backward();
    CHECK(of_frozen.forward == all);
    CHECK(of_frozen.backward == all);
}

TEST_CASE("OpWatch: of several, the last one sees the ops; when it ends, the one before it does",
          "[graph][nan]") {
    struct Counter : OpWatch {
        void after_forward(const char*, const Tensor&, List<const Tensor*>) override { ++forward; }
        void after_backward(const Node&) override { ++backward; }
        int forward = 0, backward = 0;
    };
    const Tensor x = Tensor::from({1}, {2}).require_grad();
    Counter outer;
    {
        Counter inner;
        sum(x).backward();
        CHECK((inner.forward == 1 && inner.backward == 1));
        CHECK((outer.forward == 0 && outer.backward == 0));
    }
    sum(x).backward();
    CHECK((outer.forward == 1 && outer.backward == 1));
}

TEST_CASE("NanGuard: sees the ops of its own thread only", "[graph][nan]") {
    const NanGuard guard;
    const auto said = [] { return error_of([] { autograd::log(Tensor(-1)); }); };
    std::string elsewhere;
    std::thread([&] { elsewhere = said(); }).join();
    CHECK(elsewhere.empty());
    CHECK(contains(said(), "[NanGuard] log"));
}

TEST_CASE("instruction_set: the kernels in use", "[kernels]") {
    for_each_isa([](const char* name) { CHECK(std::string(instruction_set()) == name); });
}
