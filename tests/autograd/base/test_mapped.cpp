#include "autograd/base/list.h"

#include <set>
#include <string>

#include "tests/catch.h"

using plaingrad::autograd::mapped;

TEST_CASE("mapped: a function of each thing, in order", "[core]") {
    struct Thing {
        std::string name;
        int size() const { return static_cast<int>(name.size()); }
    };
    const std::vector<Thing> things = {{"a"}, {"bcd"}};
    CHECK(mapped(things, &Thing::name) == std::vector<std::string>{"a", "bcd"});
    CHECK(mapped(things, &Thing::size) == std::vector<int>{1, 3});
    CHECK(mapped(std::set<int>{3, 1}, [](int i) { return 0.5 * i; }) == std::vector<double>{0.5, 1.5});
    CHECK(mapped(std::vector<int>{}, [](int i) { return i; }).empty());
}
