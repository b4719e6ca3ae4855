// Wrong calls of the public functions and constructors: each must throw one Error, with one line.
#pragma once

#include <functional>
#include <vector>

#include "tests/trust/instrument.h"
#include "tests/trust/words/kept.h"

namespace plaingrad::trust::words {

struct Call {
    const char* text;  // as it stands in the source; the name of the case
    std::function<void()> run;
};
using Calls = std::vector<Call>;

#define CALL(...)                                            \
    Call {                                                   \
#__VA_ARGS__, [] { static_cast<void>(__VA_ARGS__); } \
    }

Calls calls_of_tensors();
Calls calls_of_ops();
Calls calls_of_layers();
Calls calls_of_training();
Calls calls_of_models();
Calls calls_of_decoding();
Calls calls_of_text();
Calls calls_of_files();

struct SaidOfCalls {
    Texts texts = {};
    int64_t tried = 0;
    // Nothing was thrown; another exception than Error (or SettingError, for a setting); more than one line;
    // a crash, or no end.
    int64_t silent = 0, other = 0, several_lines = 0, crashed = 0;
};
SaidOfCalls try_calls();

}  // namespace plaingrad::trust::words
