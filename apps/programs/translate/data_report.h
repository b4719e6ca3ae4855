// What a look at the data has found, in words.
#pragma once

#include <iosfwd>

#include "models/text/data_check.h"

namespace plaingrad::translate {

// In short: a line for each corpus, with what was found. Otherwise a line for each thing that was looked for,
// and a picture of how long the sentences of the training data are.
void print_report(std::ostream& out, const models::text::DataCheck& check, bool in_short);

}  // namespace plaingrad::translate
