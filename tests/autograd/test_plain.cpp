// The plain form and the fused ops agree: each op, forward and backward, and whole models in training.
// (In the gradcheck binary too, so that the differences of rounding are those of double.)
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/models/small.h"
#include "tests/ops.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

// Of a tensor's largest number, and of a loss.
constexpr double kGradientError = kRealIsDouble ? 1e-9 : 1e-4, kLossError = kRealIsDouble ? 1e-9 : 1e-5;

// The names in a section of a header, from the line that contains `from` to the one that contains `to`.
std::set<std::string> declared(const char* path, const std::string& from, const std::string& to) {
    std::ifstream file(path);  // tests run in the repository's root
    REQUIRE(file.is_open());
    const std::regex declaration(R"(^Tensor ([a-z_0-9]+)\(.*)");
    std::set<std::string> names;
    std::smatch match;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        inside = contains(line, from) || (inside && !contains(line, to));
        if (inside && std::regex_match(line, match, declaration))
            names.insert(match[1]);
    }
    return names;
}

std::set<std::string> fused_ops() {
    std::set<std::string> names = declared("autograd/ops.h", "-- fused: ", "-- operators");
    names.insert("cross_entropy");
    names.insert("matmul_bf16");
    return names;
}

// The ops whose source takes the plain form while a Plain is active, as `if (Plain::active())` followed by
// `return plain::NAME(`. `switches`: how often that is asked, in whatever way.
std::set<std::string> switched_ops(int& switches) {
    const std::regex call(R"( *return plain::([a-z_0-9]+)\(.*)");
    std::set<std::string> names;
    std::smatch match;
    for (const auto& entry : std::filesystem::directory_iterator("autograd")) {
        std::ifstream file(entry.path().extension() == ".cpp" ? entry.path().string() : "");
        bool switched = false;  // in the line before
        for (std::string line; std::getline(file, line);) {
            if (switched && std::regex_match(line, match, call))
                names.insert(match[1]);
            switched = contains(line.substr(0, line.find("//")), "Plain::active()");
            switches += switched;
        }
    }
    return names;
}

// The outputs of an op, then the gradient of each input.
struct Run {
    std::vector<Tensor> tensors;
    std::string op;  // the last node's
};

Run run(const AloneCall& c) {
    const Inputs leaves = with_gradients(c);
    const std::vector<Tensor> outputs = c.with(leaves);
    Run result;
    for (const Tensor& y : outputs)
        result.tensors.push_back(y.detach());
    result.op = outputs[0].node()->op();
    backward(outputs);
    for (const Tensor& x : leaves)
        result.tensors.push_back(x.grad());
    return result;
}

// The largest |a - b|, of the largest |b|; infinity for a NaN.
double largest_of(const Tensor& x) {
    double largest = 1e-30;
    for (int64_t i = 0; i < x.numel(); ++i)
        largest = std::fmax(largest, std::abs(static_cast<double>(x.data()[i])));
    return largest;
}

double largest_difference(const Tensor& a, const Tensor& b) {
    double worst = a.shape() == b.shape() ? 0 : HUGE_VAL;
    for (int64_t i = 0; i < std::min(a.numel(), b.numel()); ++i) {
        const auto x = static_cast<double>(a.data()[i]), y = static_cast<double>(b.data()[i]);
        worst = std::abs(x - y) <= worst ? worst : std::isnan(x - y) ? HUGE_VAL : std::abs(x - y);
    }
    return worst;
}

double relative_error(const Tensor& a, const Tensor& b) { return largest_difference(a, b) / largest_of(b); }

// Gradients that are truly 0, as an attention key's bias's, are noise on both sides: it is measured against
// the largest of all.
void check_first_step(const std::vector<nn::NamedParameter>& fused,
                      const std::vector<nn::NamedParameter>& plain) {
    double largest = 0;
    for (const nn::NamedParameter& p : fused)
        for (int64_t i = 0; i < p.tensor.numel(); ++i)
            largest = std::fmax(largest, std::abs(static_cast<double>(p.tensor.grad().data()[i])));
    REQUIRE(largest > 0);
    for (std::size_t i = 0; i < fused.size(); ++i) {
        INFO(fused[i].name);
        const Tensor a = fused[i].tensor.grad(), b = plain[i].tensor.grad();
        const bool noise =
            worst_error(a * static_cast<Real>(1e-3 / largest), Tensor::zeros(a.shape())) < 1e-9;
        CHECK((noise || relative_error(b, a) <= kGradientError));
    }
}

// make(): a model; loss(model, mode): of a batch; train(model): the losses of 20 steps, in float, where the
// emulated double of the kernels would take ten seconds more.
template <class Make, class Loss>
void check_model(const std::string& name, const Make& make, const Loss& loss) {
    INFO(name);
    const nn::Mode mode = nn::Mode::train(Rng(7));
    const auto fused = make(), plain = make();
    loss(fused, mode).backward();
    {
        const Plain guard;
        loss(plain, mode).backward();
    }
    check_first_step(nn::parameters(fused), nn::parameters(plain));
    if (kRealIsDouble)
        return;
    const std::vector<Real> expected = train(fused, 20, 4, 3);
    const Plain guard;
    const std::vector<Real> found = train(plain, 20, 4, 3);
    REQUIRE(expected.size() == 20);
    CHECK(worst_error(found, expected) <= kLossError);
    CHECK(expected.back() < expected.front());
}

void check_models() {
    const autograd::Tokens src = padded(sentences({5, 2, 7}, 1)), tgt = framed(sentences({3, 6, 2}, 2));
    const autograd::Tokens in = tgt.slice(0, tgt.length() - 1), out = tgt.slice(1, tgt.length());
    const CrossEntropyOptions options = {.ignore = models::kPad, .label_smoothing = Real(0.1)};
    for (const std::string& kind : kKinds) {
        models::Config c = small(kind);
        c.block.dropout = {.embeddings = Real(0.1),
                           .sublayers = Real(0.2),
                           .feed_forward = Real(0.1),
                           .attention = Real(0.3)};
        check_model(
            kind, [&] { return models::Transformer(c, Rng(1)); },
            [&](const models::Transformer& m, const nn::Mode& mode) {
                return m.loss(src, in, out, mode, options);
            });
    }
    std::vector<std::string> kinds = kStacks;
    kinds.insert(kinds.end(), kAlone.begin(), kAlone.end());
    for (const std::string& kind : kinds) {
        models::Config c = small_stack(kind);
        c.block.dropout = {
            .embeddings = Real(0.1), .sublayers = Real(0.2), .feed_forward = 0, .attention = Real(0.3)};
        check_model(
            "language model, " + kind, [&] { return models::LanguageModel(c, Rng(1)); },
            [&](const models::LanguageModel& m, const nn::Mode& mode) {
                return m.loss(in, out, mode, options);
            });
    }
    const models::Config bert = small_stack("bert");
    check_model(
        "masked", [&] { return models::MaskedLanguageModel(bert, Rng(1)); },
        [&](const models::MaskedLanguageModel& m, const nn::Mode& mode) {
            return cross_entropy(m(src, mode), src, {.ignore = models::kPad});
        });
    check_model(
        "classifier", [&] { return models::Classifier(models::with_classes(bert, 2), Rng(1)); },
        [&](const models::Classifier& m, const nn::Mode& mode) {
            return cross_entropy(m(src, mode), autograd::Tokens(3, 1, {0, 1, 0}));
        });
}

}  // namespace

TEST_CASE("plain: every fused op has its plain form", "[plain]") {
    const std::set<std::string> fused = fused_ops();
    REQUIRE(fused.count("attention") == 1);
    REQUIRE(fused.size() >= 14);
    std::set<std::string> forms = fused;
    forms.erase("linear_transposed");  // plain::linear serves both layouts of a weight
    CHECK(declared("autograd/plain.h", "namespace plain {", "}  // namespace plain") == forms);
    CHECK(declared("autograd/plain.cpp", "namespace", "no such line") == forms);
    int switches = 0;
    CHECK(switched_ops(switches) == forms);
    CHECK(switches == static_cast<int>(forms.size()));
}

// With bf16 a last bit that differs may be rounded to another bfloat16, which is 2^-8 away. Attention's
// kernel rounds exp(score - largest) and divides sums of these, its plain form rounds the quotients: two of
// 2^-8 differ.
static double tolerance_of(const AloneCall& c) {
    if (c.bf16 && contains(c.row.op, "attention"))
        return 0x1p-6;
    if (kRealIsDouble || c.bf16)
        return kRealIsDouble ? 1e-9 : 1e-2;
    const std::set<std::string> same_order = {"feed_forward", "linear", "linear_transposed", "residual"};
    return same_order.contains(c.row.op) ? 0 : 2e-5;
}

static void check_ops() {
    std::set<std::string> fused = fused_ops(), seen, seen_in_bf16;
    fused.erase("matmul_bf16");
    fused.insert("matmul");  // whose plain form is for bfloat16 only
    for_each_call(20, [&](const AloneCall& c) {
        const std::string& op = c.row.op;
        if (!fused.contains(op) || !c.row.has_graph)
            return;
        INFO(c.text());
        const Run expected = run(c);
        const Plain guard;
        const Run found = run(c);
        if (expected.op == op && found.op != op)  // a call that ends with another op does not test this one
            (c.bf16 ? seen_in_bf16 : seen).insert(op);
        double largest = 0;  // where a gradient is truly 0, rounding is measured against it
        for (const Tensor& tensor : expected.tensors)
            largest = std::fmax(largest, largest_of(tensor));
        for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
            const double scale = std::fmax(0.1 * largest, largest_of(expected.tensors[i]));
            CHECK(largest_difference(found.tensors[i], expected.tensors[i]) <= scale * tolerance_of(c));
        }
    });
    CHECK(seen_in_bf16.size() == 8);
    fused.erase("matmul");
    CHECK(seen == fused);
}

TEST_CASE("plain: each op equals the fused one, forward and backward", "[plain]") { check_ops(); }
TEST_CASE("plain: each op, in double", "[plain][gradcheck]") { check_ops(); }
TEST_CASE("plain: models train alike", "[plain]") { check_models(); }
TEST_CASE("plain: models have the same gradients, in double", "[plain][gradcheck]") { check_models(); }

TEST_CASE("plain: the same bits with any number of threads and on every instruction set", "[plain][bits]") {
    const Plain guard;
    const models::Transformer model(small("paper"), Rng(1));
    const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
    const autograd::Tokens src = padded(sentences({5, 2, 7}, 1)), tgt = framed(sentences({3, 6, 2}, 2));
    const auto step = [&] {
        nn::zero_grad(parameters);
        const Tensor loss = model.loss(src, tgt, tgt, nn::Mode::train(Rng(7)));
        loss.backward();
        std::vector<Real> all = loss.to_vector();
        for (const nn::NamedParameter& p : parameters)
            for (const Real g : p.tensor.grad().to_vector())
                all.push_back(g);
        return all;
    };
    const std::vector<Real> expected = step();
    for_each_isa([&](const char* isa) {
        for (const int n : {1, 3}) {
            const Threads threads(n);
            INFO(isa << ", " << n << " threads");
            CHECK(same_bits(step(), expected));
        }
    });
}

TEST_CASE("plain: the guard affects only its thread and ends with its scope", "[plain]") {
    const Tensor x = leaf(random({3, 5}, 1)), gain = leaf(random({5}, 2)), bias = leaf(random({5}, 3));
    const auto op = [&] { return std::string(layer_norm(x, gain, bias).node()->op()); };
    CHECK(op() == "layer_norm");
    {
        const Plain outer;
        const std::string here = op();
        {
            const Plain inner;
            CHECK(op() == here);
        }
        CHECK(here == "add");
        CHECK(op() == "add");
    }
    CHECK(op() == "layer_norm");
}
