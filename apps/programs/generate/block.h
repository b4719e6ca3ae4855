// How the layers are built: what --config names.
//
// A name is a model and changes of it: "2017+rotary+no-bias" is the paper's layer with rotary positions and
// without biases. The models are
//
//     2017    norm after each sub-layer, sinusoids, ReLU, biases ("Attention Is All You Need")
//     gpt2    norm before each sub-layer, learned positions, GELU, biases (Radford et al. 2019)
//     modern  2017 with all that kModern lists: how most language models since Llama are built
#pragma once

#include <string>

#include "models/config.h"

namespace plaingrad::generate {

inline constexpr const char* kModern = "2017+pre-norm+rms-norm+rotary+swiglu+grouped+no-bias";

std::string config_help();

// The configuration of this name. Models of one width, if it is 128 or more, have the same number of
// parameters up to a hundredth: where a change adds or frees some, d_ff makes up for it. Throws UsageError,
// listing the names, for one that is unknown, and for rotary positions with heads of an odd width.
models::Config named_config(const std::string& name, int64_t d_model, int64_t heads);

}  // namespace plaingrad::generate
