// The numbers of models/README.md.
#include "tests/chapters/models.h"

namespace plaingrad::chapters {

Computed models_chapter() {
    Computed all;
    for (const auto& part :
         {families_part, no_mask_part, search_part, cache_part, bleu_part, byte_pairs_part}) {
        const Computed of = part();
        all.sections.insert(all.sections.end(), of.sections.begin(), of.sections.end());
        all.figures.insert(all.figures.end(), of.figures.begin(), of.figures.end());
    }
    return all;
}

}  // namespace plaingrad::chapters
