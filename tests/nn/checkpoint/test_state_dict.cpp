// Between parameters and files: names that vary, tied weights. (Files that do not fit are refused:
// tests/golden/test_golden_names.cpp.)
#include "nn/checkpoint/state_dict.h"

#include <cstring>
#include <functional>

#include "models/pytorch.h"
#include "nn/linear.h"
#include "tests/nn/checkpoint/files.h"

using namespace plaingrad;       // NOLINT
using namespace nn;              // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

namespace {

// b is a, in PyTorch as well.
struct Pair {
    explicit Pair(int64_t in = 2, int64_t out = 3) : a(in, out, Rng(1)), b(in, out, Rng(2), {.bias = false}) {
        b.weight = a.weight.share();
    }
    void visit(Visitor& v) const {
        v("a", a);
        v("b", b);
    }
    Linear a, b;
};

// A matrix called weight that does not belong to a Linear, and a vector of one number.
struct Table {
    Parameter weight{Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6})};
    Linear one{1, 1, Rng(1)};
    void visit(Visitor& v) const {
        v("weight", weight);
        v("one", one);
    }
};

std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    for (const StateEntry& item : items_of(path))
        names.push_back(item.name);
    return names;
}

// Saves the model and loads it into the other, with the tensors for which `keeps`, which may change them, is
// true; the error.
template <class M>
std::string reloaded(const M& model, const M& other, const std::function<bool(StateEntry&)>& keeps) {
    const Folder folder;
    models::save_pytorch(folder / "f", model);
    std::vector<StateEntry> items;
    for (StateEntry& item : items_of(folder / "f"))
        if (keeps(item))
            items.push_back(item);
    write(folder / "f", items);
    return error_of([&] { models::load_pytorch(folder / "f", other); });
}

}  // namespace

// Of a weight with more numbers than are compared at a time, each one: here the last. NaN equals NaN.
TEST_CASE("state dict: tied weights that differ are refused, also if they have NaN", "[nn][checkpoint]") {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{2, 3}, {300, 301}}) {
        const Pair model(in, out), other(in, out);
        const int64_t numbers = in * out;
        const auto same = [&] {
            return std::memcmp(other.a.weight->data(), model.a.weight->data(),
                               static_cast<std::size_t>(numbers) * sizeof(Real)) == 0;
        };
        model.a.weight->mutable_data()[4] = kNan;
        other.a.weight->mutable_data()[0] = 9;
        const std::string error = reloaded(model, other, [&](StateEntry& item) {
            if (item.name == "b.weight")
                item.tensor.mutable_data()[numbers - 1] += 1;
            return true;
        });
        CHECK(contains(error, "b.weight is not a.weight, with which it is tied"));
        CHECK_FALSE(same());
        CHECK(reloaded(model, other, [](StateEntry&) { return true; }) == "");
        CHECK(same());
    }
    // Of two that are tied, one may be missing in the file; the next ones are compared all the same.
    struct Pairs {
        Pair first, second;
        void visit(Visitor& v) const {
            v("first", first);
            v("second", second);
        }
    };
    const std::string error = reloaded(Pairs(), Pairs(), [](StateEntry& item) {
        if (item.name == "second.b.weight")
            item.tensor.mutable_data()[0] += 1;
        return item.name != "first.a.weight";
    });
    CHECK(contains(error, "second.b.weight is not second.a.weight, with which it is tied"));
}

TEST_CASE("state dict: a tied weight under each of its names, or once", "[nn][checkpoint]") {
    const Folder folder;
    const Pair model, other;
    models::save_pytorch(folder / "f", model);
    CHECK(names_in(folder / "f") == std::vector<std::string>{"a.bias", "a.weight", "b.weight"});
    write(folder / "f", tied_once(models::state_dict(model)));
    CHECK(names_in(folder / "f") == std::vector<std::string>{"a.bias", "a.weight"});
    for (const std::string missing :
         {"a.weight", "b.weight"}) {  // the one name that a file has may be either
        other.a.weight->mutable_data()[0] = 9;
        CHECK(reloaded(model, other, [&](StateEntry& item) { return item.name != missing; }) == "");
        CHECK(same_bits(other.b.weight.tensor(), model.a.weight.tensor()));
    }
}

TEST_CASE("state dict: only the matrix of a Linear is transposed in a file", "[nn][checkpoint]") {
    const Folder folder;
    const Table model, other;
    models::save_pytorch(folder / "f", model);
    CHECK(read(folder / "f").tensor("weight").shape() == Shape({2, 3}));
    CHECK(same_bits(read(folder / "f").tensor("weight"), model.weight.tensor()));
    const Linear layer(2, 3, Rng(1));
    models::save_pytorch(folder / "g", layer);
    CHECK(read(folder / "g").tensor("weight").shape() == Shape({3, 2}));
    CHECK(read(folder / "g").tensor("weight").data()[1] == layer.weight->data()[3]);
}

TEST_CASE("state dict: tensors of any rank, also without numbers", "[nn][checkpoint]") {
    struct Any {
        Parameter scalar{Tensor(3)}, vector{Tensor::from({2}, {4, 5})},
            cube{Tensor::from({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})};
        Linear empty{0, 3, Rng(1)};
        void visit(Visitor& v) const {
            v("scalar", scalar);
            v("vector", vector);
            v("cube", cube);
            v("empty", empty);
        }
    };
    const Folder folder;
    const Any model, other;
    model.empty.bias->mutable_data()[2] = 5;
    models::save_pytorch(folder / "f", model);
    CHECK(read(folder / "f").tensor("empty.weight").shape() == Shape({3, 0}));
    for (const NamedParameter& p : parameters(other))
        std::fill_n(p.tensor.mutable_data(), p.tensor.numel(), Real(-1));
    models::load_pytorch(folder / "f", other);
    const std::vector<NamedParameter> saved = parameters(model), loaded = parameters(other);
    for (std::size_t i = 0; i < saved.size(); ++i)
        CHECK(same_bits(loaded[i].tensor, saved[i].tensor));
}

// Of our matrix a file has some columns each, of our vector some numbers, and more than are read at a time.
TEST_CASE("state dict: columns of a matrix", "[nn][checkpoint]") {
    const Folder folder;
    const auto parts_of = [](const Tensor& whole) {
        const bool is_matrix = whole.rank() == 2;
        return StateDict{{"a", whole, is_matrix, 0, 2}, {"b", whole, is_matrix, 2, whole.size(-1) - 2}};
    };
    for (const autograd::Shape& shape : {autograd::Shape{40'000, 7}, {3, 40'000}, {2'000'000}}) {
        INFO(shape);
        const Tensor saved = random(shape, 1), loaded = Tensor::zeros(shape);
        write(folder / "f", parts_of(saved));
        CHECK(read(folder / "f").tensor("b").size(0) == shape[-1] - 2);
        load(read(folder / "f"), parts_of(loaded));
        CHECK(same_bits(loaded, saved));
        loaded.mutable_data()[0] += 1;  // as a whole, of which a thread reads a part at a time
        write(folder / "f", {{"x", saved}});
        load(read(folder / "f"), StateDict{{"x", loaded}});
        CHECK(same_bits(loaded, saved));
    }
}

// Of several matrices a file has one, with their columns side by side; of their biases one vector.
TEST_CASE("state dict: matrices side by side", "[nn][checkpoint]") {
    const Folder folder;
    const int64_t rows = 400;
    const auto state_of = [](const std::vector<Tensor>& m, const std::vector<Tensor>& b) {
        return StateDict{{.name = "m", .tensor = m[0], .transposed = true, .beside = {m[1], m[2]}},
                         {.name = "b", .tensor = b[0], .beside = {b[1], b[2]}}};
    };
    std::vector<Tensor> saved, biases, loaded, loaded_biases;
    for (const int64_t columns : {200, 1, 300}) {
        saved.push_back(random({rows, columns}, static_cast<uint64_t>(columns)));
        biases.push_back(random({columns}, static_cast<uint64_t>(columns) + 1));
        loaded.push_back(Tensor::zeros({rows, columns}));
        loaded_biases.push_back(Tensor::zeros({columns}));
    }
    write(folder / "f", state_of(saved, biases));
    const SafeTensors file = read(folder / "f");
    CHECK(same_bits(file.tensor("m"), autograd::transpose(autograd::concat(saved, 1), 0, 1)));
    CHECK(same_bits(file.tensor("b"), autograd::concat(biases, 0)));
    load(file, state_of(loaded, loaded_biases));
    for (std::size_t i = 0; i < 3; ++i)
        CHECK((same_bits(loaded[i], saved[i]) && same_bits(loaded_biases[i], biases[i])));
    loaded[2] = Tensor::zeros({rows, 299});
    CHECK(contains(error_of([&] { load(file, state_of(loaded, loaded_biases)); }),
                   "different: m is (501, 400) and should be (500, 400)"));
}

TEST_CASE("state dict: names in a file may have wrappers, and other parts", "[nn][checkpoint]") {
    const std::pair<const char*, const char*> wrapped[] = {
        {"a.weight", "a.weight"},
        {"module.a.weight", "a.weight"},
        {"_orig_mod.a.weight", "a.weight"},
        {"module._orig_mod.a.weight", "a.weight"},
        {"_orig_mod.module.module.a.weight", "a.weight"},
        {"module.a._orig_mod.b._orig_mod.weight", "a.b.weight"},  // of which parts were compiled, too
        {"module.net.module.weight", "net.module.weight"}};       // a wrapper is only a name's beginning
    for (const auto& [in_file, name] : wrapped)
        CHECK(without_wrappers(in_file) == name);
    // Of each rule the first occurrence counts.
    CHECK(replaced("core.core.weight", {{"core.", "net."}}) == "net.core.weight");
    CHECK(replaced("first.second.first.bias", {{"first.", "a."}, {"second.", "b."}}) == "a.b.first.bias");

    const Pair model, other;
    other.a.weight->mutable_data()[0] = 9;
    CHECK(reloaded(model, other, [](StateEntry& item) {
              item.name.insert(0, "module.");
              return true;
          }) == "");
    CHECK(same_bits(other.a.weight.tensor(), model.a.weight.tensor()));
    struct Named {  // a name of the model itself is taken as it is
        Linear layer{2, 3, Rng(1)};
        void visit(Visitor& v) const { v("module", layer); }
    };
    CHECK(reloaded(Named(), Named(), [](StateEntry&) { return true; }) == "");
}
