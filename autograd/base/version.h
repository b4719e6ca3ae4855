// The version, written here and nowhere else: the Makefile, `--version` and the package files read it.
#pragma once

namespace plaingrad::autograd {

inline constexpr const char* kVersion = "0.1.0";  // of these headers

const char* version();  // of the library that the program is linked with

}  // namespace plaingrad::autograd
