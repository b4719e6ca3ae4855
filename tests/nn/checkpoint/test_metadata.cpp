// Values as text: they are restored, missing ones stay as they were, invalid ones are refused by name.
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>

#include "nn/checkpoint/json.h"
#include "nn/training.h"
#include "tests/catch.h"
#include "tests/nn/checkpoint/files.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

namespace {

struct Saved {
    int64_t count = 7;
    double wide = 0.25;
    std::string word = "default";
    std::vector<int64_t> ids = {1, 2};
};

template <class F, class Field>
void visit(F& f, Field& field) {
    field("count", f.count);
    field("wide", f.wide);
    field("word", f.word);
    field("ids", f.ids);
}

Saved from(const Metadata& metadata) {
    Saved fields;
    const nn::checkpoint::Fields reader{metadata, "x.", "file"};
    visit(fields, reader);
    return fields;
}

}  // namespace

TEST_CASE("metadata: fields are restored", "[nn][checkpoint][metadata]") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double wide : {1.0 / 3, -inf, inf, 5e-324, -0.0, 1e308}) {
        const Saved given = {std::numeric_limits<int64_t>::min(), wide, "à\nb", {7, int64_t{1} << 40}};
        Metadata metadata;
        FieldWriter writer{metadata, "x."};
        visit(given, writer);
        CHECK(metadata.at("x.ids") == "7 1099511627776");
        CHECK(metadata.size() == 4);
        const Saved back = from(metadata);
        CHECK(back.count == given.count);
        CHECK(back.wide == given.wide);
        CHECK(std::signbit(back.wide) == std::signbit(wide));
        CHECK(back.word == given.word);
        CHECK(back.ids == given.ids);
    }
}

TEST_CASE("metadata: texts are written as they are, and numbers as short as possible",
          "[nn][checkpoint][metadata]") {
    Metadata metadata;
    FieldWriter write{metadata};
    write("word", "post");
    write("tenth", 0.1);
    CHECK(metadata == Metadata{{"tenth", "0.1"}, {"word", "post"}});
    CHECK(to_text(1.0f / 3) == "0.33333334");
}

// As in Germany: 12.345,5. A program may set such a locale for its whole process.
struct German : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

TEST_CASE("metadata: numbers as text do not depend on the locale", "[nn][checkpoint][metadata]") {
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new German));
    std::string of_c = std::setlocale(LC_ALL, nullptr);
    std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
    Metadata metadata;
    FieldWriter write{metadata};
    write("half", 1234.5);
    nn::TrainingLog log;
    log.add({.step = 12345, .loss = 0.5, .tokens = 5000, .seconds = 1});
    const std::string joined = autograd::join(12345, " ", 0.5);
    const std::optional<double> parsed = parse_real("1234.5");
    const Folder folder;
    nn::checkpoint::write(folder / "f", {{"x", autograd::Tensor::zeros({1234})}}, {});
    std::setlocale(LC_ALL, of_c.c_str());
    std::locale::global(before);
    CHECK(metadata.at("half") == "1234.5");
    CHECK(parsed == 1234.5);
    CHECK(joined == "12345 0.5");
    CHECK(contains(content(folder / "f"), "[1234]"));
    CHECK(log.text().ends_with("12345,0.5,,0,0,1.000,5000\n"));
}

TEST_CASE("metadata: a missing field keeps its default", "[nn][checkpoint][metadata]") {
    const Saved fields = from({{"count", "1"}, {"y.count", "2"}});  // of other prefixes
    CHECK(fields.count == 7);
    CHECK(fields.word == "default");
    const nn::checkpoint::Fields reader{Metadata(), "x.", "file"};
    CHECK_FALSE(reader.has("count"));
}

TEST_CASE("metadata: an invalid value is refused, naming file and field", "[nn][checkpoint][metadata]") {
    const auto refused = [](const std::string& key, const std::string& value) {
        CHECK_THROWS_AS(from({{"x." + key, value}}), FileError);
        return error_of([&] { from({{"x." + key, value}}); });
    };
    const std::pair<std::string, std::vector<std::string>> table[] = {
        {"count", {"", " 1", "1 ", "x", "12.5", "0x10", "99999999999999999999", "+1"}},
        {"wide", {"", " 1", "1 ", "x", "0x10", "nan", "1,5", "infinity", "1e", "1e+400"}},
        {"ids", {"1 x", "1 9223372036854775808", "1.5"}}};
    for (const auto& [field, wrong] : table)
        for (const std::string& text : wrong)
            CHECK(refused(field, text) == "file: x." + field + " cannot be \"" + text + "\"");
    CHECK(refused("count", std::string(1 << 20, 'r')).size() < 200);
}
