// The findings of models::text::check_data as text.
#pragma once

#include <iosfwd>

#include "models/text/data_check.h"

namespace plaingrad::translate {

// in_short: one line per corpus, with what was found. Otherwise one line per check, and a histogram of the
// sentence lengths in the training data.
void print_report(std::ostream& out, const models::text::DataCheck& check, bool in_short);

}  // namespace plaingrad::translate
