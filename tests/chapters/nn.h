// The sections and figures of nn/README.md, one file for each of its subjects.
#pragma once

#include "nn/module.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

// Their layers have no dropout, so they are trained in this mode, too.
inline const nn::Mode kEval = nn::Mode::eval();

// Diagrams of both parts.
Computed nn_diagrams();

// Part one, attention.
Computed attention_by_hand();
Computed attention_scale();
Computed attention_recall();
Computed attention_heads();
Computed attention_masks();
Computed attention_order();
Computed attention_positions();
Computed positions_trained();
Computed attention_cost();
Computed attention_others();

// Part two, training.
Computed training_walk();
Computed training_depth();
Computed training_layers();
Computed training_loss();
Computed training_optimizers();
Computed training_warmup();

// Part three, many machines.
Computed training_parts();
Computed training_machines();

}  // namespace plaingrad::chapters
