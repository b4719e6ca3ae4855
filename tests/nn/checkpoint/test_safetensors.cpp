// Safetensors files: golden bytes, writing and reading, and every dtype.
#include "nn/checkpoint/safetensors.h"

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>

#include "tests/nn/checkpoint/files.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT
using Ints = std::vector<int64_t>;

namespace {

const std::string kReal = autograd::kRealIsDouble ? "F64" : "F32";

// The bytes that `write` produces.
std::string written(const std::vector<StateEntry>& items, const Metadata& metadata = {}) {
    const Folder folder;
    write(folder / "file", items, metadata);
    return content(folder / "file");
}

SafeTensors rewritten(const std::vector<StateEntry>& items, const Metadata& metadata = {}) {
    return opened(written(items, metadata));
}

template <class T>
std::string data_of(const std::vector<T>& values) {
    std::string bytes;
    for (const T value : values)
        bytes += raw(value);
    return bytes;
}

// The bits of a number; all NaNs have the same.
uint64_t bits(Real x) { return x != x ? ~uint64_t(0) : std::bit_cast<uint64_t>(static_cast<double>(x)); }

// All 16-bit numbers of a dtype, read in one tensor, compared with a formula.
template <class Formula>
void check_all_16_bits(const std::string& dtype, const Formula& formula) {
    std::string data;
    for (unsigned i = 0; i < 65536; ++i)
        data += raw(static_cast<uint16_t>(i));
    const Tensor read = opened(one_tensor(dtype, "256,256", data)).tensor("x");
    REQUIRE(read.shape() == Shape{256, 256});
    int wrong = 0;
    for (unsigned i = 0; i < 65536; ++i)
        wrong += bits(read.data()[i]) != bits(static_cast<Real>(formula(i))) ? 1 : 0;
    CHECK(wrong == 0);
}

// sign * fraction * 2^exponent as in IEEE 754, for so many bits of exponent and fraction.
double ieee(unsigned code, int exponent_bits, int fraction_bits) {
    const int fraction = static_cast<int>(code & ((1u << fraction_bits) - 1));
    const int exponent = static_cast<int>(code >> fraction_bits & ((1u << exponent_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    double value = 0;
    if (exponent == (1 << exponent_bits) - 1)
        value = fraction == 0 ? HUGE_VAL : std::nan("");
    else if (exponent == 0)
        value = std::ldexp(fraction, 1 - bias - fraction_bits);
    else
        value = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return code >> 15 != 0 ? -value : value;
}

}  // namespace

// What Python's library writes: a header, whose length is a multiple of 8, and the numbers.
TEST_CASE("safetensors: the reference's bytes, written and read", "[nn][checkpoint]") {
    const std::string data("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40", 24);
    const std::vector<Real> values = {0, 1, 2, 3, 4, 5};
    struct Row {
        std::string name, length, header;
        Shape shape;
    };
    const Row rows[] = {
        {"attn.0", "\x40", R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})", {1, 2, 3}},
        {"attn0",
         "\x48",
         R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       )",
         {1, 1, 2, 3}}};
    for (const Row& row : rows) {
        const std::string file = row.length + std::string(7, '\0') + row.header + data;
        const Tensor x = opened(file).tensor(row.name);
        CHECK((x.shape() == row.shape && x.to_vector() == values));
        std::string header = row.header;
        if (autograd::kRealIsDouble)
            header.replace(header.find("F32"), 3, "F64").replace(header.find("24"), 2, "48");
        CHECK(written({{row.name, Tensor::from(row.shape, values)}}) == file_of(header, data_of(values)));
    }
    CHECK(written({}) == file_of("{}      "));
    CHECK(written({}, {{"framework", "pt"}}) == file_of(R"({"__metadata__":{"framework":"pt"}}     )"));
}

TEST_CASE("safetensors: the names are in order, without holes", "[nn][checkpoint]") {
    const Tensor two = Tensor::from({2}, {1, 2}), none = Tensor::zeros({0});
    const SafeTensors file = rewritten({{"c", two}, {"B", two}, {"a", none}, {"e", none}, {"b", two}});
    std::string order;
    int64_t at = 0;
    for (const Entry& entry : file.entries()) {
        CHECK(entry.begin == at);
        at = entry.end;
        order += entry.name;
    }
    CHECK(order == "Babce");
}

TEST_CASE("safetensors: every number is restored bit for bit", "[nn][checkpoint]") {
    using Limits = std::numeric_limits<Real>;
    const std::vector<Real> values = {
        Real(0),       -Real(0),         Limits::denorm_min(), -Limits::denorm_min(), Limits::min() / 2,
        Limits::max(), Limits::lowest(), Limits::infinity(),   -Limits::infinity(),   Limits::quiet_NaN(),
        Real(0.1),     Real(-1) / 3};
    const SafeTensors file = rewritten({{"x", Tensor::from({3, 4}, values)}});
    CHECK(file.tensor("x").shape() == Shape{3, 4});
    const std::vector<Real> again = file.tensor("x").to_vector();
    CHECK(std::memcmp(again.data(), values.data(), values.size() * sizeof(Real)) == 0);
    CHECK(file.entries()[0].dtype->name == kReal);
    CHECK_FALSE(file.tensor("x").needs_grad());
}

TEST_CASE("safetensors: scalars, empty tensors, four dimensions", "[nn][checkpoint]") {
    const Tensor big = random({2, 3, 4, 5}, 1);
    const SafeTensors file =
        rewritten({{"scalar", Tensor(7)}, {"none", Tensor::zeros({2, 0, 3})}, {"big", big}});
    CHECK(file.entries().size() == 3);
    CHECK(file.tensor("scalar").shape() == Shape{});
    CHECK(file.tensor("scalar").item() == 7);
    CHECK(file.tensor("none").shape() == Shape{2, 0, 3});
    CHECK(same_bits(file.tensor("big"), big));
    CHECK(file.find("big")->shape == Ints{2, 3, 4, 5});
    CHECK(file.find("bi") == nullptr);
    CHECK(file.find("bigg") == nullptr);
}

TEST_CASE("safetensors: some numbers of a tensor, wherever it begins", "[nn][checkpoint]") {
    const SafeTensors file = opened(
        file_of(R"({"a":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},)"
                R"("b":{"dtype":"F32","shape":[5],"data_offsets":[6,26]},)"
                R"("c":{"dtype":"F64","shape":[5],"data_offsets":[26,66]}})",
                std::string(6, '\0') + data_of<float>({1, 2, 3, 4, 5}) + data_of<double>({6, 7, 8, 9, 10})));
    for (const auto& [name, before] : {std::pair("b", 0), std::pair("c", 5)})
        for (int64_t first = 0; first < 5; ++first)
            for (int64_t n = 0; n <= 5 - first; ++n) {
                CAPTURE(name, first, n);
                std::vector<Real> some(static_cast<std::size_t>(n)), expected;
                for (int64_t i = 0; i < n; ++i)
                    expected.push_back(static_cast<Real>(before + 1 + first + i));
                file.copy(*file.find(name), first, n, some.data());
                CHECK(some == expected);
            }
}

TEST_CASE("safetensors: parts of a matrix, of which one may be empty", "[nn][checkpoint]") {
    const Tensor x = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
    const SafeTensors file =
        rewritten({{.name = "a", .tensor = x, .transposed = true, .first = 0, .columns = 1},
                   {.name = "b", .tensor = x, .transposed = true, .first = 1, .columns = 2},
                   {.name = "none", .tensor = x, .transposed = true, .first = 3, .columns = 0},
                   {.name = "v", .tensor = Tensor::from({3}, {7, 8, 9}), .first = 1, .columns = 2}});
    CHECK(file.tensor("a").to_vector() == std::vector<Real>{1, 4});
    CHECK(file.tensor("b").to_vector() == std::vector<Real>{2, 5, 3, 6});
    CHECK(file.tensor("none").shape() == Shape{0, 2});
    CHECK(file.tensor("v").to_vector() == std::vector<Real>{8, 9});
    // Read as rows, these numbers would be others.
    for (const StateEntry& entry : {StateEntry{.name = "w", .tensor = x, .first = 1, .columns = 2},
                                    StateEntry{.name = "w", .tensor = x, .beside = {x}}})
        CHECK(error_of([&] { written({entry}); }) ==
              "tensor \"w\": only of transposed matrices and of vectors a file has parts");
}

TEST_CASE("safetensors: any text can be a name or metadata", "[nn][checkpoint]") {
    std::string controls;
    for (int c = 0; c < 128; ++c)
        controls.push_back(static_cast<char>(c));
    const std::string wide = "λ \u00e9 \u4e2d \U0001f600 \U0010ffff \ud7ff \ue000";
    const Metadata metadata = {
        {"", ""}, {controls, wide}, {wide, controls}, {"a\"b\\c/d", "line\nline\r\n\ttab"}};
    const SafeTensors file = rewritten({{"", Tensor(1)}, {controls, Tensor(2)}, {wide, Tensor(3)}}, metadata);
    CHECK(file.metadata() == metadata);
    CHECK(file.tensor("").item() == 1);
    CHECK(file.tensor(controls).item() == 2);
    CHECK(file.tensor(wide).item() == 3);
    CHECK(contains(written({}, {{"k", std::string("\b\f\n\r\t\"\\/\x01\x1f\x7f\0", 12)}}),
                   R"("\b\f\n\r\t\"\\/\u0001\u001f)"
                   "\x7f"
                   R"(\u0000")"));
}

TEST_CASE("safetensors: no header is written that is too long to be read", "[nn][checkpoint]") {
    const Folder folder;
    put(folder / "f", "old");
    const std::string around = R"({"__metadata__":{"k":""}})", value(100'000'001 - around.size(), 'v');
    CHECK(error_of([&] {
              write(folder / "f", {}, {{"k", value}});
          }) ==
          (folder / "f") + ": names and metadata must be UTF-8, and of up to 100000000 bytes: got 100000008");
    CHECK((content(folder / "f") == "old"));  // not printed: it would be 100 MB
}

TEST_CASE("safetensors: all half-precision and all bfloat16 numbers", "[nn][checkpoint]") {
    check_all_16_bits("F16", [](unsigned code) { return ieee(code, 5, 10); });
    check_all_16_bits("BF16", [](unsigned code) { return ieee(code, 8, 7); });
}

// More numbers than are read at a time, of which these are the first.
template <class Stored>
static void check_read(const std::string& dtype, std::vector<Stored> numbers) {
    while (numbers.size() < 200'001)
        numbers.push_back(static_cast<Stored>(numbers.size()));
    const Tensor read = opened(one_tensor(dtype, "200001", data_of(numbers))).tensor("x");
    int wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const volatile Stored number = numbers[i];  // rounded while the program runs
        wrong += bits(read.data()[i]) != bits(static_cast<Real>(number)) ? 1 : 0;
    }
    CHECK(wrong == 0);
}
TEST_CASE("safetensors: the other precision is rounded or widened", "[nn][checkpoint]") {
    check_read<double>("F64", {0.1, -0.0, 1e-45, 1e300, 1 + 0x1p-24, 1 + 0x1.8p-23, HUGE_VAL});
    check_read<float>("F32", {0.1f, -0.0f, 1e-45f, 3e38f, -HUGE_VALF});
}

TEST_CASE("safetensors: a file may hold whole numbers of every width beside its tensors",
          "[nn][checkpoint]") {
    const std::pair<std::string, std::size_t> kinds[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},
                                                         {"I16", 2},  {"U16", 2}, {"I32", 4},
                                                         {"U32", 4},  {"I64", 8}, {"U64", 8}};
    for (const auto& [dtype, size] : kinds) {
        INFO(dtype);
        const SafeTensors file = opened(one_tensor(dtype, "3", std::string(3 * size, '\1')));
        CHECK(file.find("x")->dtype->convert == nullptr);
        CHECK(file.find("x")->shape == Ints{3});
        CHECK(
            contains(error_of([&] { file.tensor("x"); }),
                     "m.safetensors: tensor \"x\" must hold floating-point numbers: its dtype is " + dtype));
        CHECK(contains(complaint(one_tensor(dtype, "3", std::string(3 * size - 1, '\1'))),
                       autograd::join("of this shape and dtype must have ", 3 * size, " bytes")));
    }
    CHECK(contains(error_of([&] {
                       opened(one_tensor("F16", "1,1,1,1,1", {2, '\0'})).tensor("x");
                   }),
                   "tensor \"x\" has 5 dimensions; a Tensor has at most 4"));
    CHECK(contains(error_of([&] { opened(file_of("{}")).tensor("y"); }),
                   "m.safetensors: there is no tensor \"y\""));
}
