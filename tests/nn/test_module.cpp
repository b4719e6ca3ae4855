// Modules: what visit finds, tied parameters, clones; copies by mistake are impossible.
#include "nn/module.h"

#include <cstdlib>
#include <type_traits>

#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT
using models::Config;
using models::Transformer;

template <class... Types>
constexpr bool kOnlyMoved = ((!std::is_copy_constructible_v<Types> && !std::is_copy_assignable_v<Types> &&
                              std::is_move_constructible_v<Types>)&&...);
static_assert(kOnlyMoved<Parameter, Linear, Embedding, Norm, FeedForward, MultiHeadAttention,
                         PositionalEncoding, models::EncoderLayer, Transformer>);

static_assert(Module<Linear> && Module<Transformer> && !Module<int> && !Module<std::string>);

static std::vector<std::string> names(const std::vector<NamedParameter>& parameters) {
    std::vector<std::string> out;
    for (const NamedParameter& p : parameters)
        out.push_back(p.name);
    return out;
}

static Config one_layer(const std::string& preset) {
    Config c = small(preset);
    c.n_layers = c.n_decoder_layers = 1;
    return c;
}

TEST_CASE("module: the names of a small Transformer's parameters", "[nn][module]") {
    std::vector<std::string> expected = {"src_embedding.tokens.table", "src_embedding.positions.table",
                                         "tgt_embedding.tokens.table", "tgt_embedding.positions.table"};
    for (const std::string layer :
         {"encoder.layers.0.self_attention.in_proj.weight", "encoder.layers.0.self_attention.out_proj.weight",
          "encoder.layers.0.feed_forward.linear1.weight", "encoder.layers.0.feed_forward.linear2.weight",
          "encoder.layers.0.norm1.gain", "encoder.layers.0.norm2.gain",
          "decoder.layers.0.self_attention.in_proj.weight", "decoder.layers.0.self_attention.out_proj.weight",
          "decoder.layers.0.cross_attention.q_proj.weight", "decoder.layers.0.cross_attention.kv_proj.weight",
          "decoder.layers.0.cross_attention.out_proj.weight", "decoder.layers.0.feed_forward.linear1.weight",
          "decoder.layers.0.feed_forward.linear2.weight", "decoder.layers.0.norm1.gain",
          "decoder.layers.0.norm2.gain", "decoder.layers.0.norm3.gain", "output.table"}) {
        expected.push_back(layer);
        expected.push_back(layer.substr(0, layer.rfind('.')) + ".bias");
    }
    CHECK(names(parameters(Transformer(one_layer("blog"), Rng(1)))) == expected);
}

TEST_CASE("module: a tied parameter is found once, or under each of its names", "[nn][module]") {
    const Transformer model(one_layer("paper"), Rng(1));
    const std::vector<NamedParameter> every = all_parameters(model);
    const std::vector<NamedParameter> once = parameters(model);
    CHECK(every.size() == once.size() + 2);
    const Tensor table = named(once, "src_embedding.tokens.table");
    CHECK(error_of([&] { named(once, "tgt_embedding.tokens.table"); }) != "");
    CHECK(error_of([&] { named(once, "output.table"); }) != "");
    CHECK(named(every, "tgt_embedding.tokens.table").same_memory(table));
    CHECK(named(every, "output.table").same_memory(table));
    CHECK(parameter_count(every) == parameter_count(model) + 2 * table.numel());
    CHECK(parameter_count(model) == parameter_count(once));
}

TEST_CASE("module: zero_grad removes gradients", "[nn][module]") {
    const Transformer model(one_layer("blog"), Rng(1));
    const Tokens src = padded({{4, 5}}), tgt = framed({{5, 4}});
    teacher_forced_loss(model, src, tgt, Mode::eval()).backward();
    const auto with_gradient = [&] {
        const std::vector<NamedParameter> all = parameters(model);
        return static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [](const auto& p) { return p.tensor.has_grad(); }));
    };
    CHECK(with_gradient() == parameters(model).size());
    const std::vector<Real> once = model.output.table->grad().to_vector();
    teacher_forced_loss(model, src, tgt, Mode::eval()).backward();  // without it, a second one is added
    CHECK(worst_error(model.output.table->grad() * Real(0.5), doubles(Tensor::from({11, 12}, once))) < 1e-6);
    zero_grad(model);
    CHECK(with_gradient() == 0);
    teacher_forced_loss(model, src, tgt, Mode::eval()).backward();
    CHECK(same_bits(model.output.table->grad().to_vector(), once));
}

TEST_CASE("module: a clone computes and trains like the original, which leaves it alone", "[nn][module]") {
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(1).fork("somewhere"));
        train(model, 2, 3, 1);
        const Transformer copy = clone(model), best = clone(model);
        const std::vector<Real> then = values(parameters(model));
        CHECK(names(parameters(copy)) == names(parameters(model)));  // weights are still tied
        const Tokens src = padded({{4, 5, 6}, {7}}), tgt = padded({{1, 5}, {1, 4}});
        const Mode step = Mode::train(Rng(9));  // dropout masks are the same, too
        CHECK(same_bits(model(src, tgt, Mode::eval()), copy(src, tgt, Mode::eval())));
        CHECK(same_bits(model(src, tgt, step), copy(src, tgt, step)));
        CHECK(same_bits(train(model, 2, 3, 3), train(copy, 2, 3, 3)));
        CHECK(same_bits(values(parameters(model)), values(parameters(copy))));
        CHECK_FALSE(same_bits(values(parameters(model)), then));
        CHECK(same_bits(values(parameters(best)), then));
    }
}

TEST_CASE("module: values are copied only between modules with equal parameters, or not at all",
          "[nn][module]") {
    const Transformer a(small("blog"), Rng(1)), b(small("paper"), Rng(1)), wide(small("blog", 12), Rng(1));
    CHECK(contains(error_of([&] { copy_values(parameters(a), parameters(b)); }), "cannot be copied"));
    const std::string error = error_of([&] { copy_values(parameters(a), parameters(wide)); });
    CHECK((contains(error, "src_embedding.tokens.table") && contains(error, "(12, 12)")));
    const Parameter one(Tensor::from({1}, {1})), two(Tensor::from({1}, {2})), long_one(Tensor::zeros({2}));
    const std::string last = error_of([&] {
        copy_values({{"a", one}, {"b", two}}, {{"a", two}, {"b", long_one}});
    });
    CHECK(contains(last, "does not fit"));
    CHECK(two->item() == 2);
}

TEST_CASE("module: two parameters of one memory have one gradient, too", "[nn][module][errors]") {
    const Tensor w = Tensor::ones({2, 2});
    const Parameter a{Tensor(w)}, b{Tensor(w)}, shared = a.share();
    CHECK(unique_parameters({{"a", a}, {"shared", shared}}).size() == 1);
    CHECK(
        error_of([&] {
            unique_parameters({{"a", a}, {"b", b}});
        }) ==
        "[parameters] a and b have the same memory, but each its own gradient; use share() for tied weights");
}

namespace {

struct Twice {
    Twice() : a(2, 2, Rng(1)), b(2, 2, Rng(2)) {}
    void visit(Visitor& v) const {
        v("a", a);
        v("a", b);
    }
    Linear a, b;
};

}  // namespace

TEST_CASE("module: two members with the same name are refused", "[nn][module]") {
    CHECK(contains(error_of([] { parameters(Twice()); }), "[visit] two parameters have the name a.weight"));
}

// The compiler's errors for a program that includes nn/linear.h.
static std::string compiled(const std::string& program) {
    const Folder folder;
    const std::string source =
        folder.write("a.cpp", "#include \"nn/linear.h\"\nusing namespace plaingrad;\n" + program);
    const char* compile = std::getenv("PLAINGRAD_COMPILE");
    const std::string command = std::string(compile != nullptr ? compile : "c++ -std=c++20 -I.") +
                                " -fsyntax-only " + source + " 2> " + (folder / "said");
    const bool good = std::system(command.c_str()) == 0;
    return good ? "" : content(folder / "said");
}

TEST_CASE("module: the compiler says in a sentence what is wrong with a struct", "[nn][module][slow]") {
    CHECK(compiled("nn::Linear f(nn::Linear l) { return l; }") == "");
    CHECK(contains(
        compiled("struct M { int n; void visit(nn::Visitor& v) const { v(\"n\", n); } };\n"
                 "void f() { nn::parameters(M()); }"),
        "only modules, parameters and vectors of modules can be visited: a module is a struct with"));
    CHECK(contains(compiled("nn::Linear f(const nn::Linear& l) { return l; }"),
                   "a_copy_would_share_the_weights_use_clone_for_a_model_or_share_for_one_weight"));
}

TEST_CASE("module: modules are visited as modules, and layers are numbered", "[nn][module]") {
    Config config = one_layer("prenorm");
    config.n_layers = 2;
    const Transformer model(config, Rng(1));
    const std::vector<NamedModule> all = modules(model);
    CHECK(all[0].name == "");
    CHECK(all[0].address == &model);
    std::vector<std::string> norms;
    int64_t linears = 0, matrices = 0;
    for (const NamedModule& m : all) {
        if (m.type == "Norm")
            norms.push_back(m.name);
        linears += m.info == typeid(Linear);
    }
    CHECK(norms == std::vector<std::string>{
                       "encoder.layers.0.norm1", "encoder.layers.0.norm2", "encoder.layers.1.norm1",
                       "encoder.layers.1.norm2", "encoder.norm", "decoder.layers.0.norm1",
                       "decoder.layers.0.norm2", "decoder.layers.0.norm3", "decoder.norm"});
    CHECK(linears == 2 * 4 + 7);
    // Only a Linear's weight counts as a matrix: files have it transposed.
    for (const NamedParameter& p : parameters(model))
        matrices += p.is_matrix;
    CHECK(matrices == linears);
}

TEST_CASE("module: frozen parameters get no gradient and do not change", "[nn][module][optim]") {
    const Tokens src = padded({{4, 5}}), tgt = framed({{5, 4}});
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(1)), free = clone(model);
        Adam adam(parameters(model), {.lr = 0.1, .weight_decay = 0.1, .decoupled = true});
        teacher_forced_loss(model, src, tgt, Mode::eval()).backward();  // freezing removes these gradients
        freeze(model.encoder);
        const std::vector<Real> frozen = values(parameters(model.encoder));
        for (const NamedParameter& p : parameters(model))
            if (p.tensor.needs_grad())
                p.tensor.zero_grad();
        teacher_forced_loss(model, src, tgt, Mode::eval()).backward();
        teacher_forced_loss(free, src, tgt, Mode::eval()).backward();
        const std::vector<NamedParameter> all = parameters(model), others = parameters(free);
        for (std::size_t i = 0; i < all.size(); ++i) {
            INFO(all[i].name);
            CHECK(all[i].tensor.has_grad() == !all[i].name.starts_with("encoder."));
            if (all[i].tensor.has_grad())  // gradients pass through frozen parameters as before
                CHECK(same_bits(all[i].tensor.grad(), others[i].tensor.grad()));
        }
        adam.step();
        CHECK(same_bits(values(parameters(model.encoder)), frozen));
        CHECK_FALSE(same_bits(values(parameters(model)), values(parameters(free))));
        for (const NamedParameter& p : parameters(clone(model)))  // which can learn as a whole
            CHECK(p.tensor.needs_grad());
        for (const NamedParameter& p : parameters(model.encoder))
            CHECK_FALSE(p.tensor.needs_grad());
        for (const bool again : {true, false}) {  // between backward and step, as a rate's function may do
            freeze(model.encoder, false);
            adam.zero_grad();
            teacher_forced_loss(model, src, tgt, Mode::eval()).backward();
            freeze(model.encoder, again);
            adam.step();
            CHECK(same_bits(values(parameters(model.encoder)), frozen) == again);
        }
    }
}

TEST_CASE("module: a tied weight is frozen under each of its names, also one that is shared later",
          "[nn][module]") {
    const Transformer model(one_layer("paper"), Rng(1));
    freeze(model.src_embedding);
    CHECK_FALSE(model.output.table->needs_grad());
    const Parameter shared = model.output.table.share();
    CHECK_FALSE(shared->needs_grad());
    freeze(model);
    CHECK(
        contains(error_of([&] {
                     teacher_forced_loss(model, padded({{4, 5}}), framed({{5, 4}}), Mode::eval()).backward();
                 }),
                 "nothing here needs a gradient"));
}
