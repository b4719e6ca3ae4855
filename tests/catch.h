// Catch2, version 3 or 2, whichever is installed. Every test includes this and not Catch2 itself, and uses
// only what both have. To search in a text there are `contains` and `containing`, as the matchers' names
// differ.
#pragma once

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // global in version 2
#else
#include <catch2/catch.hpp>
#endif

namespace plaingrad::tests {

// Set by SKIP and read by tests/main.cpp, where Catch2 has no SKIP of its own (before 3.3).
inline bool skipped = false;

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// For CHECK_THAT and CHECK_THROWS_WITH.
inline auto beginning(const std::string& part) { return Catch::Matchers::StartsWith(part); }
#if __has_include(<catch2/catch_all.hpp>)
inline auto containing(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
#else
inline auto containing(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif

}  // namespace plaingrad::tests

// Leaves a test case that cannot run here. It counts as skipped.
#if !defined(SKIP)
#define SKIP(...)                           \
    do {                                    \
        plaingrad::tests::skipped = true;   \
        WARN("skipped: " << (__VA_ARGS__)); \
        return;                             \
    } while (false)
#endif
