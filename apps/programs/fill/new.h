// A new BERT that fills gaps, with a WordPiece vocabulary that is learned from texts.
#pragma once

#include "apps/kit/new_model.h"

namespace plaingrad::fill {

void add_new_options(kit::Options& options, kit::NewModel& s);
void make_new(const kit::NewModel& s);

}  // namespace plaingrad::fill
