// Random configurations of the four kinds of models: small, with every option that they have.
#pragma once

#include "models/families/one_stack.h"
#include "tests/dice.h"

namespace plaingrad::trust {

using tests::Dice;

// Each can be built: what check_config refuses is drawn again.
models::Config draw_stack(Dice& dice);
models::Config draw_transformer(Dice& dice);
models::Config draw_classifier(Dice& dice);

}  // namespace plaingrad::trust
