// What a build of the library is: its number type, and its version.
//
// The one number type is float, or double with -DPLAINGRAD_REAL=double.
//
// The double build is the same source. It exists to check gradients: central differences in float
// are too noisy to tell a right gradient from a slightly wrong one.
#pragma once

#ifndef PLAINGRAD_REAL
#define PLAINGRAD_REAL float
#endif

#define PLAINGRAD_JOIN_(a, b) a##b
#define PLAINGRAD_JOIN(a, b) PLAINGRAD_JOIN_(a, b)

// A program compiled for one type and linked with the archive of the other would misread every
// tensor. Each object refers to this symbol, which only the archive of the same type defines, so
// the mistake is a link error that names the type: "undefined reference to plaingrad_real_is_double".
#define PLAINGRAD_REAL_SYMBOL PLAINGRAD_JOIN(plaingrad_real_is_, PLAINGRAD_REAL)
extern "C" const char PLAINGRAD_REAL_SYMBOL;

namespace plaingrad::autograd {

using Real = PLAINGRAD_REAL;

constexpr bool kRealIsDouble = sizeof(Real) == 8;

namespace {
[[gnu::used]] const char* const real_link_check = &PLAINGRAD_REAL_SYMBOL;
}

// Written here and nowhere else: the Makefile, `--version` and the package files read it.
inline constexpr const char* kVersion = "0.1.0";  // of these headers

const char* version();  // of the library that the program is linked with

}  // namespace plaingrad::autograd
