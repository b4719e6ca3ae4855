// The numbers of models/README.md.
#include "tests/chapters/models.h"

namespace plaingrad::chapters {

Computed models_chapter() {
    return joined({families_part(), no_mask_part(), search_part(), cache_part(), bleu_part(),
                   byte_pairs_part(), fine_tuning_part()});
}

}  // namespace plaingrad::chapters
