// Values as text: what is written comes back, what is missing stays as it was, what is none is refused by its
// name.
#include <cmath>
#include <limits>

#include "nn/checkpoint/metadata.h"
#include "tests/catch.h"
#include "tests/nn/checkpoint/files.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

namespace {

enum class Colour { red, green, blue };
constexpr const char* kColours[] = {"red", "green", "blue"};

struct Fields {
    int64_t count = 7;
    bool on = true;
    float narrow = 0.5f;
    double wide = 0.25;
    std::string word = "default";
    Colour colour = Colour::green;
};

template <class F, class Field>
void visit(F& f, Field& field) {
    field("count", f.count);
    field("on", f.on);
    field("narrow", f.narrow);
    field("wide", f.wide);
    field("word", f.word);
    field("colour", f.colour, kColours);
}

Fields from(const Metadata& metadata) {
    Fields fields;
    const FieldReader reader{metadata, "x.", "file"};
    visit(fields, reader);
    return fields;
}

}  // namespace

TEST_CASE("metadata: fields come back as they were", "[nn][checkpoint][metadata]") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double wide : {1.0 / 3, -inf, inf, 5e-324, -0.0, 1e308}) {
        const Fields given = {
            std::numeric_limits<int64_t>::min(), false, 1.0f / 3, wide, "à\nb", Colour::blue};
        Metadata metadata;
        FieldWriter writer{metadata, "x."};
        visit(given, writer);
        CHECK(metadata.at("x.colour") == "blue");
        CHECK(metadata.at("x.on") == "false");
        CHECK(metadata.size() == 6);
        const Fields back = from(metadata);
        CHECK(back.count == given.count);
        CHECK(back.on == given.on);
        CHECK(back.narrow == given.narrow);
        CHECK(back.wide == given.wide);
        CHECK(std::signbit(back.wide) == std::signbit(wide));
        CHECK(back.word == given.word);
        CHECK(back.colour == given.colour);
    }
}

TEST_CASE("metadata: a missing field keeps its default", "[nn][checkpoint][metadata]") {
    const Fields fields = from({{"count", "1"}, {"y.count", "2"}});  // of other prefixes
    CHECK(fields.count == 7);
    CHECK(fields.on);
    CHECK(fields.narrow == 0.5f);
    CHECK(fields.word == "default");
    CHECK(fields.colour == Colour::green);
    const FieldReader reader{Metadata(), "x.", "file"};
    CHECK_FALSE(reader.has("count"));
    CHECK_THROWS_AS(reader.required("count"), FileError);
    CHECK(error_of([&] { reader.required_as<int64_t>("count"); }) == "file: x.count is missing");
}

TEST_CASE("metadata: what is no such value is refused, naming file and field", "[nn][checkpoint][metadata]") {
    const auto refused = [](const std::string& key, const std::string& value) {
        CHECK_THROWS_AS(from({{"x." + key, value}}), FileError);
        return error_of([&] { from({{"x." + key, value}}); });
    };
    for (const std::string number : {"", " 1", "1 ", "x", "12.5", "0x10", "99999999999999999999", "+1"})
        CHECK(refused("count", number) == "file: x.count must be a whole number: got \"" + number + "\"");
    for (const std::string number : {"", " 1", "1 ", "x", "0x10", "nan", "1,5", "infinity", "1e"})
        CHECK(refused("wide", number) == "file: x.wide must be a number: got \"" + number + "\"");
    CHECK(refused("on", "1") == "file: x.on has an unknown value \"1\"");
    CHECK(refused("colour", "Red") == "file: x.colour has an unknown value \"Red\"");
    CHECK(refused("colour", std::string(1 << 20, 'r')).size() < 200);
}

TEST_CASE("metadata: an enum's value without a name is not written", "[nn][checkpoint][metadata]") {
    Metadata metadata;
    FieldWriter writer{metadata, ""};
    CHECK(error_of([&] { writer("colour", static_cast<Colour>(3), kColours); }) ==
          "[metadata] colour: value 3 of this enum has no name");
}
