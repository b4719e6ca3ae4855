// Wrong calls of the public functions and constructors, as the instrument `words` tries them.
#pragma once

#include <functional>
#include <vector>

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

}  // namespace plaingrad::trust::words
