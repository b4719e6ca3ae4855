// The sections and figures of the pages in nn, one file for each subject.
#pragma once

#include "nn/module.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

// Their layers have no dropout, so they are trained in this mode, too.
inline const nn::Mode kEval = nn::Mode::eval();

// Diagrams of the first two pages.
Computed nn_diagrams();

// nn/README.md: attention.
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

// Layers and training, nn/training.md.
Computed training_walk();
Computed training_depth();
Computed training_layers();
Computed training_loss();
Computed training_optimizers();
Computed training_warmup();
Computed training_overfitting();

// Many machines, nn/machines.md.
Computed training_parts();

}  // namespace plaingrad::chapters
