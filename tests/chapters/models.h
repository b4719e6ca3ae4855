// The parts of models/README.md, each in the file of its name.
#pragma once

#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

Computed families_part();     // models_families.cpp: three families, flow of a sentence, the shift
Computed no_mask_part();      // models_no_mask.cpp: training without a causal mask
Computed search_part();       // models_search.cpp: greedy search, beam search and sampling on a tree
Computed cache_part();        // models_cache.cpp: what a cache saves
Computed bleu_part();         // models_bleu.cpp: BLEU by hand
Computed byte_pairs_part();   // models_byte_pairs.cpp: byte-pair encoding by hand
Computed fine_tuning_part();  // models_fine_tuning.cpp: what pre-training is worth

}  // namespace plaingrad::chapters
