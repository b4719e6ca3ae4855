// A new model that writes: GPT-2's kind or Llama's, with GPT-2's byte-pair encoding learned from texts.
#pragma once

#include "apps/kit/new_model.h"

namespace plaingrad::generate {

struct NewSettings : kit::NewModel {
    std::string family = "gpt2";
};

void add_new_options(kit::Options& options, NewSettings& s);
void make_new(const NewSettings& s);

}  // namespace plaingrad::generate
